package interp

import (
	"container/heap"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// list is a step list that runs: the main steps, one item of a loop, or a
// handler.
type list struct {
	m      *Machine
	code   *listCode
	prefix string // of its steps' paths
	env    map[string]any
	known  map[string]any // env's steps: what expressions read as steps.x
	item   *item          // nil outside loops

	steps  []step
	ready  intHeap // places of steps whose needs have all ended
	left   int     // steps that have not ended
	queued bool    // stands among the Machine's dirty ones
	ended  bool
}

func (m *Machine) newList(code *listCode, prefix string, env map[string]any) *list {
	l := &list{m: m, code: code, prefix: prefix, env: env, steps: make([]step, len(code.steps))}
	l.known, _ = env[rootSteps].(map[string]any)
	for i := range l.steps {
		s := &l.steps[i]
		s.list, s.code, s.path = l, &code.steps[i], prefix+code.steps[i].step.ID
		s.status = runs.StepPending
	}
	l.count()
	return l
}

// count finds out anew what is left and what is ready.
func (l *list) count() {
	l.left, l.ready, l.ended = 0, l.ready[:0], false
	for i := range l.steps {
		s := &l.steps[i]
		if s.settled {
			continue
		}
		l.left++
		s.missing = 0
		for _, dep := range s.code.deps {
			if !l.steps[dep].settled {
				s.missing++
			}
		}
		if s.missing == 0 && s.status == runs.StepPending {
			l.ready = append(l.ready, i) // in order, so it is a heap
		}
	}
}

// enqueue asks the Machine to let the list go on.
func (l *list) enqueue() {
	if !l.queued {
		l.queued = true
		l.m.dirty = append(l.m.dirty, l)
	}
}

// advance begins what is ready, in file order, and ends the list when nothing
// is left.
func (l *list) advance() {
	l.queued = true // what ends meanwhile needs no place in the queue
	for len(l.ready) > 0 && l.live() {
		l.begin(&l.steps[heap.Pop(&l.ready).(int)])
	}
	l.queued = false
	if l.left > 0 || l.ended || !l.live() {
		return
	}
	l.ended = true
	if l.item != nil {
		l.item.listEnded()
	}
}

// live reports whether steps of the list may begin: main steps while the run
// goes on, handler steps after it has ended.
func (l *list) live() bool {
	if l.code.handler {
		return l.m.phase == handling
	}
	return l.m.phase == running
}

// settled notes that a step has ended, for those that follow it.
func (l *list) settled(s *step) {
	l.left--
	l.known[s.code.step.ID] = s.value()
	for _, place := range s.code.dependents {
		next := &l.steps[place]
		next.missing--
		if next.missing == 0 && next.status == runs.StepPending {
			heap.Push(&l.ready, place)
		}
	}
	l.enqueue()
}

// begin decides on a step whose needs have ended: run_if, then if, then its
// work.
func (l *list) begin(s *step) {
	upstream, cause := s.upstream()
	if upstream != upstreamFine && s.loop != nil {
		s.loop.abandon()
	}
	switch upstream {
	case upstreamBad:
		s.note = "follows " + cause + ", which did not succeed"
		s.settle(runs.StepBlocked)
		return
	case upstreamUnmet:
		s.note = "nothing that it needs has failed"
		s.settle(runs.StepSkipped)
		return
	}
	if s.loop != nil { // a resume goes on with it; its `if` was asked before
		s.status, s.attempts = runs.StepRunning, max(s.attempts, 1)
		l.m.touch(s)
		s.loop.advance()
		return
	}
	s.startedAt, s.waited = l.m.at, 0
	if condition := s.code.step.If; condition != nil {
		holds, err := l.m.condition(condition, l.env)
		if err != nil {
			s.fail(err)
			return
		}
		if !holds {
			s.settle(runs.StepSkipped)
			return
		}
	}
	s.status, s.attempts = runs.StepRunning, max(s.attempts, 1)
	l.m.touch(s)
	switch s.code.step.Kind {
	case plan.StepAction:
		s.startAction()
	case plan.StepLoop:
		s.startLoop()
	default:
		s.startLet()
	}
}

// firstFailure returns the failure that the list fails with: the first in file
// order, whatever order they came in. nil = it ended well.
func (l *list) firstFailure() *runs.Error {
	for i := range l.steps {
		if s := &l.steps[i]; s.bad() && s.err != nil {
			return s.err
		}
	}
	return nil
}

// intHeap is a heap of places, the first first.
type intHeap []int

func (h intHeap) Len() int           { return len(h) }
func (h intHeap) Less(i, j int) bool { return h[i] < h[j] }
func (h intHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *intHeap) Push(x any)        { *h = append(*h, x.(int)) }
func (h *intHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
