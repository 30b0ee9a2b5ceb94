package local

import (
	"sync"
	"sync/atomic"
	"time"
)

// maxSpareWorkers bounds the goroutines that wait for something to do: as many as a busy
// engine ends and begins between two looks of the processors. Their stacks, which the
// collector makes smaller while they wait, are a megabyte or two.
const maxSpareWorkers = 128

// spareFor is how long one of them waits at most: an engine that has nothing to do has none.
const spareFor = time.Second

// workers are the goroutines of a Driver: one drives a run, makes a call or serves a
// watcher. One that has ended waits for the next thing to do, since a new goroutine grows
// its stack by copying it three or four times on its way down to a plugin or into the
// Machine. Safe for concurrent use.
type workers struct {
	busy  sync.WaitGroup
	next  chan func() // what a spare one is to do
	spare atomic.Int64
	end   chan struct{}
	once  sync.Once
}

func newWorkers() *workers { return &workers{next: make(chan func()), end: make(chan struct{})} }

// Go does something on a goroutine.
func (w *workers) Go(do func()) {
	w.busy.Add(1)
	select {
	case w.next <- do:
	default: // none is spare
		go w.work(do)
	}
}

// Wait waits until all that was begun has ended.
func (w *workers) Wait() { w.busy.Wait() }

// close ends the spare ones, and lets none be spare any more. Go still works.
func (w *workers) close() { w.once.Do(func() { close(w.end) }) }

func (w *workers) work(do func()) {
	late := time.NewTimer(spareFor)
	defer late.Stop()
	for do != nil {
		w.do(do)
		do = w.rest(late)
	}
}

// do is apart so that who waits for the end hears of it in any case.
func (w *workers) do(do func()) {
	defer w.busy.Done()
	do()
}

// rest waits for the next thing to do; nil where enough others wait, when it is late, and
// at the end.
func (w *workers) rest(late *time.Timer) func() {
	if w.spare.Add(1) > maxSpareWorkers {
		w.spare.Add(-1)
		return nil
	}
	defer w.spare.Add(-1)
	late.Reset(spareFor)
	select {
	case do := <-w.next:
		return do
	case <-late.C:
		return nil
	case <-w.end:
		return nil
	}
}
