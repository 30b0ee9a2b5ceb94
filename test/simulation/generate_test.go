package simulation

import (
	"fmt"
	"slices"
	"strconv"
	"time"
)

// generate draws a workflow. A calm one has one outcome for a given world,
// whatever the schedule: its waits are longer than anything takes, and nobody
// cancels it. Another one may use everything at once.
func generate(seed uint64, calm bool) *flow {
	r := newRNG(seed, "flow")
	g := &generator{r: r, f: &flow{seed: seed, calm: calm, n: r.IntN(6), resumable: true, crashSafe: true}}
	f := g.f
	f.timeout = 87600 * time.Hour
	if !calm {
		f.timeout = pick(r, 25*time.Minute, time.Hour, 24*time.Hour, 24*time.Hour, 720*time.Hour)
	}
	f.state = r.one(5)
	main := &listOf{}
	g.fill(main, 1+r.IntN(7))
	f.steps = g.shuffled(main.steps)
	for range r.IntN(3) {
		f.output = append(f.output, namedExpr{fmt.Sprintf("o%d", len(f.output)), g.integer(main, nil)})
	}
	for _, handler := range []*[]*node{&f.good, &f.bad, &f.end} {
		if r.one(2) {
			list := &listOf{handler: true}
			g.fill(list, 1+r.IntN(2))
			*handler = list.steps
		}
	}
	f.each(func(n *node) {
		if n.kind == nodeCall && n.action == "svc.send" && (n.unknown == "fail" || n.unknown == "retry") {
			f.crashSafe = false
		}
		if calm && !f.resumable {
			n.neverPause()
		}
	})
	return f
}

// neverPause takes the reactions that leave a step to a person.
func (n *node) neverPause() {
	if n.onAll == "pause" {
		n.onAll = "fail"
	}
	for kind, reaction := range n.onKind {
		if reaction == "pause" {
			n.onKind[kind] = "fail"
		}
	}
}

type generator struct {
	r     *rng
	f     *flow
	ids   int
	depth int
	set   bool // set_state was used
}

// listOf is a step list that is being filled.
type listOf struct {
	steps   []*node
	loop    *node // whose body it is
	around  *listOf
	handler bool
	ints    []string // loop names that are integers, visible in it
}

func (g *generator) fill(l *listOf, n int) {
	for range n {
		l.steps = append(l.steps, g.step(l))
	}
}

// shuffled puts steps that all say what they need into another order of the file.
func (g *generator) shuffled(steps []*node) []*node {
	for _, n := range steps {
		if !n.hasNeeds {
			return steps
		}
	}
	if g.r.one(2) {
		g.r.Shuffle(len(steps), func(i, j int) { steps[i], steps[j] = steps[j], steps[i] })
	}
	return steps
}

func (g *generator) step(l *listOf) *node {
	g.ids++
	n := &node{id: "s" + strconv.Itoa(g.ids)}
	n.kind = g.kind(l)
	g.order(l, n)
	if g.r.one(5) {
		n.cond = g.boolean(l, n)
	}
	switch n.kind {
	case nodeCall:
		g.call(l, n)
	case nodeLet, nodeSet, nodeLog:
		n.n = g.integer(l, n)
	case nodeAssert:
		n.n = g.boolean(l, n)
	case nodeFail:
		n.fails = pick(g.r, "internal", "not_found", "conflict", "unavailable")
	case nodeChild:
		n.n = g.integer(l, n)
		if !g.f.calm && g.r.one(3) {
			n.timeout = pick(g.r, 5*time.Second, 2*time.Minute)
		}
	case nodeSleep:
		g.sleep(n)
	case nodeApprove, nodeWait:
		g.wait(l, n)
	case nodeLoop:
		g.loop(l, n)
	}
	if n.kind != nodeLet && n.kind != nodeSet && n.kind != nodeLoop {
		g.reaction(n)
	}
	return n
}

func (g *generator) kind(l *listOf) nodeKind {
	switch x := g.r.IntN(40); {
	case l.handler:
		return pick(g.r, nodeLog, nodeCall, nodeCall, nodeFail, nodeSleep, nodeLet)
	case x < 17:
		return nodeCall
	case x < 20:
		return nodeLet
	case x < 27 && g.depth < 2:
		return nodeLoop
	case x < 28:
		return nodeSleep
	case x < 29:
		return nodeFail
	case x < 30:
		return nodeAssert
	case x < 31:
		return nodeLog
	case x < 33:
		return nodeApprove
	case x < 35 && g.depth < 2:
		return nodeWait
	case x < 37:
		return nodeChild
	case x < 38 && g.f.state && !g.set && l.loop == nil:
		g.set = true
		return nodeSet
	}
	return nodeCall
}

