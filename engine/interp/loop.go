package interp

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// loop is a running foreach.
type loop struct {
	step     *step
	elements elements // by the places of the items
	items    []item
	waiting  []int // places of the items that are still to start, in order
	open     int   // items in flight
	done     int   // items that have ended, well or not
	errors   int
	stopped  bool // an item failed: no new one starts
	queued   bool
}

// itemState is where an item stands.
type itemState uint8

const (
	itemWaiting itemState = iota
	itemRunning
	itemSucceeded
	itemFailed
)

// item is one element of a loop. Its list is made when it starts.
type item struct {
	loop   *loop
	index  int
	key    string
	state  itemState
	list   *list
	result any // what collect gave
	err    *runs.Error
}

func (s *step) startLoop() {
	m, code := s.list.m, s.code.step.Loop
	value, failure := m.resolve(code.Foreach, nil, s.list.env)
	if failure != nil {
		s.fail(failure)
		return
	}
	values, ok := elementsOf(value)
	if !ok {
		s.fail(m.foreachFailure(s, "`foreach` takes a list, got "+schema.TypeOf(value), reasonExpression))
		return
	}
	values.batch = code.Batch
	if n, most := values.len(), m.program.workflow.LoopItems(); n > most {
		s.fail(m.tooManyItems(s, fmt.Sprintf("the list has %d items; a loop takes at most %d", n, most), most))
		return
	}
	l := &loop{step: s, elements: values, items: make([]item, values.len()), waiting: make([]int, values.len())}
	for i := range l.items {
		l.items[i] = item{loop: l, index: i}
		l.waiting[i] = i
	}
	if failure := l.nameItems(); failure != nil {
		s.fail(failure)
		return
	}
	s.loop, s.status = l, runs.StepRunning
	l.advance()
}

func (m *Machine) foreachFailure(s *step, message, reason string) *runs.Error {
	pos := s.code.step.Pos
	if x := s.code.step.Loop.Foreach.Expr; x != nil {
		pos = x.Pos
	}
	return &runs.Error{Kind: plan.KindInvalid, Reason: reason, Message: m.place(pos) + message}
}

// nameItems evaluates the keys: all of them before the first item starts.
func (l *loop) nameItems() *runs.Error {
	m, code := l.step.list.m, l.step.code.step.Loop
	key := code.KeyValue()
	if key.IsZero() {
		for i := range l.items {
			l.items[i].key = fmt.Sprint(i)
		}
		return nil
	}
	env := cloneEnv(l.step.list.env)
	places := make(map[string]int, len(l.items))
	for i := range l.items {
		env[code.As], env[nameIndex] = l.elements.at(i), i
		value, failure := m.resolve(key, nil, env)
		if failure != nil {
			return failure
		}
		text, err := eval.Text(value)
		if err != nil {
			return m.exprFailure(keyExpr(key), fmt.Errorf("key of item %d: %w", i, err))
		}
		if first, double := places[text]; double {
			failure := m.exprFailure(keyExpr(key), fmt.Errorf("items %d and %d have the same key %q", first, i, text))
			failure.Reason, failure.Hint = "duplicate_key", diag.Say("keys must be unique; uniqueBy(rows, \"field\") drops repeated rows")
			return failure
		}
		places[text] = i
		l.items[i].key = text
	}
	return nil
}

// keyExpr is the expression whose place stands for a key: its first one.
func keyExpr(key plan.Value) *plan.Expr {
	if key.Expr != nil {
		return key.Expr
	}
	for _, part := range key.Text {
		if part.Expr != nil {
			return part.Expr
		}
	}
	return &plan.Expr{}
}

func (l *loop) enqueue() {
	if !l.queued {
		l.queued = true
		l.step.list.m.dirty = append(l.step.list.m.dirty, l)
	}
}

// advance starts items while the window has room, and ends the loop when none
// is left.
func (l *loop) advance() {
	l.queued = true // items that end at once need no place in the queue
	window := max(1, l.step.code.step.Loop.MaxParallel)
	for l.open < window && len(l.waiting) > 0 && !l.stopped && l.step.list.live() {
		next := &l.items[l.waiting[0]]
		l.waiting = l.waiting[1:]
		next.start()
	}
	l.queued = false
	if l.open > 0 || l.step.settled || !l.step.list.live() || (len(l.waiting) > 0 && !l.stopped) {
		return
	}
	l.finish()
}

