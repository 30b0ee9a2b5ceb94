package project

import (
	"path"
	"slices"

	"github.com/flowrun/flowrun/engine/spec"
)

// ToldFiles returns what plugins are told that may be the name of a file: the texts in
// `with`, as paths from the project's root. A document of a service that lies beside the
// workflows is none of them.
func (p *Project) ToldFiles() []string {
	var files []string
	for _, plugin := range p.Plugins {
		files = appendTexts(files, plugin.With)
	}
	slices.Sort(files)
	return slices.Compact(files)
}

func appendTexts(texts []string, node *spec.Node) []string {
	if node == nil {
		return texts
	}
	switch node.Kind {
	case spec.Scalar:
		return append(texts, path.Clean(node.Text))
	case spec.Sequence:
		for _, item := range node.Items {
			texts = appendTexts(texts, item)
		}
	case spec.Mapping:
		for _, pair := range node.Pairs {
			texts = appendTexts(texts, pair.Value)
		}
	}
	return texts
}
