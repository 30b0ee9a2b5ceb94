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

	mu   sync.Mutex
	at   time.Time
	list []engine.WorkflowInfo
}

// recent returns what is known, and asks anew when that is old.
func (b *broken) recent(ctx context.Context) ([]engine.WorkflowInfo, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if age := b.now().Sub(b.at); !b.at.IsZero() && age >= 0 && age < brokenKept {
		return b.list, nil
	}
	all, err := b.engine.WorkflowList(ctx)
	if err != nil {
		return nil, err
	}
	b.list, b.at = nil, b.now()
	for i := range all {
		if all[i].Problems.HasErrors() {
			b.list = append(b.list, all[i])
		}
	}
	return b.list, nil
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