func (g *generator) order(l *listOf, n *node) {
	if !l.handler && g.r.one(2) {
		n.hasNeeds = true
		for _, other := range l.steps {
			if g.r.one(3) {
				n.needs = append(n.needs, other.id)
			}
		}
	}
	n.runIf = pick(g.r, "", "", "", "", "ok", "failed", "any", "any")
	if l.handler {
		n.runIf = pick(g.r, "", "", "any")
	}
}

func (g *generator) reaction(n *node) {
	switch g.r.IntN(6) {
	case 0, 1:
		n.onAll = pick(g.r, "continue", "continue", "fail", "pause")
	case 2:
		n.onKind = map[string]string{}
		for range 1 + g.r.IntN(3) {
			n.onKind[pick(g.r, "not_found", "unavailable", "timeout", "denied", "auth_required", "unknown_outcome", "invalid")] =
				pick(g.r, "continue", "fail", "pause")
		}
	}
}

func (g *generator) sleep(n *node) {
	n.sleep = pick(g.r, time.Second, 5*time.Second, time.Minute, 3*time.Hour)
	n.past = g.r.one(8)
	if g.r.one(4) {
		n.timeout = pick(g.r, 2*time.Second, 30*time.Second)
	}
}

func (g *generator) wait(l *listOf, n *node) {
	g.f.waits = true
	n.signal = "go-" + n.id
	if l.loop != nil {
		n.signal += "-${{ index }}"
	}
	n.match = g.r.one(3)
	switch {
	case n.kind == nodeApprove && g.r.one(3):
		n.timeout = pick(g.r, time.Minute, 20*time.Minute) // nobody comes, in a calm world
	case !g.f.calm && g.r.one(3):
		n.timeout = pick(g.r, time.Minute, 20*time.Minute)
	}
}

func (g *generator) call(l *listOf, n *node) {
	n.action = pick(g.r, "svc.read", "svc.put", "svc.post", "svc.post", "svc.send", "svc.pay", "svc.list", "svc.usage", "svc.read")
	if l.handler {
		n.action = pick(g.r, "svc.read", "svc.post", "svc.put")
	}
	switch {
	case l.loop == nil && !l.handler && g.r.one(12):
		n.action, n.cursor = "svc.feed", "feed_"+n.id
	case n.action == "svc.usage":
		n.days = pick(g.r, 3, 7, 8, 20)
	}
	if n.days == 0 && g.r.one(2) {
		n.n = g.integer(l, n)
	}
	switch n.action {
	case "svc.list", "svc.usage", "svc.feed":
		n.pages, n.maxItems = pick(g.r, 2, 3, 50), pick(g.r, 2, 4, 1000)
	case "svc.read", "svc.put":
		if g.r.one(6) {
			limit := 40 + g.r.IntN(90)
			n.until = &expr{fmt.Sprintf("result.value >= %d", limit), func(s *scope) any {
				value, _ := s.result.(map[string]any)["value"].(int)
				return value >= limit
			}}
			n.every, n.rounds = pick(g.r, time.Second, 30*time.Second), pick(g.r, 0, 0, 2)
		}
	}
	g.patience(n)
}

// patience draws how often and how long a call is tried.
func (g *generator) patience(n *node) {
	if g.r.one(3) {
		n.retry = &policy{attempts: 1 + g.r.IntN(4), delay: pick(g.r, time.Second, 20*time.Second), jitter: pick(g.r, "", "0", "0.5")}
		if g.r.one(3) {
			n.retry.on = pick(g.r, []string{"not_found", "unavailable"}, []string{"rate_limited"}, []string{"unavailable", "timeout", "internal"})
		}
	}
	if n.effect() == "once" {
		n.unknown = pick(g.r, "", "", "ask", "retry", "fail")
	}
	if g.r.one(5) {
		n.timeout = pick(g.r, 10*time.Second, 30*time.Second)
	}
	if !g.f.calm && g.r.one(4) {
		n.within = pick(g.r, 35*time.Second, 2*time.Minute)
		n.timeout = min(n.timeout, n.within)
	}
	if !g.f.calm && n.effect() == "read" && n.cursor == "" && n.until == nil && g.r.one(8) {
		n.cache = time.Hour
	}
}

func (g *generator) loop(l *listOf, n *node) {
	n.parallel = pick(g.r, 1, 1, 2, 3)
	n.collects = g.r.one(2)
	if !n.collects && n.parallel > 1 {
		g.f.resumable = false // which items began is a matter of time
	}
	g.foreach(l, n)
	if l.loop != nil || g.r.one(2) {
		n.as = "it_" + n.id
	}
	name := n.as
	if name == "" {
		name = "item"
	}
	item := &expr{name, func(s *scope) any { return s.items[name] }}
	if g.r.one(3) {
		prefix := pick(g.r, "k", "a/b#", "[x].")
		n.key = &expr{`"` + prefix + `" + string(` + name + `)`, func(s *scope) any {
			return prefix + strconv.Itoa(intOf(item, s))
		}}
	}
	body := &listOf{loop: n, around: l, ints: append(slices.Clone(l.ints), name)}
	g.depth++
	g.fill(body, 1+g.r.IntN(3))
	g.depth--
	n.body = g.shuffled(body.steps)
	if !g.r.one(4) {
		n.collect = g.integer(body, nil)
	}
}

