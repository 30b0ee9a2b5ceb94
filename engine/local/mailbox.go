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

// mailbox is an unbounded queue with at most one reader at a time. What is bounded is the
// number of writers: calls in flight, timers, watchers.
type mailbox struct {
	workers *workers
	reader  func()

	mu     sync.Mutex
	queue  []message
	taken  []message // what the reader has
	read   bool      // there is a reader, or one comes
	closed bool
}

// newMailbox returns a mailbox that has a reader. reader is begun anew when that has left.
func newMailbox(workers *workers, reader func()) mailbox {
	return mailbox{workers: workers, reader: reader, read: true}
}

// put queues a message; false when it is not read any more.
func (m *mailbox) put(msg message) bool {
	queued, first := m.add(msg)
	if first {
		m.workers.Go(m.reader)
	}
	return queued
}

// enter queues a message and makes the caller the reader; false when there is one, or the
// message is not read any more.
func (m *mailbox) enter(msg message) bool {
	_, first := m.add(msg)
	return first
}

// add queues a message. first = there was no reader, and the caller sees to one.
func (m *mailbox) add(msg message) (queued, first bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return false, false
	}
	m.queue = append(m.queue, msg)
	first, m.read = !m.read, true
	return true, first
}

// leave ends the reading, unless there is something to be read.
func (m *mailbox) leave() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.read = len(m.queue) > 0
	return !m.read
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

// take returns all messages, which are good until the next take: their room is used again.
// nil = there are none, and the caller is the reader no more.
func (m *mailbox) take() []message {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queue) == 0 {
		m.read = false
		return nil
	}
	clear(m.taken)
	if cap(m.taken) > maxSpareMessages {
		m.taken = nil
	}
	m.queue, m.taken = m.taken[:0], m.queue
	return m.taken
}

// maxSpareMessages bounds the room that a queue keeps.
const maxSpareMessages = 64
