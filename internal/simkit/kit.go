package simkit

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"sync"
	"time"
)

// Options of a Kit. The zero value works.
type Options struct {
	Now     func() time.Time // clock of the journal; nil = the real one
	Latency time.Duration    // added to every answer of the service
	Reset   func()           // what else a reset clears: the simulator's limiter and state
}

// Kit holds the faults and the journal of one simulator.
type Kit struct {
	now     func() time.Time
	latency time.Duration
	reset   func()

	mu      sync.Mutex
	faults  []*armed
	journal []Request
	counts  map[string]int
	total   int
}

// New returns a Kit without faults.
func New(o Options) *Kit {
	return &Kit{now: Clock(o.Now), latency: o.Latency, reset: o.Reset, counts: map[string]int{}}
}

// Service is a simulated service with its kit before it: what a simulator embeds.
type Service struct {
	kit     *Kit
	handler http.Handler
}

// NewService puts a new kit before the service's handler.
func NewService(o Options, service http.Handler) Service {
	kit := New(o)
	return Service{kit, kit.Handler(service)}
}

// Kit returns the faults and the journal of the simulator.
func (s *Service) Kit() *Kit { return s.kit }

// ServeHTTP serves the service and, below /_sim/, its control endpoint.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Clock returns now, or the real clock where it is nil. Simulators are services
// of their own, so this is the one place where they may read the real time.
func Clock(now func() time.Time) func() time.Time {
	if now == nil {
		return time.Now
	}
	return now
}

// Add arms faults behind those that are there, or none when one of them is wrong:
// the error says what is.
func (k *Kit) Add(faults ...Fault) error {
	for _, f := range faults {
		if err := f.check(); err != nil {
			return err
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, f := range faults {
		k.faults = append(k.faults, &armed{Fault: f})
	}
	return nil
}

// Faults returns the faults that are set, whether or not they are used up.
func (k *Kit) Faults() []Fault {
	k.mu.Lock()
	defer k.mu.Unlock()
	out := make([]Fault, 0, len(k.faults))
	for _, a := range k.faults {
		out = append(out, a.Fault)
	}
	return out
}

// ClearFaults removes every fault.
func (k *Kit) ClearFaults() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.faults = nil
}

// Reset removes faults and journal and calls the simulator's own reset.
func (k *Kit) Reset() {
	k.mu.Lock()
	k.faults, k.journal, k.counts, k.total = nil, nil, map[string]int{}, 0
	k.mu.Unlock()
	if k.reset != nil {
		k.reset()
	}
}

// next returns the fault that hits r, nil for none. A fault that matches but is
// not yet or no more due is counted and passed over.
func (k *Kit) next(r *http.Request) *Fault {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, a := range k.faults {
		if a.matches(r) && a.take() {
			f := a.Fault
			return &f
		}
	}
	return nil
}

// Handler puts the kit in front of the service's handler.
func (k *Kit) Handler(service http.Handler) http.Handler {
	control := k.control()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if isControl(r) {
			control.ServeHTTP(w, r)
			return
		}
		k.serve(w, r, service)
	})
}

// serve leads one request through journal, fault and service.
func (k *Kit) serve(w http.ResponseWriter, r *http.Request, service http.Handler) {
	entry := k.note(r)
	f := k.next(r)
	if f == nil {
		if !pause(r.Context(), k.latency) {
			return
		}
		rec := &statusWriter{ResponseWriter: w, status: http.StatusOK}
		service.ServeHTTP(rec, r)
		k.answered(entry, rec.status, "")
		return
	}
	readAhead(r)
	if !pause(r.Context(), k.latency+time.Duration(f.DelayMS)*time.Millisecond) {
		k.answered(entry, 0, "client went away")
		return
	}
	status, outcome := f.play(w, r, service)
	k.answered(entry, status, outcome)
	if outcome == outcomeDropped || outcome == outcomeCut {
		panic(http.ErrAbortHandler) // closes the connection without an answer, or in the middle of one
	}
}

// OnlyGET answers what is asked for at no endpoint of a service that has only GET, as
// fail writes its errors.
func OnlyGET(fail func(w http.ResponseWriter, status int, message string)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodGet {
			w.Header().Set("Allow", http.MethodGet)
			fail(w, http.StatusMethodNotAllowed, "Only GET is allowed.")
			return
		}
		fail(w, http.StatusNotFound, "No such endpoint.")
	}
}

// readAhead takes the body from the network: only then does the server notice
// that a client goes away.
func readAhead(r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, maxFaultBody))
	if err == nil && len(body) < maxFaultBody {
		r.Body = io.NopCloser(bytes.NewReader(body))
		return
	}
	r.Body = io.NopCloser(io.MultiReader(bytes.NewReader(body), r.Body))
}

// pause waits for d and reports whether the client is still there.
func pause(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return true
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// statusWriter remembers the status for the journal.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (w *statusWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}
