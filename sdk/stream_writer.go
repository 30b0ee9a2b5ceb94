package sdk

import (
	"sync"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// maxBatch bounds what is sent as one message, in bytes of events: what waits meanwhile is
// the next one.
const maxBatch = 256 << 10

// eventWriter sends the events of all calls of a stream in the order in which they come.
// One goroutine at a time sends; what comes while it does is one message after it.
type eventWriter struct {
	send    func(*pluginv1.ExecuteStreamResponse) error
	writers sync.WaitGroup

	mu      sync.Mutex
	waiting []*pluginv1.CallEvent
	writing bool
	err     error // why nothing can be sent any more
}

// put sends an event, or leaves it to who sends now.
func (w *eventWriter) put(event *pluginv1.CallEvent) error {
	w.mu.Lock()
	if w.err != nil {
		defer w.mu.Unlock()
		return w.err
	}
	w.waiting = append(w.waiting, event)
	if w.writing {
		w.mu.Unlock()
		return nil
	}
	w.writing = true
	if w.write() { // a call does not send for others without an end
		w.writers.Go(w.drain)
	}
	w.mu.Unlock()
	return nil
}

func (w *eventWriter) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.write() {
	}
}

// write sends a message of what waits, and reports whether more has come meanwhile: then
// the caller goes on. mu is held, and not while it sends.
func (w *eventWriter) write() (more bool) {
	size, n := 0, 0
	for n < len(w.waiting) && (n == 0 || size+len(w.waiting[n].GetEvent()) <= maxBatch) {
		size += len(w.waiting[n].GetEvent())
		n++
	}
	message := &pluginv1.ExecuteStreamResponse{Events: w.waiting[:n:n]}
	if w.waiting = w.waiting[n:]; len(w.waiting) == 0 {
		w.waiting = nil
	}
	w.mu.Unlock()
	err := w.send(message)
	w.mu.Lock()
	if err != nil {
		w.err, w.waiting = err, nil
	}
	w.writing = len(w.waiting) > 0
	return w.writing
}
