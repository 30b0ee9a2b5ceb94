package inforce

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
	stamp   workspace.Stamp
	sum     [sha256.Size]byte
	namePos diag.Pos                   // where its name stands; zero = nowhere
	others  map[string]workspace.Stamp // of the workflows that its steps call, by absolute path
}

// glance is the state of all workflow files as their folders tell it, and of the plugins'
// files, by path.
type glance map[string]workspace.Stamp

func (g glance) same(other glance) bool { return maps.EqualFunc(g, other, workspace.Stamp.Same) }

// Glance looks at the files without reading them. Folders that can't be read
// show no files.
func (r *Revisions) Glance() glance {
	seen := glance{}
	if r.project.Config().KeepPlugins {
		for _, plugin := range r.project.OwnPlugins() {
			seen["plugin "+plugin] = r.project.PluginStamp(plugin)
		}
	}
	files, err := r.project.Workflows()
	if err != nil {
		return seen
	}
	for _, file := range files {
		seen[r.path(file)] = workspace.StampOf(r.path(file))
	}
	if loaded := r.Current.Load(); loaded != nil {
		for _, file := range loaded.Files {
			for other := range file.look.others {
				seen[other] = workspace.StampOf(other)
			}
		}
	}
	return seen
}

func (r *Revisions) path(file string) string {
	return filepath.Join(r.project.Root(), filepath.FromSlash(file))
}

// Load returns the files as they are in force.
func (r *Revisions) Load(ctx context.Context) (*LoadedFiles, error) {
	if loaded := r.Current.Load(); loaded != nil && r.following.Load() {
		return loaded, nil
	}
	return r.Refresh(ctx, false)
}

// Refresh reads what has changed since the load before, or all, and puts in
// force what is good: of the workflow files, and, for a server, of the plugins' files.
func (r *Revisions) Refresh(ctx context.Context, all bool) (*LoadedFiles, error) {
	r.loading.Lock()
	defer r.loading.Unlock()
	before := r.Current.Load()
	now, err := r.refresh(ctx, all)
	if err != nil || !r.project.Config().KeepPlugins {
		return now, err
	}
	// What comes into force may be what another one waits for.
	for renewed := all || now != before; r.takePlugins(context.WithoutCancel(ctx), now, renewed); renewed = true {
		if now, err = r.refresh(ctx, true); err != nil {
			return now, err
		}
	}
	return now, nil
}

// refresh is Refresh for the workflow files. r.loading is held.
func (r *Revisions) refresh(ctx context.Context, all bool) (*LoadedFiles, error) {
	files, err := r.project.Workflows()
	if err != nil {
		return nil, err
	}
	before := r.Current.Load()
	if before == nil {
		before = &LoadedFiles{}
	}
	ctx = context.WithoutCancel(ctx) // a check that is given up half way would call a good file broken
	next, changed := r.readAll(ctx, files, before, all)
	if !changed && r.Current.Load() != nil {
		return before, nil
	}
	next.settle(r.project.Config().Now().UTC().Round(0))
	r.Current.Store(next)
	r.report(before, next)
	if !next.sameForce(before) {
		r.tell()
	}
	return next, nil
}

// readAll reads the files that have changed and checks them, and those whose
// problems depend on others. changed says that anything is new. No file of
// before is touched.
func (r *Revisions) readAll(ctx context.Context, files []string, before *LoadedFiles, all bool) (next *LoadedFiles, changed bool) {
	known := before.ByFile()
	next = &LoadedFiles{Files: make([]*WorkflowFile, len(files))}
	changed = len(files) != len(before.Files)
	read := map[string]bool{}
	for i, name := range files {
		old := known[name]
		file := r.read(ctx, name, old, all, r.unsure[name])
		if old == nil || !file.look.stamp.Same(old.look.stamp) {
			read[name] = true
		}
		changed = changed || file != old
		next.Files[i] = file
	}
	for i, file := range next.Files {
		if file.hopeful || file.follows && changed && file == known[file.File] {
			next.Files[i] = file.unless(r.check(ctx, file))
			changed = changed || next.Files[i] != file
		}
	}
	r.unsure = read
	if changed {
		for i, file := range next.Files {
			copied := *file
			next.Files[i] = &copied
		}
	}
	return next, changed
}

// read returns the file as it is now: old itself where nothing has changed. One of
// which it is unsure is read though its stamp is the same: a second change within
// the clock of the file system can't be told by that. With all it is checked too.
func (r *Revisions) read(ctx context.Context, name string, old *WorkflowFile, all, unsure bool) *WorkflowFile {
	path := r.path(name)
	seen := workspace.StampOf(path)
	same := old != nil && !all && seen.Same(old.look.stamp) && old.othersSame()
	if same && !unsure {
		return old
	}
	file := &WorkflowFile{File: name, Name: workspace.NameOfFile(name), look: look{stamp: seen}}
	if old != nil {
		file.InForce = old.InForce
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
func (f *WorkflowFile) unless(other *WorkflowFile) *WorkflowFile {
	same := f.look.stamp.Same(other.look.stamp) && f.look.sum == other.look.sum && f.hash == other.hash &&
		maps.EqualFunc(f.look.others, other.look.others, workspace.Stamp.Same) &&
		slices.EqualFunc(f.problems, other.problems, func(a, b diag.Problem) bool { return a.String() == b.String() })
	if same {
		return f
	}
	return other
}

func (f *WorkflowFile) othersSame() bool {
	for path, seen := range f.look.others {
		if !workspace.StampOf(path).Same(seen) {
			return false
		}
	}
	return true
}

// Source returns the bytes that were read last.
func (f *WorkflowFile) Source() []byte {
	if f.fresh != nil {
		return []byte(f.fresh.Workflow.Source)
	}
	return f.src
}

// check returns the file with what the checker says of it now.
func (r *Revisions) check(ctx context.Context, before *WorkflowFile) *WorkflowFile {
	f := &WorkflowFile{File: before.File, InForce: before.InForce, src: before.Source(), Name: workspace.NameOfFile(before.File)}
	f.look.stamp, f.look.sum = before.look.stamp, before.look.sum
	tree, _ := spec.V1().ParseWithin(f.File, f.src, spec.LargestLimits())
	if tree != nil && tree.Name != nil {
		f.Name, f.look.namePos = tree.Name.Text, tree.Name.Pos
	}
	workflow, problems := r.project.CheckedIn(ctx, f.File, r.project.Root(), f.src)
	f.problems = problems
	f.follows = tree != nil && followsOthers(tree)
	f.hopeful = workflow == nil && slices.ContainsFunc(problems, dependsOnOthers)
	f.look.others = r.calledFiles(f.File, tree, workflow)
	if workflow == nil {
		return f
	}
	encoded, err := workflow.Workflow.Encode()
	if err != nil {
		f.problems.Errorf(diag.Pos{File: f.File, Line: 1, Column: 1}, check.CodeShape, "encode the plan: %v", err)
		return f
	}
	f.fresh, f.hash, f.src = workspace.NewTransient(workflow.Workflow), plan.HashOf(encoded), nil
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
func (r *Revisions) calledFiles(file string, tree *spec.Workflow, workflow *workspace.Checked) map[string]workspace.Stamp {
	paths := map[string]bool{}
	if tree != nil {
		for _, uses := range calledBy(tree) {
			paths[filepath.Join(filepath.Dir(r.path(file)), filepath.FromSlash(uses))] = true
		}
	}
	if workflow != nil {
		workspace.EachWorkflow(workflow.Workflow, func(w *plan.Workflow) {
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
