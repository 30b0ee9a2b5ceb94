package web

import (
	"net/http"
	"sync"

	"github.com/flowrun/flowrun/internal/web/wire"
)

// closingText is what a request hears that comes too late.
const closingText = "the process that owns the store is ending and takes no more requests"

// Gate lets an owner leave without losing a request: once it is closed, every
// request is answered with the code closing, of which a client knows that
// nothing was done. Safe for concurrent use.
type Gate struct {
	mu       sync.Mutex
	inFlight int
	closed   bool
	done     chan struct{}
}

// NewGate returns an open gate.
func NewGate() *Gate { return &Gate{done: make(chan struct{})} }

// Done is closed with the gate: streams end then.
func (g *Gate) Done() <-chan struct{} { return g.done }

// CloseWhenIdle closes the gate unless a request that changes something is in
// flight or busy reports that there is work left. It reports whether the gate is
// closed.
func (g *Gate) CloseWhenIdle(busy func() bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return true
	}
	if g.inFlight > 0 || busy() {
		return false
	}
	g.closed = true
	close(g.done)
	return true
}

// Close closes the gate whatever is in flight.
func (g *Gate) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.closed {
		g.closed = true
		close(g.done)
	}
}

// enter counts a request; it reports false when the gate is closed.
func (g *Gate) enter(changes bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return false
	}
	if changes {
		g.inFlight++
	}
	return true
}

func (g *Gate) leave(changes bool) {
	if !changes {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	g.inFlight--
}

func (g *Gate) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		change := changes(r)
		if !g.enter(change) {
			wire.NewProblem(wire.CodeClosing, closingText).Write(w)
			return
		}
		defer g.leave(change)
		next.ServeHTTP(w, r)
	})
}

// changes reports whether a request may change something.
func changes(r *http.Request) bool { return r.Method != http.MethodGet && r.Method != http.MethodHead }
