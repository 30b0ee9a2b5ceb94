package engine

import (
	"context"
	"crypto/sha256"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
	"github.com/flowrun/flowrun/engine/workspace"
)

// look is what was seen of a file when it was read.
type look struct {
	stamp  workspace.Stamp
	sum    [sha256.Size]byte
	named  diag.Pos                   // where its name stands; zero = nowhere
	others map[string]workspace.Stamp // of the workflows that its steps call, by absolute path
}

// glance is the state of all workflow files as their folders tell it, by path.
type glance map[string]workspace.Stamp

func (g glance) same(other glance) bool { return maps.EqualFunc(g, other, workspace.Stamp.Same) }

// glance looks at the files without reading them. Folders that can't be read
// show no files.
func (r *revisions) glance() glance {
	seen := glance{}
	files, err := r.project.Workflows()
	if err != nil {
		return seen
	}
	for _, file := range files {
		seen[r.path(file)] = workspace.StampOf(r.path(file))
	}
	if loaded := r.current.Load(); loaded != nil {
		for _, file := range loaded.files {
			for other := range file.look.others {
				seen[other] = workspace.StampOf(other)
			}
		}
	}
	return seen
}

func (r *revisions) path(file string) string {
	return filepath.Join(r.project.Root(), filepath.FromSlash(file))
}

// load returns the files as they are in force.
func (r *revisions) load(ctx context.Context) (*loadedFiles, error) {
	if loaded := r.current.Load(); loaded != nil && r.following.Load() {
		return loaded, nil
	}
	return r.refresh(ctx, false)
}

// refresh reads what has changed since the load before, or all, and puts in
// force what is good.
func (r *revisions) refresh(ctx context.Context, all bool) (*loadedFiles, error) {
	r.loading.Lock()
	defer r.loading.Unlock()
	files, err := r.project.Workflows()
	if err != nil {
		return nil, err
	}
	before := r.current.Load()
	if before == nil {
		before = &loadedFiles{}
	}
	ctx = context.WithoutCancel(ctx) // a check that is given up half way would call a good file broken
	next, changed := r.readAll(ctx, files, before, all)
	if !changed && r.current.Load() != nil {
		return before, nil
	}
	next.settle(r.project.Config().Now().UTC().Round(0))
	r.current.Store(next)
	r.report(before, next)
	if !next.sameForce(before) {
		r.tell()
	}
	return next, nil
}

// readAll reads the files that have changed and checks them, and those whose
// problems depend on others. changed says that anything is new. No file of
// before is touched.
func (r *revisions) readAll(ctx context.Context, files []string, before *loadedFiles, all bool) (next *loadedFiles, changed bool) {
	known := make(map[string]*workflowFile, len(before.files))
	for _, file := range before.files {
		known[file.file] = file
	}
	next = &loadedFiles{files: make([]*workflowFile, len(files))}
	changed = len(files) != len(before.files)
	unsure := make(map[string]bool, len(r.unsure))
	for _, name := range r.unsure {
		unsure[name] = true
	}
	var read []string
	for i, name := range files {
		old := known[name]
		file := r.read(ctx, name, old, all, unsure[name])
		if old == nil || !file.look.stamp.Same(old.look.stamp) {
			read = append(read, name)
		}
		changed = changed || file != old
		next.files[i] = file
	}
	for i, file := range next.files {
		if file.hopeful || file.follows && changed && file == known[file.file] {
			next.files[i] = file.unless(r.check(ctx, file))
			changed = changed || next.files[i] != file
		}
	}
	r.unsure = read
	if changed {
		for i, file := range next.files {
			copied := *file
			next.files[i] = &copied
		}
	}
	return next, changed
}

// read returns the file as it is now: old itself where nothing has changed. One of
// which it is unsure is read though its stamp is the same: a second change within
// the clock of the file system can't be told by that. With all it is checked too.
func (r *revisions) read(ctx context.Context, name string, old *workflowFile, all, unsure bool) *workflowFile {
	path := r.path(name)
	seen := workspace.StampOf(path)
	same := old != nil && !all && seen.Same(old.look.stamp) && old.othersSame()
	if same && !unsure {
		return old
	}
	file := &workflowFile{file: name, name: workspace.NameOfFile(name), look: look{stamp: seen}}
	if old != nil {
		file.inForce = old.inForce
	}
	src, err := workspace.ReadWorkflowFile(path)
	if err != nil {
		file.problems.Errorf(diag.Pos{File: name, Line: 1, Column: 1}, check.CodeWorkflowFile, "the file can't be read: %v", err)
	} else {
		file.src, file.look.sum = src, sha256.Sum256(src)
		if same && file.look.sum == old.look.sum && len(old.look.others) == 0 {
			return old
		}
		file = r.check(ctx, file)
	}
	if old == nil {
		return file
	}
	return old.unless(file)
}

