package guard

import (
	"context"
	"maps"
	"slices"
	"sync"
)

// live knows the requests that are going on by the credential that let them in,
// so that they end with it. Safe for concurrent use.
type live struct {
	mu   sync.Mutex
	next uint64
	by   map[string]map[uint64]context.CancelFunc
}

func newLive() *live { return &live{by: map[string]map[uint64]context.CancelFunc{}} }

// begin notes a request; end must be called when it is over.
func (l *live) begin(ctx context.Context, credential string) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next++
	id := l.next
	if l.by[credential] == nil {
		l.by[credential] = map[uint64]context.CancelFunc{}
	}
	l.by[credential][id] = cancel
	return ctx, func() {
		cancel()
		l.mu.Lock()
		defer l.mu.Unlock()
		delete(l.by[credential], id)
		if len(l.by[credential]) == 0 {
			delete(l.by, credential)
		}
	}
}

// credentials returns those that requests go on with.
func (l *live) credentials() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return slices.Collect(maps.Keys(l.by))
}

// end cancels the requests of a credential.
func (l *live) end(credential string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, cancel := range l.by[credential] {
		cancel()
	}
}
