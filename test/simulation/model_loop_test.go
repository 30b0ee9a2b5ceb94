package simulation

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

type mloop struct {
	items   []*mitem
	stopped bool
}

type mitem struct {
	key       string
	value     any
	list      *mlist
	succeeded bool
	err       *merror
	result    any
}

func (l *mloop) reset() {
	l.stopped = false
	for _, item := range l.items {
		item.err = nil
		if item.list != nil && !item.succeeded {
			item.list.reset()
		}
	}
}

func (m *model) startLoop(s *mstep) {
	values, ok := s.node.items.value(s.scope(m))
	if !ok {
		m.fail(s, plan.KindInvalid, "expression")
		return
	}
	l := &mloop{}
	seen := map[string]bool{}
	for i, v := range values.([]any) {
		key := fmt.Sprint(i)
		if s.node.key != nil {
			scope := s.scope(m)
			scope.items = map[string]any{s.name(): v}
			scope.index = i
			k, _ := s.node.key.value(scope)
			key = k.(string)
		}
		if seen[key] {
			m.fail(s, plan.KindInvalid, "duplicate_key")
			return
		}
		seen[key] = true
		l.items = append(l.items, &mitem{key: key, value: v})
	}
	s.loop = l
	m.advance(s)
}

func (s *mstep) name() string {
	if s.node.as != "" {
		return s.node.as
	}
	return "item"
}

// advance does the items one after the other. An item that waits for a person
// keeps its place among those that are in flight.
func (m *model) advance(s *mstep) {
	l, waiting := s.loop, 0
	optional := s.list.optional
	for i, item := range l.items {
		if item.succeeded || item.err != nil {
			continue
		}
		if waiting >= s.node.parallel {
			break
		}
		if l.stopped && s.node.parallel == 1 {
			break
		}
		if item.list == nil {
			item.list = m.list(s.node.body, s.list, s.path+"["+escapeKey(item.key)+"].")
			item.list.index, item.list.items[s.name()] = i, item.value
		}
		item.list.optional = optional || l.stopped
		m.evaluate(item.list)
		if !item.list.settled() {
			waiting++
			continue
		}
		m.ended(s, item)
		if item.err != nil && (!s.node.collects || m.rules.collectStops) {
			l.stopped = true
		}
	}
	if waiting > 0 {
		s.status = runs.StepRunning
		return
	}
	m.loopDone(s)
}

func (m *model) ended(s *mstep, item *mitem) {
	for _, step := range item.list.steps {
		if step.bad() && step.err != nil {
			item.err = step.err
			return
		}
	}
	if s.node.collect != nil {
		result, ok := s.node.collect.value(&scope{flow: m.flow, list: item.list, items: item.list.items, index: item.list.index})
		if !ok {
			item.err = &merror{plan.KindInvalid, "expression"}
			return
		}
		item.result = result
	}
	item.succeeded = true
}

func (m *model) loopDone(s *mstep) {
	l := s.loop
	if !l.stopped {
		s.succeed(l.outputs())
		return
	}
	for _, item := range l.items {
		if item.err != nil {
			s.outputs = l.outputs() // of what had ended in it
			m.fail(s, item.err.kind, item.err.reason)
			return
		}
	}
	s.succeed(l.outputs())
}

func (l *mloop) outputs() map[string]any {
	items, failures := []any{}, []any{}
	for i, item := range l.items {
		switch {
		case item.succeeded:
			items = append(items, item.result)
		case item.err != nil:
			failures = append(failures, map[string]any{"key": item.key, "index": i, "kind": string(item.err.kind)})
		}
	}
	return map[string]any{"items": items, "errors": failures}
}
