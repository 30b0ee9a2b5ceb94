package boltstore

import (
	"sync"

	"github.com/flowrun/flowrun/engine/store"
)

// The bounds of one commit, and of what may wait for it. The last one holds
// writers up: without it a flood would grow in memory.
const (
	maxGroupOps    = 256
	maxGroupBytes  = 1 << 20
	maxQueuedBytes = 64 << 20
)

// op is one unit of writing: all of it is in one transaction.
type op struct {
	size int // about how many bytes it writes
	work work
	err  error // of apply
}

// work is what an op does.
type work interface {
	// apply does the writes. An error must come before the first write: it is
	// the op's own answer and leaves the other ops of the transaction alone.
	// A *txError ends the store.
	apply(w *writer) (wrote bool, err error)

	// answer hears the op's own error, or that of the commit.
	answer(err error)
}

// call is work whose outcome somebody waits for, unless answered is nil.
type call struct {
	op
	write    func(w *writer) (wrote bool, err error)
	answered chan error
}

// newCall returns the work of a function. Its answer waits until it is received.
func newCall(size int, write func(w *writer) (bool, error)) *call {
	c := &call{write: write, answered: make(chan error, 1)}
	c.size, c.work = size, c
	return c
}

func (c *call) apply(w *writer) (bool, error) { return c.write(w) }

func (c *call) answer(err error) {
	if c.answered != nil {
		c.answered <- err
	}
}

// queue is the FIFO between the writers and the committer.
type queue struct {
	mu      sync.Mutex
	changed *sync.Cond
	ops     []*op
	taken   []*op // of the last commit: its memory is used again
	bytes   int
	last    int // ops of the last commit
	closed  bool
	failed  error
}

func (q *queue) init() { q.changed = sync.NewCond(&q.mu) }

// put queues an op. It waits while too much is queued. The error says that the
// store is closed or has stopped; done is not called then.
func (q *queue) put(o *op) error {
	q.mu.Lock()
	defer q.mu.Unlock()
	for q.bytes > maxQueuedBytes && !q.closed && q.failed == nil {
		q.changed.Wait()
	}
	if q.failed != nil {
		return q.failed
	}
	if q.closed {
		return store.ErrClosed
	}
	q.ops = append(q.ops, o)
	q.bytes += o.size
	q.changed.Broadcast()
	return nil
}

// take waits for ops and returns those of the next commit, none when the queue is
// closed and empty. They are good until the next take.
func (q *queue) take() []*op {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.ops) == 0 && !q.closed {
		q.changed.Wait()
	}
	q.gather()
	count, bytes := 0, 0
	for count < len(q.ops) && count < maxGroupOps {
		size := q.ops[count].size
		if count > 0 && bytes+size > maxGroupBytes {
			break
		}
		bytes += size
		count++
	}
	group := append(q.taken[:0], q.ops[:count]...)
	left := copy(q.ops, q.ops[count:])
	clear(q.ops[left:])
	q.ops, q.taken = q.ops[:left], group
	q.bytes -= bytes
	q.last = count
	q.changed.Broadcast()
	return group
}

// gatherCompany is of how many ops a commit was after which a single op is given company.
const gatherCompany = 8

// gatherLooks is how many looks one after the other must bring nothing until a group is
// whole. One is not enough: at each 61st turn Go's scheduler takes a goroutine from its
// global queue first, and that is the one that has just yielded.
const gatherLooks = 2

// gather lets the writers that can run at this moment add what they have, where several
// write at a time, until looks bring nothing: a commit costs about the same for one op
// and for all of them. It knows no time, and where nobody is ready to run it returns at
// once.
func (q *queue) gather() {
	if len(q.ops) < 2 && q.last < gatherCompany {
		return
	}
	for empty := 0; empty < gatherLooks && len(q.ops) < maxGroupOps && !q.closed; {
		seen := len(q.ops)
		q.mu.Unlock()
		yield()
		q.mu.Lock()
		if empty++; len(q.ops) > seen {
			empty = 0
		}
	}
}

// fail stops the queue and returns what still waited.
func (q *queue) fail(err error) []*op {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.failed = err
	waiting := q.ops
	q.ops, q.bytes = nil, 0
	q.changed.Broadcast()
	return waiting
}

func (q *queue) hasFailed() bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.failed != nil
}

// failure is why the queue takes nothing any more; nil while it does.
func (q *queue) failure() error {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.failed == nil && q.closed {
		return store.ErrClosed
	}
	return q.failed
}

func (q *queue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.closed = true
	q.changed.Broadcast()
}