// start begins an item, or goes on with it after a resume.
func (it *item) start() {
	l := it.loop
	l.open++
	it.state, it.err = itemRunning, nil
	if it.list != nil {
		it.seeOuter()
		it.list.reset()
		it.list.advance()
		return
	}
	s := l.step
	prefix := runs.ItemPrefix(s.path, it.key)
	it.list = s.list.m.newList(s.code.loop.body, prefix, l.itemEnv(it.index))
	it.list.item = it
	it.list.advance()
}

// seeOuter shows an item that goes on the outer steps as they are now: some may
// have run again.
func (it *item) seeOuter() {
	outer, code := it.loop.step.list, it.loop.step.code.loop
	if !outer.m.since(2) {
		return
	}
	names := code.outer
	if code.all {
		names = names[:0:0]
		for i := range outer.steps {
			names = append(names, outer.steps[i].code.step.ID)
		}
	}
	for _, name := range names {
		if value, there := outer.known[name]; there {
			it.list.known[name] = value
		} else if !it.list.has(name) {
			delete(it.list.known, name)
		}
	}
}

func (l *list) has(id string) bool {
	for i := range l.steps {
		if l.steps[i].code.step.ID == id {
			return true
		}
	}
	return false
}

// abandon ends what the items of a loop have left: a resume has decided against
// the loop.
func (l *loop) abandon() {
	for i := range l.items {
		if it := &l.items[i]; it.list != nil && it.state != itemSucceeded {
			it.list.halt()
		}
	}
}

// dropWaiting ends what a resume left in items that never had their turn again:
// the loop has stopped before it.
func (l *loop) dropWaiting() {
	if !l.step.list.m.since(2) {
		return
	}
	for i := range l.items {
		if it := &l.items[i]; it.list != nil && it.state == itemWaiting {
			it.list.halt()
		}
	}
}

// listEnded ends the item when its steps have.
func (it *item) listEnded() {
	l := it.loop
	m := l.step.list.m
	it.err = it.list.firstFailure()
	if collect := l.step.code.step.Loop.Collect; it.err == nil && collect != nil {
		it.result, it.err = it.collect(collect)
	}
	l.open--
	l.done++
	if it.err != nil {
		it.state = itemFailed
		l.errors++
		l.stopped = l.stopped || !l.step.code.step.Loop.Collecting
	} else {
		it.state = itemSucceeded
		it.list.release()
	}
	m.touch(l.step)
	l.enqueue()
}

func (it *item) collect(collect *plan.Value) (any, *runs.Error) {
	result, failure := it.loop.step.list.m.resolve(*collect, nil, it.list.env)
	if failure == nil {
		_, failure = encodeResult(result)
	}
	if failure != nil {
		failure.Step = strings.TrimSuffix(it.list.prefix, ".")
		return nil, failure
	}
	return result, nil
}

// release drops what nobody reads of an item that succeeded.
func (l *list) release() {
	l.env, l.known = nil, nil
	for i := range l.steps {
		l.steps[i].setResult(nil)
		l.steps[i].action = nil
	}
}

// finish ends the loop: with its outputs, or with the failure of the first item
// in input order.
func (l *loop) finish() {
	if !l.stopped {
		l.step.succeed(l.outputs(), nil)
		return
	}
	l.dropWaiting()
	for i := range l.items {
		if l.items[i].state != itemFailed {
			continue
		}
		if l.step.list.m.since(3) {
			result := l.outputs()
			if raw, err := encodeResult(result); err == nil {
				l.step.setResult(result)
				l.step.outputs = raw
			}
		}
		l.step.fail(l.items[i].err)
		return
	}
}

// outputs are those of a loop with what has ended so far: what succeeded must
// not be lost to those who report or compensate a failure.
func (l *loop) outputs() map[string]any {
	items, failures := []any{}, []any{}
	for i := range l.items {
		switch it := &l.items[i]; it.state {
		case itemSucceeded:
			items = append(items, it.result)
		case itemFailed:
			failures = append(failures, map[string]any{
				"key": it.key, "index": it.index, "kind": string(it.err.Kind), "message": it.err.Message,
			})
		}
	}
	return map[string]any{"items": items, "errors": failures}
}
