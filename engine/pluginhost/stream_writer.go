package pluginhost

import (
	"sync"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

const (
	// unreadAtOnce is how much the plugin has perhaps not read yet, in bytes, before a
	// goroutine of the stream sends: gRPC holds up who sends above 64 KiB, and no call is
	// held up by what others have sent.
	unreadAtOnce = 32 << 10
	maxBatch     = 256 << 10 // of one message, in bytes of requests
	wordBytes    = 32        // of a word beside its request, at most
)

// wordWriter sends what the host says of the calls of a stream, in the order in which it
// comes. One goroutine at a time sends; what comes meanwhile is one message after it.
type wordWriter struct {
	send    func(*pluginv1.ExecuteStreamRequest) error
	writers sync.WaitGroup

	mu      sync.Mutex
	waiting []*pluginv1.CallWord
	writing bool
	broken  bool
	said    uint64 // bytes that were given to put
	read    uint64 // of them the plugin has certainly read
}

// put sends a word, or leaves it to who sends now, and returns where it stands in all that
// was said. What can't be sent is lost: the stream has ended then, and its reader says so.
func (w *wordWriter) put(word *pluginv1.CallWord) (position uint64) {
	w.mu.Lock()
	w.said += uint64(len(word.GetExecute()) + wordBytes)
	position = w.said
	if w.broken {
		w.mu.Unlock()
		return position
	}
	w.waiting = append(w.waiting, word)
	switch {
	case w.writing:
		w.mu.Unlock()
	case w.said-w.read > unreadAtOnce:
		w.writing = true
		w.writers.Go(w.drain)
		w.mu.Unlock()
	default:
		w.writing = true
		if w.write() { // a call does not send for others without an end
			w.writers.Go(w.drain)
		}
		w.mu.Unlock()
	}
	return position
}

// wasRead notes that the plugin has read up to a position: it has answered what stands there.
func (w *wordWriter) wasRead(position uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.read = max(w.read, position)
}

func (w *wordWriter) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for w.write() {
	}
}

// close ends the sending, once the stream has ended.
func (w *wordWriter) close() {
	w.mu.Lock()
	w.broken, w.waiting = true, nil
	w.mu.Unlock()
	w.writers.Wait()
}

// write sends a message of what waits, and reports whether more has come meanwhile: then
// the caller goes on. mu is held, and not while it sends.
func (w *wordWriter) write() (more bool) {
	size, n := 0, 0
	for n < len(w.waiting) && (n == 0 || size+len(w.waiting[n].GetExecute()) <= maxBatch) {
		size += len(w.waiting[n].GetExecute())
		n++
	}
	message := &pluginv1.ExecuteStreamRequest{Calls: w.waiting[:n:n]}
	if w.waiting = w.waiting[n:]; len(w.waiting) == 0 {
		w.waiting = nil
	}
	w.mu.Unlock()
	err := w.send(message)
	w.mu.Lock()
	if w.broken = w.broken || err != nil; w.broken {
		w.waiting = nil
	}
	w.writing = len(w.waiting) > 0
	return w.writing
}
