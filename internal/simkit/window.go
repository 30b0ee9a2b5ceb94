package simkit

import (
	"math"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// Window is a fixed-window limiter per client: a window starts at a client's
// first request and the count starts anew when it is over. There is no burst
// limit inside it.
type Window struct {
	requests int
	length   time.Duration
	now      func() time.Time

	mu      sync.Mutex
	clients map[string]*span
}

// span is one client's current window.
type span struct {
	start time.Time
	used  int
}

// Grant is the limiter's word on one request.
type Grant struct {
	OK        bool
	Limit     int
	Remaining int
	Window    time.Duration
	Reset     time.Duration // until the window ends
}

// NewWindow returns a limiter of requests per length for each client. A limit
// of 0 or below grants everything.
func NewWindow(requests int, length time.Duration, now func() time.Time) *Window {
	return &Window{requests: requests, length: length, now: Clock(now), clients: map[string]*span{}}
}

// Take counts a request of client.
func (w *Window) Take(client string) Grant {
	if w.requests <= 0 {
		return Grant{OK: true, Window: w.length}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	s := w.clients[client]
	if s == nil || now.Sub(s.start) >= w.length {
		s = &span{start: now}
		w.clients[client] = s
	}
	g := Grant{Limit: w.requests, Window: w.length, Reset: s.start.Add(w.length).Sub(now)}
	if s.used < w.requests {
		s.used++
		g.OK = true
	}
	g.Remaining = w.requests - s.used
	return g
}

// Admits is Take for services that say nothing of their limit but when to come back: it
// sets Retry-After where it refuses.
func (w *Window) Admits(answer http.ResponseWriter, client string) bool {
	g := w.Take(client)
	if !g.OK {
		answer.Header().Set("Retry-After", Seconds(g.Reset))
	}
	return g.OK
}

// Seconds writes d as whole seconds, rounded up: a client that waits that long must
// not be too early.
func Seconds(d time.Duration) string { return strconv.Itoa(int(math.Ceil(d.Seconds()))) }

// Reset forgets every client.
func (w *Window) Reset() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.clients)
}

// Client returns the address by which a service counts the sender of r.
func Client(r *http.Request) string {
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
