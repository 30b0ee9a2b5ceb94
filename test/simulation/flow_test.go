package simulation

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// flow is a generated workflow: what the YAML file says, and what the model goes
// by. The model never sees the checker's plan.
type flow struct {
	seed    uint64
	calm    bool // one outcome, whatever the schedule: see generate
	n       int  // inputs.n
	timeout time.Duration
	state   bool
	steps   []*node
	good    []*node // on_success
	bad     []*node // on_failure
	end     []*node // finally
	output  []namedExpr

	resumable bool // the calm person resumes it
	crashSafe bool // a crash changes nothing: no once call that fails by it
	waits     bool // for signals or approvals that the clock must not overtake
}

type namedExpr struct {
	name string
	e    *expr
}

type nodeKind string

const (
	nodeCall    nodeKind = "call"
	nodeLet     nodeKind = "let"
	nodeLoop    nodeKind = "loop"
	nodeSet     nodeKind = "set_state"
	nodeSleep   nodeKind = "sleep"
	nodeFail    nodeKind = "fail"
	nodeAssert  nodeKind = "assert"
	nodeLog     nodeKind = "log"
	nodeApprove nodeKind = "approve"
	nodeWait    nodeKind = "wait"
	nodeChild   nodeKind = "child"
)

// node is a step as it is written.
type node struct {
	id       string
	kind     nodeKind
	needs    []string // written ones, where hasNeeds
	hasNeeds bool
	reads    []string // steps of the same list that its expressions read
	runIf    string
	cond     *expr
	onAll    string            // on_error as one word
	onKind   map[string]string // on_error by kind
	unknown  string            // on_unknown

	action   string // svc.read, ...
	n        *expr  // with.n of a call or a child, the value of let and set_state, that of assert
	retry    *policy
	timeout  time.Duration
	within   time.Duration
	pages    int // paginate
	maxItems int
	days     int // of a range that may be cut
	until    *expr
	every    time.Duration
	rounds   int
	cursor   string // incremental
	cache    time.Duration
	fails    string // kind of core.fail
	sleep    time.Duration
	past     bool   // core.sleep until a time that is over
	match    bool   // core.wait with match
	signal   string // of core.wait, without the index of a loop's item

	// A loop.
	items    *expr
	key      *expr
	as       string
	parallel int
	collects bool // on_error: collect
	collect  *expr
	body     []*node
}

// policy is a written retry.
type policy struct {
	attempts int
	delay    time.Duration
	jitter   string
	on       []string // nil = the defaults
}

func (n *node) effect() string {
	switch n.action {
	case "svc.put":
		return "idempotent"
	case "svc.post":
		return "keyed"
	case "svc.send", "svc.pay":
		return "once"
	}
	return "read"
}

func (n *node) paged() bool { return n.pages > 0 }

// each visits the steps of a list and of the loops in it.
func each(steps []*node, visit func(*node)) {
	for _, n := range steps {
		visit(n)
		each(n.body, visit)
	}
}

// each visits every step of the flow.
func (f *flow) each(visit func(*node)) {
	for _, list := range [][]*node{f.steps, f.good, f.bad, f.end} {
		each(list, visit)
	}
}

// yaml writes the flow as a user would.
func (f *flow) yaml() string {
	w := &writer{}
	w.line(0, "flowrun: v1")
	w.line(0, "name: simulated")
	w.line(0, "inputs:")
	w.line(1, "n: {type: integer, default: 3}")
	w.line(0, "timeout: %s", f.timeout)
	if f.state {
		w.line(0, "state:")
		w.line(1, "total: {type: integer, default: 0}")
	}
	w.list("steps", f.steps)
	if len(f.output) > 0 {
		w.line(0, "outputs:")
		for _, o := range f.output {
			w.line(1, "%s: %s", o.name, quoted(o.e.hole()))
		}
	}
	w.list("on_success", f.good)
	w.list("on_failure", f.bad)
	w.list("finally", f.end)
	return w.b.String()
}

type writer struct{ b strings.Builder }

func (w *writer) line(depth int, format string, args ...any) {
	w.b.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&w.b, format, args...)
	w.b.WriteByte('\n')
}

func (w *writer) list(name string, steps []*node) {
	if len(steps) == 0 {
		return
	}
	w.line(0, "%s:", name)
	w.steps(1, steps)
}

func (w *writer) steps(depth int, steps []*node) {
	for _, n := range steps {
		w.line(depth, "- id: %s", n.id)
		w.step(depth+1, n)
	}
}

