package local

import (
	"sync"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// message is what a run's worker is told: one of its fields is set.
type message struct {
	event     *journal.Event
	answerTo  *journal.Command // with event: the command that it answers; dropped when that is no longer open
	committed *commit
	log       *plan.Log
	wait      *limiterWait
	inspect   func(*run) // runs on the worker when all before it is durable
	stop      bool
}

// mailbox is an unbounded queue with one reader. What is bounded is the number
// of writers: calls in flight, timers, watchers.
type mailbox struct {
	mu    sync.Mutex
	queue []message
	ready chan struct{} // holds one token while the queue is not empty
}

func newMailbox() *mailbox { return &mailbox{ready: make(chan struct{}, 1)} }

func (m *mailbox) put(msg message) {
	m.mu.Lock()
	m.queue = append(m.queue, msg)
	m.mu.Unlock()
	select {
	case m.ready <- struct{}{}:
	default:
	}
}

// take waits for messages and returns all of them.
func (m *mailbox) take() []message {
	<-m.ready
	m.mu.Lock()
	defer m.mu.Unlock()
	queue := m.queue
	m.queue = nil
	return queue
}