// unless returns f where other says the same of the same bytes.
func (f *workflowFile) unless(other *workflowFile) *workflowFile {
	same := f.look.stamp.Same(other.look.stamp) && f.look.sum == other.look.sum && f.hash == other.hash &&
		maps.EqualFunc(f.look.others, other.look.others, workspace.Stamp.Same) &&
		slices.EqualFunc(f.problems, other.problems, func(a, b diag.Problem) bool { return a.String() == b.String() })
	if same {
		return f
	}
	return other
}

func (f *workflowFile) othersSame() bool {
	for path, seen := range f.look.others {
		if !workspace.StampOf(path).Same(seen) {
			return false
		}
	}
	return true
}

// source returns the bytes that were read last.
func (f *workflowFile) source() []byte {
	if f.fresh != nil {
		return []byte(f.fresh.Workflow.Source)
	}
	return f.src
}

// check returns the file with what the checker says of it now.
func (r *revisions) check(ctx context.Context, before *workflowFile) *workflowFile {
	f := &workflowFile{file: before.file, inForce: before.inForce, src: before.source(), name: workspace.NameOfFile(before.file)}
	f.look.stamp, f.look.sum = before.look.stamp, before.look.sum
	tree, _ := spec.Parse(f.file, f.src)
	if tree != nil && tree.Name != nil {
		f.name, f.look.named = tree.Name.Text, tree.Name.Pos
	}
	found, problems := r.project.CheckedIn(ctx, f.file, r.project.Root(), f.src)
	f.problems = problems
	f.follows = tree != nil && followsOthers(tree)
	f.hopeful = found == nil && slices.ContainsFunc(problems, dependsOnOthers)
	f.look.others = r.calledFiles(f.file, tree, found)
	if found == nil {
		return f
	}
	encoded, err := found.Workflow.Encode()
	if err != nil {
		f.problems.Errorf(diag.Pos{File: f.file, Line: 1, Column: 1}, check.CodeShape, "encode the plan: %v", err)
		return f
	}
	f.fresh, f.hash, f.src = workspace.NewTransient(found.Workflow), plan.HashOf(encoded), nil
	return f
}

// followsOthers reports whether a trigger follows another workflow, of which the
// checker reads the outputs.
func followsOthers(tree *spec.Workflow) bool {
	if tree.Triggers == nil {
		return false
	}
	return slices.ContainsFunc(tree.Triggers.Pairs, func(pair spec.Pair) bool {
		return pair.Value.Kind == spec.Mapping && pair.Value.Get(string(plan.TriggerAfter)) != nil
	})
}

// dependsOnOthers reports whether a problem may go away without a change of the
// file and of those that it names.
func dependsOnOthers(p diag.Problem) bool {
	return slices.Contains([]string{check.CodeWorkflowBroken, check.CodeWorkflowCycle, check.CodeWorkflowDepth, check.CodeNotAsked}, p.Code)
}

// calledFiles are the workflows that a file's steps call, and those that they call
// in turn as far as they are known. One that is not there yet is among them.
func (r *revisions) calledFiles(file string, tree *spec.Workflow, found *workspace.Checked) map[string]workspace.Stamp {
	paths := map[string]bool{}
	if tree != nil {
		for _, uses := range calledBy(tree) {
			paths[filepath.Join(filepath.Dir(r.path(file)), filepath.FromSlash(uses))] = true
		}
	}
	if found != nil {
		workspace.EachWorkflow(found.Workflow, func(w *plan.Workflow) {
			for name := range w.Workflows {
				paths[r.path(name)] = true
			}
		})
	}
	if len(paths) == 0 {
		return nil
	}
	stamps := make(map[string]workspace.Stamp, len(paths))
	for path := range paths {
		stamps[path] = workspace.StampOf(path)
	}
	return stamps
}

// calledBy lists the workflows that steps call, as they are written.
func calledBy(tree *spec.Workflow) []string {
	var called []string
	var visit func(steps []*spec.Step)
	visit = func(steps []*spec.Step) {
		for _, step := range steps {
			if step.Uses != nil && (strings.HasPrefix(step.Uses.Text, "./") || strings.HasPrefix(step.Uses.Text, "../")) {
				called = append(called, step.Uses.Text)
			}
			visit(step.Steps)
		}
	}
	for _, list := range [][]*spec.Step{tree.Steps, tree.OnSuccess, tree.OnFailure, tree.Finally} {
		visit(list)
	}
	return called
}