func (w *writer) step(d int, n *node) {
	if n.hasNeeds {
		w.line(d, "needs: [%s]", strings.Join(n.needs, ", "))
	}
	if n.runIf != "" {
		w.line(d, "run_if: %s", n.runIf)
	}
	if n.cond != nil {
		w.line(d, "if: %s", quoted(n.cond.src))
	}
	switch n.kind {
	case nodeLet:
		w.line(d, "let:")
		w.line(d+1, "v: %s", quoted(n.n.hole()))
		return
	case nodeSet:
		w.line(d, "set_state:")
		w.line(d+1, "total: %s", quoted(n.n.hole()))
		return
	case nodeLoop:
		w.loop(d, n)
		return
	}
	w.action(d, n)
	w.bounds(d, n)
}

func (w *writer) action(d int, n *node) {
	switch n.kind {
	case nodeCall:
		w.line(d, "uses: %s", n.action)
		switch {
		case n.days > 0:
			from := time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
			w.line(d, "with:")
			w.line(d+1, "from: %s", from.Format(time.RFC3339))
			w.line(d+1, "to: %s", from.AddDate(0, 0, n.days).Format(time.RFC3339))
		case n.n != nil:
			w.line(d, "with:")
			w.line(d+1, "n: %s", quoted(n.n.hole()))
		}
	case nodeChild:
		w.line(d, "uses: ./child.yaml")
		w.line(d, "with:")
		w.line(d+1, "n: %s", quoted(n.n.hole()))
	case nodeSleep:
		w.line(d, "uses: core.sleep")
		if n.past {
			w.line(d, "with: {until: 2001-01-01T00:00:00Z}")
		} else {
			w.line(d, "with: {for: %s}", n.sleep)
		}
	case nodeFail:
		w.line(d, "uses: core.fail")
		w.line(d, "with: {message: meant, kind: %s}", n.fails)
	case nodeAssert:
		w.line(d, "uses: core.assert")
		w.line(d, "with:")
		w.line(d+1, "that: %s", quoted(n.n.hole()))
	case nodeLog:
		w.line(d, "uses: core.log")
		w.line(d, "with:")
		w.line(d+1, "text: %s", quoted("at "+n.n.hole()))
	case nodeApprove:
		w.line(d, "uses: core.approve")
		w.line(d, "with:")
		w.line(d+1, "message: go on?")
		w.line(d+1, "form: {label: {type: integer, default: 1}}")
	case nodeWait:
		w.line(d, "uses: core.wait")
		w.line(d, "with:")
		w.line(d+1, "signal: %s", quoted(n.signal))
		w.line(d+1, "schema: {type: object, required: [v], properties: {v: {type: integer}}}")
		if n.match {
			w.line(d+1, "match: {v: 7}")
		}
	}
}

func (w *writer) bounds(d int, n *node) {
	if n.timeout > 0 {
		w.line(d, "timeout: %s", n.timeout)
	}
	if n.within > 0 {
		w.line(d, "within: %s", n.within)
	}
	if p := n.retry; p != nil {
		w.line(d, "retry:")
		w.line(d+1, "attempts: %d", p.attempts)
		w.line(d+1, "delay: %s", p.delay)
		if p.jitter != "" {
			w.line(d+1, "jitter: %s", p.jitter)
		}
		if p.on != nil {
			w.line(d+1, "on: [%s]", strings.Join(p.on, ", "))
		}
	}
	if n.paged() {
		w.line(d, "paginate: {max_pages: %d, max_items: %d}", n.pages, n.maxItems)
	}
	if n.cursor != "" {
		w.line(d, "incremental: {cursor: %s}", n.cursor)
	}
	if n.cache > 0 {
		w.line(d, "cache: %s", n.cache)
	}
	if n.until != nil {
		w.line(d, "repeat:")
		w.line(d+1, "until: %s", quoted(n.until.src))
		w.line(d+1, "every: %s", n.every)
		if n.rounds > 0 {
			w.line(d+1, "max: %d", n.rounds)
		}
	}
	if n.onAll != "" {
		w.line(d, "on_error: %s", n.onAll)
	}
	if len(n.onKind) > 0 {
		w.line(d, "on_error:")
		for _, kind := range slices.Sorted(maps.Keys(n.onKind)) {
			w.line(d+1, "%s: %s", kind, n.onKind[kind])
		}
	}
	if n.unknown != "" {
		w.line(d, "on_unknown: %s", n.unknown)
	}
}

func (w *writer) loop(d int, n *node) {
	w.line(d, "foreach: %s", quoted(n.items.hole()))
	if n.as != "" {
		w.line(d, "as: %s", n.as)
	}
	if n.key != nil {
		w.line(d, "key: %s", quoted(n.key.hole()))
	}
	w.line(d, "max_parallel: %d", n.parallel)
	if n.collects {
		w.line(d, "on_error: collect")
	}
	if n.collect != nil {
		w.line(d, "collect: %s", quoted(n.collect.hole()))
	}
	w.line(d, "steps:")
	w.steps(d+1, n.body)
}
