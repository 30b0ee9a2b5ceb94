// Package inforce tells which bytes of each workflow file are in force: a broken file keeps
// its last good revision, and the follower sees changes without reading files that have
// none.
package inforce

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/check"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schedule"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Revision is a workflow of the project as it is in force: what its triggers and
// a start by its name take. It is only read, so that all may share it.
type Revision struct {
	Checked  *workspace.Checked
	Hash     string // of the plan
	LoadedAt time.Time
	Stale    bool                                // its file is broken now
	Code     func() (*interp.TriggerCode, error) // what its triggers evaluate, compiled when it is needed first
}

// Name returns the workflow's name.
func (r *Revision) Name() string { return r.Checked.Workflow.Name }

// Workflow returns the workflow, which is only read.
func (r *Revision) Workflow() *plan.Workflow { return r.Checked.Workflow }

// Trigger returns the trigger of that name, nil where there is none.
func (r *Revision) Trigger(name string) *plan.Trigger {
	triggers := r.Checked.Workflow.Triggers
	for i := range triggers {
		if triggers[i].Name == name {
			return &triggers[i]
		}
	}
	return nil
}

// WorkflowFile is one workflow file: what was read of it last, and what is in
// force of it.
type WorkflowFile struct {
	File     string
	look     look
	Name     string             // that the file as it is now asks for; "" = it can't be told
	fresh    *workspace.Checked // of the file as it is now; nil = it has errors
	hash     string             // of fresh
	problems diag.List          // of the file as it is now, without those of its name
	src      []byte             // of the file as it is now, where it is broken
	follows  bool               // a trigger follows another workflow
	hopeful  bool               // its problems may go away without a change of the file

	InForce *Revision // nil = no revision was ever good, or its name is another's
	clash   diag.List // its name is that of another file
}

// AllProblems are those of the file and of its name.
func (f *WorkflowFile) AllProblems() diag.List {
	problems := append(slices.Clone(f.problems), f.clash...)
	problems.Sort()
	return problems
}

// LoadedFiles are the workflow files of a project at one moment. It is not
// changed once it is made.
type LoadedFiles struct {
	Files  []*WorkflowFile // by file
	byName map[string]*WorkflowFile
}

// ByFile returns the files by their names.
func (l *LoadedFiles) ByFile() map[string]*WorkflowFile {
	files := make(map[string]*WorkflowFile, len(l.Files))
	for _, file := range l.Files {
		files[file.File] = file
	}
	return files
}

// Revisions keeps the workflows of a project that are in force. They are loaded
// when they are asked for first. While nobody follows the files, each question
// looks at them; else a change is in force some seconds later. Safe for
// concurrent use.
type Revisions struct {
	project   *workspace.Workspace
	following atomic.Bool
	Current   atomic.Pointer[LoadedFiles] // nil = nothing was loaded

	loading sync.Mutex                 // held by the one load
	unsure  map[string]bool            // Files that were read since the look before: read once more
	plugins map[string]workspace.Stamp // of the plugins' files, when they were looked at last; held by loading

	mu        sync.Mutex
	listeners map[chan struct{}]struct{}

	Reads schedule.Reads
}

// New returns the revisions of a project's files, of which none was read yet.
func New(p *workspace.Workspace) *Revisions {
	return &Revisions{project: p, listeners: map[chan struct{}]struct{}{}, plugins: map[string]workspace.Stamp{}}
}

// All returns the revisions in force, by name.
func (r *Revisions) All(ctx context.Context) ([]*Revision, error) {
	loaded, err := r.Load(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]*Revision, 0, len(loaded.byName))
	for _, file := range loaded.Files {
		if file.InForce != nil {
			list = append(list, file.InForce)
		}
	}
	slices.SortFunc(list, func(a, b *Revision) int { return cmp.Compare(a.Name(), b.Name()) })
	return list, nil
}

// Named returns the revision of that name. *UnknownError; a file that never was
// good gives its problems as a diag.List.
func (r *Revisions) Named(ctx context.Context, name string) (*Revision, error) {
	file, err := r.File(ctx, name)
	if err != nil {
		return nil, err
	}
	if file.InForce == nil || file.InForce.Name() != name {
		return nil, file.AllProblems()
	}
	return file.InForce, nil
}

