package simulation

import (
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// The model is a second reading of docs/language.md's rules 1, 8 to 12, 14, 20 and 25,
// as simple as it can be: it knows no time, no events and no journal, evaluates
// the steps one after the other, and asks the calm world for each answer. What it
// comes to is what every schedule and every crash must come to.
type model struct {
	flow  *flow
	world *world
	era   int
	rules rules

	main     *mlist
	handlers []*mlist
	ends     int
	status   runs.Status
	outputs  map[string]any
	state    map[string]any
	marks    map[string]string
	effects  map[string]*meffect // by operation path
}

// rules can be mutated: a negative control.
type rules struct {
	blockedRuns    bool // a step runs although one that it needs failed
	continueBlocks bool
	onceRepeats    bool
	collectStops   bool
}

// meffect counts what is asked of services with one operation.
type meffect struct {
	effect   string
	sends    int
	applied  int
	optional bool // it depends on the schedule whether it is asked for at all
}

type merror struct {
	kind   plan.ErrorKind
	reason string
}

// mlist is a step list that the model evaluates.
type mlist struct {
	outer    *mlist
	prefix   string
	steps    []*mstep
	byID     map[string]*mstep
	items    map[string]any
	index    int
	handler  bool
	optional bool
}

type mstep struct {
	node    *node
	list    *mlist
	path    string
	deps    []*mstep
	status  runs.StepStatus
	settled bool
	parked  bool

	continued bool
	err       *merror
	outputs   any
	call      *mcall
	loop      *mloop
}

func predict(f *flow, w *world, mutation rules) *model {
	m := &model{flow: f, world: w, rules: mutation, effects: map[string]*meffect{}, state: map[string]any{}, marks: map[string]string{}}
	m.main = m.list(f.steps, nil, "")
	for {
		m.evaluate(m.main)
		if m.main.settled() {
			m.end()
			if m.status == runs.RunSucceeded || !m.world.wantsResume(m.era) {
				return m
			}
		} else {
			m.status = runs.RunPaused
			if !f.resumable || m.era == lastEra {
				return m
			}
		}
		m.era++
		m.handlers = nil // they run again at the new end
		m.main.reset()
	}
}

func (m *model) list(nodes []*node, outer *mlist, prefix string) *mlist {
	l := &mlist{outer: outer, prefix: prefix, byID: map[string]*mstep{}, items: map[string]any{}}
	if outer != nil {
		l.handler, l.optional = outer.handler, outer.optional
		for name, value := range outer.items {
			l.items[name] = value
		}
	}
	for _, n := range nodes {
		s := &mstep{node: n, list: l, path: prefix + n.id, status: runs.StepPending}
		l.steps, l.byID[n.id] = append(l.steps, s), s
	}
	for i, s := range l.steps {
		needs := s.node.needs
		if !s.node.hasNeeds && i > 0 {
			needs = []string{l.steps[i-1].node.id}
		}
		for _, ids := range [][]string{needs, s.node.reads} {
			for _, id := range ids {
				if dep := l.byID[id]; dep != nil {
					s.deps = append(s.deps, dep)
				}
			}
		}
	}
	return l
}

func (l *mlist) settled() bool {
	for _, s := range l.steps {
		if !s.settled {
			return false
		}
	}
	return true
}

// evaluate does what can be done now, in any order: rule 1 alone says what
// follows what.
func (m *model) evaluate(l *mlist) {
	for again := true; again; {
		again = false
		for _, s := range l.steps {
			if s.settled || s.parked || !s.ready() {
				continue
			}
			m.begin(s)
			again = again || s.settled
		}
	}
}

func (s *mstep) ready() bool {
	for _, dep := range s.deps {
		if !dep.settled {
			return false
		}
	}
	return true
}

func (s *mstep) bad() bool {
	switch s.status {
	case runs.StepFailed:
		return !s.continued
	case runs.StepBlocked, runs.StepUnknown, runs.StepCanceled:
		return true
	}
	return false
}

func (s *mstep) settle(status runs.StepStatus) { s.status, s.settled, s.parked = status, true, false }

func (s *mstep) succeed(outputs any) {
	s.outputs, s.err = outputs, nil
	s.settle(runs.StepSucceeded)
}

func (s *mstep) scope(m *model) *scope {
	return &scope{flow: m.flow, list: s.list, items: s.list.items, index: s.list.index}
}

// begin decides on a step: rule 8, then `if`, then its work.
func (m *model) begin(s *mstep) {
	bad, failed := false, false
	for _, dep := range s.deps {
		bad = bad || dep.bad() || m.rules.continueBlocks && dep.continued
		failed = failed || dep.bad() || dep.continued
	}
	switch s.node.runIf {
	case "any":
	case "failed":
		if !failed {
			s.settle(runs.StepSkipped)
			return
		}
	default:
		if bad && !m.rules.blockedRuns {
			s.settle(runs.StepBlocked)
			return
		}
	}
	if s.loop != nil { // a resume goes on where it stopped
		m.advance(s)
		return
	}
	if s.node.cond != nil {
		holds, ok := s.node.cond.value(s.scope(m))
		if !ok {
			m.fail(s, plan.KindInvalid, "expression")
			return
		}
		if holds == false {
			s.settle(runs.StepSkipped)
			return
		}
	}
	m.work(s)
}

func (m *model) work(s *mstep) {
	switch s.node.kind {
	case nodeLoop:
		m.startLoop(s)
		return
	case nodeCall:
		m.startCall(s)
		return
	case nodeSleep:
		if !s.node.past && s.node.timeout > 0 && s.node.timeout < s.node.sleep {
			m.fail(s, plan.KindTimeout, "timeout")
			return
		}
		if s.list.handler && !s.node.past && s.node.timeout == 0 && s.node.sleep.Minutes() > 5 {
			m.fail(s, plan.KindTimeout, "timeout") // a handler's step has 5 minutes
			return
		}
		s.succeed(map[string]any{})
		return
	case nodeFail:
		m.fail(s, plan.ErrorKind(s.node.fails), "")
		return
	case nodeApprove, nodeWait:
		m.answer(s)
		return
	}
	v, ok := s.node.n.value(s.scope(m))
	if !ok {
		m.fail(s, plan.KindInvalid, "expression")
		return
	}
	switch s.node.kind {
	case nodeLet:
		s.succeed(map[string]any{"v": v})
	case nodeSet:
		m.state["total"] = v
		s.succeed(map[string]any{})
	case nodeLog:
		s.succeed(map[string]any{})
	case nodeAssert:
		if v == false {
			m.fail(s, plan.KindInvalid, "assertion")
			return
		}
		s.succeed(map[string]any{})
	case nodeChild:
		if s.call == nil {
			s.call = &mcall{n: v.(int)} // a resume goes on with the same run
		}
		m.child(s, s.call.n)
	}
}

func (m *model) answer(s *mstep) {
	word := m.world.word(s.node, s.path, m.era)
	switch {
	case word.nobody:
		m.fail(s, plan.KindTimeout, "timeout")
	case word.reject:
		m.fail(s, plan.KindDenied, "rejected")
	case s.node.kind == nodeApprove:
		s.succeed(map[string]any{"label": word.v})
	default:
		s.succeed(map[string]any{"payload": map[string]any{"v": word.v}})
	}
}

func (m *model) child(s *mstep, n int) {
	end := m.world.child(s.path, n, m.era)
	m.effect(s, s.path, "child").sends++
	switch {
	case end.paused:
		s.status, s.parked = runs.StepWaiting, true
	case end.kind != "":
		m.fail(s, end.kind, "")
	default:
		s.succeed(map[string]any{"out": end.out})
	}
}

// fail is rule 9.
func (m *model) fail(s *mstep, kind plan.ErrorKind, reason string) {
	s.err = &merror{kind, reason}
	switch reaction := s.reaction(kind); {
	case reaction == "continue":
		s.continued = true
	case reaction == "pause" && !s.list.handler:
		s.status, s.parked = runs.StepFailed, true
		return
	}
	s.settle(runs.StepFailed)
}

// reaction is what the step does about a failure: "" = it fails.
func (s *mstep) reaction(kind plan.ErrorKind) string {
	reaction, written := s.node.onKind[string(kind)]
	if !written {
		reaction = s.node.onAll
	}
	isAction := s.node.kind != nodeLoop && s.node.kind != nodeLet && s.node.kind != nodeSet
	if reaction == "" && kind == plan.KindAuthRequired && isAction {
		reaction = "pause"
	}
	return reaction
}

// reset is a resume: what has ended well stays.
func (l *mlist) reset() {
	for _, s := range l.steps {
		if s.settled && !s.bad() {
			continue
		}
		if s.call != nil {
			s.call.checkpoint, s.call.attempt = "", 1
		}
		s.settled, s.parked, s.continued, s.err, s.outputs, s.status = false, false, false, nil, nil, runs.StepPending
		if s.loop != nil {
			s.loop.reset()
		}
	}
}

// end gives the run its status and lets its handlers run: rule 25.
func (m *model) end() {
	m.ends++
	m.status, m.outputs = runs.RunSucceeded, map[string]any{}
	for _, s := range m.main.steps {
		if s.bad() {
			m.status = runs.RunFailed
		}
	}
	scope := &scope{flow: m.flow, list: m.main}
	for _, o := range m.flow.output {
		value, ok := o.e.value(scope)
		if !ok {
			m.status = runs.RunFailed
		}
		m.outputs[o.name] = value
	}
	if m.status != runs.RunSucceeded {
		m.outputs = nil
	}
	m.handlers = nil
	if m.status == runs.RunSucceeded {
		m.handler("on_success", m.flow.good)
	} else {
		m.handler("on_failure", m.flow.bad)
	}
	m.handler("finally", m.flow.end)
}

func (m *model) handler(name string, nodes []*node) {
	if len(nodes) == 0 {
		return
	}
	if m.ends > 1 {
		name += fmt.Sprintf("@%d", m.ends)
	}
	l := m.list(nodes, nil, name+":")
	l.handler = true
	m.evaluate(l)
	m.handlers = append(m.handlers, l)
}

func (m *model) effect(s *mstep, path, effect string) *meffect {
	e := m.effects[path]
	if e == nil {
		e = &meffect{effect: effect}
		m.effects[path] = e
	}
	e.optional = s.list.optional
	return e
}

// each visits the steps that the model came to, those of loops behind the loop.
func (l *mlist) each(visit func(*mstep)) {
	for _, s := range l.steps {
		visit(s)
		if s.loop == nil {
			continue
		}
		for _, item := range s.loop.items {
			if item.list != nil {
				item.list.each(visit)
			}
		}
	}
}

// escapeKey is how paths write a loop's key.
func escapeKey(key string) string {
	return strings.NewReplacer("%", "%25", "[", "%5B", "]", "%5D", "#", "%23", "!", "%21").Replace(key)
}
