package local

import (
	"sync"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// message is what a run's worker is told: one of its fields is set.
type message struct {
	event      *journal.Event
	answerTo   *drive.Operation // with event: the operation that it answers; dropped when that is no longer open
	committed  *commit
	log        *runs.Log
	wait       *limiterWait
	decide     *decision
	admitted   *runs.Run // the run has its place
	child      *childEnd
	childWaits *childWaits
	inspect    func(*run) // runs on the worker when all before it is durable
	released   *released
	flush      bool // hand what was applied to the journal
	drain      bool // a graceful stop has begun
	stop       bool
}

// mailbox is an unbounded queue with one reader. What is bounded is the number
// of writers: calls in flight, timers, watchers.
type mailbox struct {
	mu     sync.Mutex
	queue  []message
	taken  []message // what the reader has
	closed bool
	ready  chan struct{} // holds one token while the queue is not empty
}

func newMailbox() mailbox { return mailbox{ready: make(chan struct{}, 1)} }

// put queues a message; false when nobody reads any more.
func (m *mailbox) put(msg message) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false
	}
	m.queue = append(m.queue, msg)
	select {
	case m.ready <- struct{}{}:
	default:
	}
	return true
}

// close refuses further messages and returns those that were not taken.
func (m *mailbox) close() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	left := m.queue
	m.queue = nil
	return left
}

// take waits for messages and returns all of them. They are good until the next take:
// their room is used again.
func (m *mailbox) take() []message {
	<-m.ready
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.taken)
	if cap(m.taken) > maxSpareMessages {
		m.taken = nil
	}
	m.queue, m.taken = m.taken[:0], m.queue
	return m.taken
}

// maxSpareMessages bounds the room that a queue keeps.
const maxSpareMessages = 64