// File returns the file of a workflow: the one that is in force under the name,
// else a broken one that asks for it. *UnknownError.
func (r *Revisions) File(ctx context.Context, name string) (*WorkflowFile, error) {
	loaded, err := r.Load(ctx)
	if err != nil {
		return nil, err
	}
	file := loaded.find(name)
	if file == nil && r.following.Load() { // a file that has just been written
		if loaded, err = r.Refresh(ctx, false); err != nil {
			return nil, err
		}
		file = loaded.find(name)
	}
	if file != nil {
		return file, nil
	}
	names := slices.Collect(maps.Keys(loaded.byName))
	for _, broken := range loaded.Files {
		if broken.InForce == nil && broken.Name != "" {
			names = append(names, broken.Name)
		}
	}
	slices.Sort(names)
	return nil, &fault.UnknownError{What: "workflow", Name: name, Hint: diag.DidYouMean(name, names)}
}

func (l *LoadedFiles) find(name string) *WorkflowFile {
	if file := l.byName[name]; file != nil {
		return file
	}
	for _, file := range l.Files {
		if file.InForce == nil && file.Name == name {
			return file
		}
	}
	return nil
}

// Changed returns a channel that gets a tick after each change of what is in
// force; ticks that nobody took are one. stop ends it.
func (r *Revisions) Changed() (ticks <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.listeners[c] = struct{}{}
	return c, func() {
		r.mu.Lock()
		defer r.mu.Unlock()
		delete(r.listeners, c)
	}
}

func (r *Revisions) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.listeners {
		select {
		case c <- struct{}{}:
		default:
		}
	}
}

// settle decides which revision of each file is in force, and which file has a
// name that several ask for. A broken file keeps its name and its last good
// revision. Among the others the one that has the name keeps it; else the file
// that is called like the workflow comes first, then the shorter path. A file
// that does not get its name keeps its last good revision too, under the name of
// before, while that is free.
func (l *LoadedFiles) settle(now time.Time) {
	l.byName = map[string]*WorkflowFile{}
	asking := map[string][]*WorkflowFile{}
	for _, f := range l.Files {
		f.clash = nil
		switch {
		case f.fresh != nil:
			asking[f.fresh.Workflow.Name] = append(asking[f.fresh.Workflow.Name], f)
		case f.InForce != nil:
			l.byName[f.InForce.Name()] = f
			f.InForce = f.InForce.as(true)
		}
	}
	var without []*WorkflowFile
	for name, files := range asking {
		slices.SortFunc(files, func(a, b *WorkflowFile) int { return byRight(name, a, b) })
		if l.byName[name] == nil {
			l.byName[name] = files[0]
			files[0].putInForce(now)
			files = files[1:]
		}
		for _, loser := range files {
			loser.clashWith(name, l.byName[name])
		}
		without = append(without, files...)
	}
	slices.SortFunc(without, func(a, b *WorkflowFile) int { return cmp.Compare(a.File, b.File) })
	for _, f := range without {
		if f.InForce == nil || l.byName[f.InForce.Name()] != nil {
			f.InForce = nil
			continue
		}
		l.byName[f.InForce.Name()] = f
		f.InForce = f.InForce.as(true)
	}
}

// byRight orders files that ask for the same name.
func byRight(name string, a, b *WorkflowFile) int {
	rank := func(f *WorkflowFile) int {
		switch {
		case f.InForce != nil && f.InForce.Name() == name:
			return 0
		case workspace.NameOfFile(f.File) == name:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a.File), len(b.File)), cmp.Compare(a.File, b.File))
}

// putInForce makes the file as it is now the revision in force.
func (f *WorkflowFile) putInForce(now time.Time) {
	if f.InForce != nil && f.InForce.Hash == f.hash {
		f.InForce = f.InForce.as(false)
		return
	}
	workflow := f.fresh.Workflow
	f.InForce = &Revision{Checked: f.fresh, Hash: f.hash, LoadedAt: now, Code: sync.OnceValues(func() (*interp.TriggerCode, error) {
		return interp.CompileTriggers(workflow, eval.NewCache())
	})}
}

// as returns the revision with another word on whether its file is broken.
func (r *Revision) as(stale bool) *Revision {
	if r.Stale == stale {
		return r
	}
	other := *r
	other.Stale = stale
	return &other
}

func (f *WorkflowFile) clashWith(name string, holder *WorkflowFile) {
	place := diag.Pos{File: f.File, Line: 1, Column: 1}
	if at := f.look.namePos; at.Line > 0 {
		place = at
	}
	problem := f.clash.Errorf(place, check.CodeName, "the name `%s` is that of the workflow in %s", name, holder.File)
	problem.Hint = diag.Say("give one of the two another `name`")
	if at := holder.look.namePos; at.Line > 0 {
		problem.Related = []diag.Related{{Pos: at, Message: "the other workflow"}}
	}
}
