package engine

import (
	"cmp"
	"context"
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
	"github.com/flowrun/flowrun/engine/workspace"
)

// revision is a workflow of the project as it is in force: what its triggers and
// a start by its name take. It is only read, so that all may share it.
type revision struct {
	checked  *workspace.Checked
	file     string // relative to the project's root
	hash     string // of the plan
	loadedAt time.Time
	stale    bool                                // its file is broken now
	code     func() (*interp.TriggerCode, error) // what its triggers evaluate, compiled when it is needed first
}

func (r *revision) name() string { return r.checked.Workflow.Name }

func (r *revision) workflow() *plan.Workflow { return r.checked.Workflow }

// trigger returns the trigger of that name, nil where there is none.
func (r *revision) trigger(name string) *plan.Trigger {
	triggers := r.checked.Workflow.Triggers
	for i := range triggers {
		if triggers[i].Name == name {
			return &triggers[i]
		}
	}
	return nil
}

// workflowFile is one workflow file: what was read of it last, and what is in
// force of it.
type workflowFile struct {
	file     string
	look     look
	name     string             // that the file as it is now asks for; "" = it can't be told
	fresh    *workspace.Checked // of the file as it is now; nil = it has errors
	hash     string             // of fresh
	problems diag.List          // of the file as it is now, without those of its name
	src      []byte             // of the file as it is now, where it is broken
	follows  bool               // a trigger follows another workflow
	hopeful  bool               // its problems may go away without a change of the file

	inForce *revision // nil = no revision was ever good, or its name is another's
	clash   diag.List // its name is that of another file
}

// allProblems are those of the file and of its name.
func (f *workflowFile) allProblems() diag.List {
	problems := append(slices.Clone(f.problems), f.clash...)
	problems.Sort()
	return problems
}

// loadedFiles are the workflow files of a project at one moment. It is not
// changed once it is made.
type loadedFiles struct {
	files  []*workflowFile // by file
	byName map[string]*workflowFile
}

// revisions keeps the workflows of a project that are in force. They are loaded
// when they are asked for first. While nobody follows the files, each question
// looks at them; else a change is in force some seconds later. Safe for
// concurrent use.
type revisions struct {
	project   *workspace.Workspace
	following atomic.Bool
	current   atomic.Pointer[loadedFiles] // nil = nothing was loaded

	loading sync.Mutex // held by the one load
	unsure  []string   // files that were read since the look before: read once more

	mu        sync.Mutex
	listeners map[chan struct{}]struct{}

	reads scheduleReads
}

func newRevisions(p *workspace.Workspace) *revisions {
	return &revisions{project: p, listeners: map[chan struct{}]struct{}{}}
}

// all returns the revisions in force, by name.
func (r *revisions) all(ctx context.Context) ([]*revision, error) {
	loaded, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]*revision, 0, len(loaded.byName))
	for _, file := range loaded.files {
		if file.inForce != nil {
			list = append(list, file.inForce)
		}
	}
	slices.SortFunc(list, func(a, b *revision) int { return cmp.Compare(a.name(), b.name()) })
	return list, nil
}

// NamedConnection returns the revision of that name. *UnknownError; a file that never was
// good gives its problems as a diag.List.
func (r *revisions) named(ctx context.Context, name string) (*revision, error) {
	file, err := r.file(ctx, name)
	if err != nil {
		return nil, err
	}
	if file.inForce == nil || file.inForce.name() != name {
		return nil, file.allProblems()
	}
	return file.inForce, nil
}

// file returns the file of a workflow: the one that is in force under the name,
// else a broken one that asks for it. *UnknownError.
func (r *revisions) file(ctx context.Context, name string) (*workflowFile, error) {
	loaded, err := r.load(ctx)
	if err != nil {
		return nil, err
	}
	found := loaded.find(name)
	if found == nil && r.following.Load() { // a file that has just been written
		if loaded, err = r.refresh(ctx, false); err != nil {
			return nil, err
		}
		found = loaded.find(name)
	}
	if found != nil {
		return found, nil
	}
	var names []string
	for known := range loaded.byName {
		names = append(names, known)
	}
	slices.Sort(names)
	return nil, &fault.UnknownError{What: "workflow", Name: name, Hint: diag.DidYouMean(name, names)}
}

func (l *loadedFiles) find(name string) *workflowFile {
	if file := l.byName[name]; file != nil {
		return file
	}
	for _, file := range l.files {
		if file.inForce == nil && file.name == name {
			return file
		}
	}
	return nil
}

// changed returns a channel that gets a tick after each change of what is in
// force; ticks that nobody took are one. stop ends it.
func (r *revisions) changed() (ticks <-chan struct{}, stop func()) {
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

func (r *revisions) tell() {
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
// Name that several ask for. A broken file keeps its name and its last good
// revision. Among the others the one that has the name keeps it; else the file
// that is called like the workflow comes first, then the shorter path. A file
// that does not get its name keeps its last good revision too, under the name of
// before, while that is free.
func (l *loadedFiles) settle(now time.Time) {
	l.byName = map[string]*workflowFile{}
	asking := map[string][]*workflowFile{}
	for _, f := range l.files {
		f.clash = nil
		switch {
		case f.fresh != nil:
			asking[f.fresh.Workflow.Name] = append(asking[f.fresh.Workflow.Name], f)
		case f.inForce != nil:
			l.byName[f.inForce.name()] = f
			f.inForce = f.inForce.as(true)
		}
	}
	var without []*workflowFile
	for name, files := range asking {
		slices.SortFunc(files, func(a, b *workflowFile) int { return byRight(name, a, b) })
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
	slices.SortFunc(without, func(a, b *workflowFile) int { return cmp.Compare(a.file, b.file) })
	for _, f := range without {
		if f.inForce == nil || l.byName[f.inForce.name()] != nil {
			f.inForce = nil
			continue
		}
		l.byName[f.inForce.name()] = f
		f.inForce = f.inForce.as(true)
	}
}

// byRight orders files that ask for the same name.
func byRight(name string, a, b *workflowFile) int {
	rank := func(f *workflowFile) int {
		switch {
		case f.inForce != nil && f.inForce.name() == name:
			return 0
		case workspace.NameOfFile(f.file) == name:
			return 1
		}
		return 2
	}
	return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(len(a.file), len(b.file)), cmp.Compare(a.file, b.file))
}

// putInForce makes the file as it is now the revision in force.
func (f *workflowFile) putInForce(now time.Time) {
	if f.inForce != nil && f.inForce.hash == f.hash {
		f.inForce = f.inForce.as(false)
		return
	}
	workflow := f.fresh.Workflow
	f.inForce = &revision{checked: f.fresh, file: f.file, hash: f.hash, loadedAt: now, code: sync.OnceValues(func() (*interp.TriggerCode, error) {
		return interp.CompileTriggers(workflow, eval.NewCache())
	})}
}

// as returns the revision with another word on whether its file is broken.
func (r *revision) as(stale bool) *revision {
	if r.stale == stale {
		return r
	}
	other := *r
	other.stale = stale
	return &other
}

func (f *workflowFile) clashWith(name string, holder *workflowFile) {
	place := diag.Pos{File: f.file, Line: 1, Column: 1}
	if at := f.look.named; at.Line > 0 {
		place = at
	}
	problem := f.clash.Errorf(place, check.CodeName, "the name `%s` is that of the workflow in %s", name, holder.file)
	problem.Hint = "give one of the two another `name`"
	if at := holder.look.named; at.Line > 0 {
		problem.Related = []diag.Related{{Pos: at, Message: "the other workflow"}}
	}
}