func (g *generator) foreach(l *listOf, n *node) {
	paged := slices.DeleteFunc(slices.Clone(l.steps), func(other *node) bool { return other.kind != nodeCall || !other.paged() })
	if len(paged) > 0 && g.r.one(2) {
		from := pick(g.r, paged...)
		n.reads = append(n.reads, from.id)
		n.items = field(from.id, "items", []any{})
		return
	}
	values, text := []any{}, ""
	for i := range g.r.IntN(5) {
		v := g.r.IntN(9)
		if !g.r.one(8) {
			v += 10 * i // mostly unique, so that keys are
		}
		if i > 0 {
			text += ", "
		}
		values, text = append(values, v), text+strconv.Itoa(v)
	}
	if len(values) == 0 {
		values, text = []any{1}, "1"
	}
	n.items = &expr{"[" + text + "]", func(*scope) any { return values }}
}

// readable are the steps that an expression of the list may read: those above it,
// and those above each loop around it. n is the reader, nil for what stands
// behind the list: outputs and collect.
type readable struct {
	of     *node
	reader *node // gets the inferred edge; nil = none
}

func (g *generator) readable(l *listOf, n *node) []readable {
	var found []readable
	for list, reader := l, n; list != nil; list = list.around {
		for _, of := range list.steps {
			found = append(found, readable{of, reader})
		}
		reader = list.loop
	}
	return found
}

func (g *generator) integer(l *listOf, n *node) *expr {
	e := g.plainInteger(l, n)
	switch g.r.IntN(8) {
	case 0, 1, 2:
		return sumOf(e, g.plainInteger(l, n))
	case 3:
		if g.r.one(3) {
			return table(e)
		}
	}
	return e
}

func (g *generator) plainInteger(l *listOf, n *node) *expr {
	choices := g.readable(l, n)
	switch x := g.r.IntN(8); {
	case x < 5 && len(choices) > 0:
		chosen := pick(g.r, choices...)
		if e := g.fieldOf(chosen.of); e != nil {
			g.edge(chosen)
			return e
		}
	case x == 5 && len(l.ints) > 0:
		name := pick(g.r, l.ints...)
		return &expr{name, func(s *scope) any { return s.items[name] }}
	case x == 6 && l.loop != nil:
		return &expr{"index", func(s *scope) any { return s.index }}
	case x == 7 && g.f.state && !l.handler:
		return &expr{"state.total", func(*scope) any { return storedTotal }}
	}
	if g.r.one(2) {
		return &expr{"inputs.n", func(s *scope) any { return s.flow.n }}
	}
	return number(g.r.IntN(20))
}

// storedTotal is the state that every run finds.
const storedTotal = 11

func (g *generator) edge(chosen readable) {
	if chosen.reader != nil && !slices.Contains(chosen.reader.reads, chosen.of.id) {
		chosen.reader.reads = append(chosen.reader.reads, chosen.of.id)
	}
}

// fieldOf reads an integer of a step; nil when it has none.
func (g *generator) fieldOf(of *node) *expr {
	switch of.kind {
	case nodeCall:
		if of.paged() {
			return pick(g.r, count(field(of.id, "items", []any{})), field(of.id, "pages", 0))
		}
		return field(of.id, "value", 0)
	case nodeLet:
		return field(of.id, "v", 0)
	case nodeLoop:
		if !of.collects && of.parallel > 1 {
			return nil // which items ended before it stopped is a matter of time
		}
		return count(field(of.id, pick(g.r, "items", "errors"), []any{}))
	case nodeApprove:
		return field(of.id, "label", 0)
	case nodeWait:
		return field(of.id, "payload.v", 0)
	case nodeChild:
		return field(of.id, "out", 0)
	}
	return nil
}

func (g *generator) boolean(l *listOf, n *node) *expr {
	choices := g.readable(l, n)
	if len(choices) > 0 && g.r.one(3) {
		chosen := pick(g.r, choices...)
		g.edge(chosen)
		if g.r.one(2) {
			return statusIs(chosen.of.id, pick(g.r, "succeeded", "failed", "skipped"))
		}
		return kindIs(chosen.of.id, pick(g.r, "not_found", "invalid", "unavailable"))
	}
	e := g.integer(l, n)
	if g.r.one(2) {
		e = even(e)
	} else {
		e = below(e, g.r.IntN(60))
	}
	switch g.r.IntN(5) {
	case 0:
		return not(e)
	case 1:
		return both(e, not(even(g.plainInteger(l, n))))
	}
	return e
}
