package page

import (
	"context"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine"
)

// brokenKept is how long the list of broken files is kept: with a thousand
// workflows it takes longer to make than the rest of a page.
const brokenKept = 5 * time.Second

// broken are the workflow files with errors as they were a moment ago. Safe for
// concurrent use.
type broken struct {
	engine Workflows
	now    func() time.Time
	start  func(func(context.Context)) // runs what goes on after a request; nil = there is none

	mu   sync.Mutex
	at   time.Time
	busy bool
	list []engine.WorkflowInfo
}

// recent returns what is known. It waits for the answer only where nothing is
// known yet, or nothing goes on after a request.
func (b *broken) recent(ctx context.Context) ([]engine.WorkflowInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	age := b.now().Sub(b.at)
	switch {
	case b.busy, !b.at.IsZero() && age >= 0 && age < brokenKept:
		return b.list, nil
	case !b.at.IsZero() && b.start != nil:
		b.busy = true
		b.start(func(ctx context.Context) {
			found, err := b.read(ctx)
			b.mu.Lock()
			defer b.mu.Unlock()
			b.busy = false
			b.keep(found, err)
		})
		return b.list, nil
	}
	found, err := b.read(ctx)
	b.keep(found, err)
	return found, err
}

// read asks the engine.
func (b *broken) read(ctx context.Context) ([]engine.WorkflowInfo, error) {
	all, err := b.engine.WorkflowList(ctx)
	var found []engine.WorkflowInfo
	for i := range all {
		if all[i].Problems.HasErrors() {
			found = append(found, all[i])
		}
	}
	return found, err
}

// keep takes an answer; after an error the next request asks again.
func (b *broken) keep(found []engine.WorkflowInfo, err error) {
	if err == nil {
		b.list, b.at = found, b.now()
	}
}

// linksKept is how long the states of logins are kept: asking costs a call of
// each plugin.
const linksKept = time.Minute

// links are the states of the connections as they were a moment ago. Safe for
// concurrent use.
type links struct {
	engine Connections
	now    func() time.Time
	start  func(func(context.Context)) // runs what goes on after a request; nil = there is none

	mu   sync.Mutex
	at   time.Time
	busy bool
	list []engine.ConnectionStatus
}

// recent returns what is known and asks anew when that is old, without waiting
// for the answer.
func (l *links) recent(ctx context.Context) []engine.ConnectionStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.busy || !l.at.IsZero() && l.now().Sub(l.at) < linksKept {
		return l.list
	}
	if l.start == nil {
		l.list, l.at = l.engine.ListConnections(ctx), l.now()
		return l.list
	}
	l.busy = true
	l.start(func(ctx context.Context) {
		list := l.engine.ListConnections(ctx)
		l.mu.Lock()
		defer l.mu.Unlock()
		l.list, l.at, l.busy = list, l.now(), false
	})
	return l.list
}
