package inforce

import (
	"cmp"
	"maps"
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/engine/workspace"
)

// NameClashes finds workflow files of one project that have the same name: an error
// at each but the one that a server would take. sources are the files' bytes by
// their names.
func NameClashes(sources map[string][]byte) diag.List {
	loaded := &LoadedFiles{}
	for _, file := range slices.Sorted(maps.Keys(sources)) {
		one := &WorkflowFile{File: file, Name: workspace.NameOfFile(file)}
		tree, _ := spec.V1().ParseWithin(file, sources[file], spec.LargestLimits())
		if tree == nil {
			continue
		}
		if tree.Name != nil {
			one.Name, one.look.namePos = tree.Name.Text, tree.Name.Pos
		}
		loaded.Files = append(loaded.Files, one)
	}
	byName := map[string][]*WorkflowFile{}
	for _, one := range loaded.Files {
		byName[one.Name] = append(byName[one.Name], one)
	}
	var problems diag.List
	for name, files := range byName {
		slices.SortFunc(files, func(a, b *WorkflowFile) int { return byRight(name, a, b) })
		for _, loser := range files[1:] {
			loser.clashWith(name, files[0])
			problems = append(problems, loser.clash...)
		}
	}
	order.Sort(problems, func(a, b diag.Problem) int { return cmp.Compare(a.File, b.File) })
	return problems
}
