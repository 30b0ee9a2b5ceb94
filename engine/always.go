package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// errAlwaysOn says that AlwaysOn was called before.
var errAlwaysOn = errors.New("the engine is always on already")

// background holds what only a server does, each part on a goroutine of its own. Safe
// for concurrent use.
type background struct {
	mu     sync.Mutex
	begun  bool
	ctx    context.Context // ends when a stop begins
	cancel context.CancelFunc
	parts  sync.WaitGroup
}

func newBackground() *background {
	a := &background{}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// begin starts the parts, unless a stop has begun.
func (a *background) begin(parts ...func(ctx context.Context)) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.begun:
		return errAlwaysOn
	case a.ctx.Err() != nil:
		return ErrClosing
	}
	a.begun = true
	for _, part := range parts {
		a.parts.Go(func() { part(a.ctx) })
	}
	return nil
}

// stop ends the parts; wait waits for them.
func (a *background) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel()
}

func (a *background) wait() {
	a.stop()
	a.parts.Wait()
}

// Context ends when a stop begins.
func (a *background) Context() context.Context { return a.ctx }

// On reports whether AlwaysOn was called and no stop has begun.
func (a *background) On() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.begun && a.ctx.Err() == nil
}

// AlwaysOn begins what only a server does: it takes up the runs that no process
// drives, starts runs by their triggers, follows the workflow files, and hands on
// what happened to runs. It returns when all that has begun; Drain and Close end
// it. A second call is an error, and so is one after them (ErrClosing).
func (e *Engine) AlwaysOn(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := e.sandboxRefuses(ctx); err != nil {
		return err
	}
	if len(e.project.OwnPlugins()) > 0 { // one that was rebuilt meanwhile comes into force before the first run
		if _, err := e.revisions.Refresh(ctx, false); err != nil {
			e.config.Log.Warn("workflow files not read", "error", err)
		}
	}
	parts, err := e.Triggers.Parts()
	if err != nil {
		return err
	}
	return e.background.begin(append(parts, e.takeUp, e.dropPlugins, e.deliveries.Follow, func(ctx context.Context) { e.revisions.Follow(ctx, time.After) })...)
}

// sandboxRefuses says what keeps a server of a sandbox from beginning: workflows that
// would start by themselves and reach what nothing stands for.
func (e *Engine) sandboxRefuses(ctx context.Context) error {
	if !e.project.Sandboxed() {
		return nil
	}
	loaded, err := e.revisions.Load(ctx)
	if err != nil {
		return err
	}
	var problems diag.List
	for _, file := range loaded.Files {
		if file.InForce != nil {
			problems = append(problems, e.project.TriggersReach(file.InForce.Workflow())...)
		}
	}
	return problems.Err()
}

// sandboxRefusesRun says why a stored run can't go on in this sandbox: a diag.List.
func (e *Engine) sandboxRefusesRun(row *runs.Run) error {
	if !e.project.Sandboxed() {
		return nil
	}
	workflow, _, err := e.definition(row)
	if err != nil {
		return err
	}
	return e.project.SandboxLacks(workflow).Err()
}

// takeUpAtOnce is how many runs are read at a time when a server begins.
const takeUpAtOnce = 4

// takeUp goes on with the runs that are open and that no process drives: those
// that the process before left, and those that wait for their place. It is what
// `runs resume` does for each of them. A run whose plugin has changed is left for
// a person, and so is one that a step of another open run waits for: that one
// takes it up.
func (e *Engine) takeUp(ctx context.Context) {
	log := e.config.Log
	rows, err := e.store.OpenRuns()
	if err != nil {
		log.Error("open runs not read", "error", e.Fault(err))
		return
	}
	open := make(map[string]bool, len(rows))
	for i := range rows {
		open[rows[i].ID] = true
	}
	slots, group := make(chan struct{}, takeUpAtOnce), sync.WaitGroup{}
	var taken atomic.Int64
	for i := range rows {
		if parent := rows[i].Parent; parent != nil && open[parent.Run] {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		slots <- struct{}{} // soon: nothing waits for more than a replay
		group.Go(func() {
			defer func() { <-slots }()
			if e.takeUpRun(&rows[i]) {
				taken.Add(1)
			}
		})
	}
	group.Wait()
	if n := taken.Load(); n > 0 {
		log.Info("open runs taken up", "count", n)
	}
}

// takeUpRun drives one run again, and reports whether it did.
func (e *Engine) takeUpRun(row *runs.Run) bool {
	if e.driver.Driven(row.ID) {
		return false
	}
	err := e.mayGoOn(row)
	if err == nil {
		err = e.driver.Load(row.ID, nil)
	}
	if err != nil && !errors.Is(err, local.ErrDriven) && !errors.Is(err, local.ErrClosed) { // else somebody was faster; the next start finds it
		e.config.Log.Warn("open run not taken up", "run", row.ID, "workflow", row.Workflow, "error", err)
	}
	return err == nil
}

// mayGoOn says why a stored run can't go on by its own definition: a plugin has
// changed, or it reaches what a sandbox refuses.
func (e *Engine) mayGoOn(row *runs.Run) error {
	if err := e.checkPlugins(row); err != nil {
		return err
	}
	return e.sandboxRefusesRun(row)
}
