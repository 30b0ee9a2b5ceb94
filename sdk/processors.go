package sdk

import (
	"runtime"
	"sync/atomic"
	"time"
)

// The process of a plugin begins with one processor of Go's scheduler: what a call wakes
// runs where it was woken, and nothing is sent to another thread, which is half of what a
// short call costs. A plugin that computes gets what Go would have given it.

const (
	firstLook = 50 * time.Millisecond // how long after a call begins its process is looked at
	lastLook  = time.Second           // the longest time between two looks
)

// processors decides how many processors the process has. A nil one decides nothing.
type processors struct {
	most  int                                   // what Go takes by itself
	set   func(int)                             // runtime.GOMAXPROCS
	spent func() time.Duration                  // processor time of the process
	now   func() time.Time                      // of the same clock as after
	after func(wait time.Duration, look func()) // calls look once

	calls   atomic.Int64 // in flight
	watched atomic.Bool  // a look is to come

	// Of the look that is to come: one goroutine at a time has them.
	wait   time.Duration
	at     time.Time
	before time.Duration
	many   bool // the process has most
}

// fewProcessors gives the process one processor, unless somebody has said how many it
// has: the environment (GOMAXPROCS), or the author by runtime.GOMAXPROCS before Serve.
func fewProcessors(environment string, now func() time.Time) *processors {
	if environment != "" || !tellsProcessorTime {
		return nil
	}
	said := runtime.GOMAXPROCS(0)
	runtime.SetDefaultGOMAXPROCS()
	most := runtime.GOMAXPROCS(0)
	if said != most {
		runtime.GOMAXPROCS(said)
		return nil
	}
	if most == 1 {
		return nil // Go may learn of more later
	}
	p := &processors{
		most: most, set: func(n int) { runtime.GOMAXPROCS(n) }, spent: processorTime, now: now,
		after: func(wait time.Duration, look func()) { time.AfterFunc(wait, look) },
	}
	p.set(1)
	return p
}

// begin is told of each call that begins, and its answer of its end.
func (p *processors) begin() (end func()) {
	if p == nil {
		return func() {}
	}
	p.calls.Add(1)
	if !p.watched.Load() {
		p.watch()
	}
	return p.end
}

func (p *processors) end() { p.calls.Add(-1) }

func (p *processors) watch() {
	if p.watched.CompareAndSwap(false, true) {
		p.wait, p.at, p.before = firstLook, p.now(), p.spent()
		p.after(p.wait, p.look)
	}
}

// look gives the process more where it has used all that it had, and takes it back where
// it does not. While there are calls, or it computes, it looks again: less often
// while nothing is to be done.
func (p *processors) look() {
	now, spent := p.now(), p.spent()
	took, used := now.Sub(p.at), spent-p.before
	switch {
	case !p.many && used > took*3/4:
		p.many, p.wait = true, lastLook
		p.set(p.most)
	case p.many && used < took/2:
		p.many, p.wait = false, firstLook
		p.set(1)
	case !p.many:
		p.wait = min(2*p.wait, lastLook)
	}
	if p.many || p.calls.Load() > 0 || used > took/10 {
		p.at, p.before = now, spent
		p.after(p.wait, p.look)
		return
	}
	p.watched.Store(false)
	if p.calls.Load() > 0 {
		p.watch()
	}
}
