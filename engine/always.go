package engine

import (
	"context"
	"errors"
	"sync"
)

// errAlwaysOn says that AlwaysOn was called before.
var errAlwaysOn = errors.New("the engine is always on already")

// always holds what only a server does, each part on a goroutine of its own. Safe
// for concurrent use.
type always struct {
	mu     sync.Mutex
	begun  bool
	ctx    context.Context // ends when a stop begins
	cancel context.CancelFunc
	parts  sync.WaitGroup
}

func newAlways() *always {
	a := &always{}
	a.ctx, a.cancel = context.WithCancel(context.Background())
	return a
}

// begin starts the parts, unless a stop has begun.
func (a *always) begin(parts ...func(ctx context.Context)) error {
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
func (a *always) stop() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.cancel()
}

func (a *always) wait() {
	a.stop()
	a.parts.Wait()
}

// Context ends when a stop begins.
func (a *always) Context() context.Context { return a.ctx }

// On reports whether AlwaysOn was called and no stop has begun.
func (a *always) On() bool {
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
	parts, err := e.Triggers.Parts()
	if err != nil {
		return err
	}
	return e.always.begin(append(parts, e.takeUp, e.followWorkflows)...)
}
