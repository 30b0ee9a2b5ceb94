package simulation

import (
	"slices"
	"strconv"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// mcall is how far a call is. It outlives a failure: a resume goes on with the
// round, window and page where it stopped.
type mcall struct {
	n          int
	attempt    int
	checkpoint string
	round      int
	page       int
	cursor     string
	seen       []string
	pages      int
	items      []any
	restarted  int // the window, from 1, in which a cursor expired
	window     int // from 0
	kept       int // items of the windows before
	keptPages  int
	mark       string
}

func (m *model) startCall(s *mstep) {
	if s.call == nil {
		n := 0
		if s.node.n != nil && s.node.days == 0 {
			v, ok := s.node.n.value(s.scope(m))
			if !ok {
				m.fail(s, plan.KindInvalid, "expression")
				return
			}
			n = v.(int)
		}
		s.call = &mcall{n: n, attempt: 1, round: 1, page: 1}
	}
	for !s.settled && !s.parked {
		m.send(s)
	}
}

func (s *mstep) operation() string {
	c, path := s.call, s.path
	if c.round > 1 {
		path += "#round" + strconv.Itoa(c.round)
	}
	if c.window > 0 {
		path += "#window" + strconv.Itoa(c.window+1)
	}
	if c.restarted == c.window+1 {
		path += "#restart"
	}
	if c.page > 1 {
		path += "#page" + strconv.Itoa(c.page)
	}
	return path
}

// send makes one call and goes on by its answer.
func (m *model) send(s *mstep) {
	c := s.call
	ask := asked{
		path: s.operation(), action: s.node.action, attempt: c.attempt, checkpoint: c.checkpoint, cursor: c.cursor, n: c.n, era: m.era,
	}
	r := m.world.reply(ask)
	effect := m.effect(s, ask.path, s.node.effect())
	effect.sends++
	if effect.effect != "read" && m.world.happened(ask) {
		effect.applied++
	}
	switch {
	case r.pending:
		c.checkpoint, c.attempt = r.checkpoint, 1
	case r.silent:
		m.failed(s, ask, reply{kind: plan.KindTimeout, applied: runs.AppliedUnknown})
	case r.broken:
		m.failed(s, ask, reply{kind: plan.KindUnexpectedResponse})
	case r.kind != "":
		m.failed(s, ask, r)
	default:
		m.completed(s, r)
	}
}

// failed is rules 10 and 11.
func (m *model) failed(s *mstep, ask asked, r reply) {
	c := s.call
	if r.kind == plan.KindCursorExpired && s.node.paged() && c.cursor != "" && c.restarted == 0 {
		c.restarted, c.page, c.cursor, c.seen, c.attempt, c.checkpoint = c.window+1, 1, "", nil, 1, ""
		c.pages, c.items = c.keptPages, c.items[:c.kept:c.kept]
		return
	}
	attempts, on := 4, plan.DefaultRetryKinds()
	if p := s.node.retry; p != nil {
		attempts = p.attempts
		if p.on != nil {
			on = nil
			for _, kind := range p.on {
				on = append(on, plan.ErrorKind(kind))
			}
		}
	}
	covered := slices.Contains(on, r.kind) && c.attempt < attempts
	if s.node.effect() == "once" && !m.rules.onceRepeats {
		m.failedOnce(s, ask, r, covered, c.attempt < attempts)
		return
	}
	if covered {
		c.attempt++
		return
	}
	m.fail(s, r.kind, "")
}

// failedOnce is rule 11 for a call that is not safe to repeat.
func (m *model) failedOnce(s *mstep, ask asked, r reply, covered, left bool) {
	explicit := s.node.retry != nil
	refused := slices.Contains([]plan.ErrorKind{
		plan.KindInvalid, plan.KindUnauthorized, plan.KindAuthRequired, plan.KindForbidden, plan.KindNotFound,
	}, r.kind)
	ended := slices.Contains([]plan.ErrorKind{
		plan.KindConflict, plan.KindQuotaExhausted, plan.KindDenied, plan.KindExpired, plan.KindCursorExpired, plan.KindUnsupported,
	}, r.kind)
	switch {
	case r.kind == plan.KindRateLimited:
		if explicit && covered {
			s.call.attempt++
			return
		}
		m.fail(s, r.kind, "")
	case r.applied == runs.NotApplied, refused:
		if covered {
			s.call.attempt++
			return
		}
		m.fail(s, r.kind, "")
	case ended:
		m.fail(s, r.kind, "")
	case r.kind == plan.KindUnavailable && r.http == 503 && explicit:
		if covered {
			s.call.attempt++
			return
		}
		m.unknown(s, ask, r, false, false)
	default:
		m.unknown(s, ask, r, left, covered)
	}
}

// unknown is an outcome that nobody knows. The plugin looks it up, where it can,
// else a person does.
func (m *model) unknown(s *mstep, ask asked, r reply, left, covered bool) {
	happened := m.world.happened(ask)
	if s.node.action == "svc.pay" {
		switch {
		case happened:
			m.completed(s, m.world.good(ask))
		case covered:
			s.call.attempt++
		default:
			m.fail(s, r.kind, "")
		}
		return
	}
	unknown, asks := s.node.unknown, !s.list.handler && s.reaction(plan.KindUnknownOutcome) == "pause"
	switch {
	case unknown == "retry" && left:
		s.call.attempt++
	case (unknown == "retry" || unknown == "fail") && !asks:
		m.fail(s, plan.KindUnknownOutcome, "")
	default:
		if happened {
			m.completed(s, m.world.good(ask))
			return
		}
		s.err = nil
		s.settle(runs.StepSkipped)
	}
}

// completed takes one answer: a page, or all of it.
func (m *model) completed(s *mstep, r reply) {
	c := s.call
	c.checkpoint = ""
	if s.node.cursor != "" {
		c.mark = r.mark
	}
	if s.node.paged() {
		m.pageDone(s, r)
		return
	}
	m.roundDone(s, map[string]any{"value": r.value})
}

// pageDone is rule 12.
func (m *model) pageDone(s *mstep, r reply) {
	c, n := s.call, s.node
	windows := 1
	if n.days > 7 {
		windows = (n.days + 6) / 7
	}
	before, pages := slices.Clip(c.items), c.pages
	defer func() {
		if !s.settled && !s.parked || s.status == runs.StepSucceeded {
			return
		}
		c.items, c.pages = before, pages // a resume reads this page again
	}()
	c.items = append(before, r.rows...)
	c.pages++
	if len(c.items) > n.maxItems {
		c.items = c.items[:n.maxItems]
		m.pagesDone(s, c.cursor, true, windows)
		return
	}
	more := r.next != "" || c.window+1 < windows
	switch {
	case more && (c.pages >= n.pages || len(c.items) == n.maxItems):
		m.pagesDone(s, r.next, true, windows)
	case r.next != "":
		if r.next == c.cursor || slices.Contains(c.seen, r.next) {
			m.fail(s, plan.KindUnexpectedResponse, "repeated_cursor")
			return
		}
		c.seen, c.page, c.cursor, c.attempt = append(c.seen, r.next), c.page+1, r.next, 1
	case more:
		c.window++
		c.page, c.cursor, c.seen, c.attempt = 1, "", nil, 1
		c.kept, c.keptPages = len(c.items), c.pages
	default:
		m.pagesDone(s, "", false, windows)
	}
}

func (m *model) pagesDone(s *mstep, next string, truncated bool, windows int) {
	c := s.call
	if truncated && s.node.cursor != "" {
		m.fail(s, plan.KindInvalid, "limit")
		return
	}
	outputs := map[string]any{"items": slices.Clone(c.items), "next_cursor": nil, "pages": c.pages, "truncated": truncated}
	if len(c.items) == 0 {
		outputs["items"] = []any{}
	}
	if next != "" {
		outputs["next_cursor"] = next
	}
	if s.node.days > 0 {
		outputs["windows"] = windows
	}
	m.roundDone(s, outputs)
}

func (m *model) roundDone(s *mstep, outputs map[string]any) {
	c, n := s.call, s.node
	if n.until != nil {
		scope := s.scope(m)
		scope.result = outputs
		done, _ := n.until.value(scope)
		switch {
		case done == true:
		case n.rounds > 0 && c.round >= n.rounds:
			m.fail(s, plan.KindTimeout, "max")
			return
		default:
			c.round, c.attempt = c.round+1, 1
			return
		}
	}
	if n.cursor != "" && c.mark != "" {
		m.marks[n.cursor] = c.mark
	}
	s.succeed(outputs)
}
