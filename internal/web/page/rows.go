package page

import (
	"fmt"
	"html/template"
	"net/url"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// stepRow is one line of a run's steps.
type stepRow struct {
	Depth    int
	Group    string // the head of a handler's list, before the row
	Path     string
	URL      string // "" = an item of several steps, which has no page
	Name     string
	Title    string // what the author calls it
	Uses     string
	Status   runs.StepStatus
	Attempts int
	Took     template.HTML
	Detail   string
	Wrong    bool // Detail is an error
	Warn     bool // it ended well, but items of it failed
	Until    *time.Time
	Bars     template.HTML
	More     []tab  // of a loop: to see its items
	Note     string // of a loop: which of them are shown
	Parts    []part // of an item: its steps
}

// part is a step of an item in the item's own row.
type part struct {
	URL    string
	Name   string
	Status runs.StepStatus
}

// rowMaker makes the rows of a run. Used by one request.
type rowMaker struct {
	site  *site
	run   runs.Run
	now   time.Time
	scale *scale
	spans map[string][]engine.Span
	gaps  []engine.Gap
	open  string // the loop whose items are shown
	asked itemsAsked
	rows  []stepRow
}

func (m *rowMaker) groups(groups []group) []stepRow {
	for _, g := range groups {
		first := len(m.rows)
		m.nodes(g.nodes, 0)
		if g.name != "" && first < len(m.rows) {
			m.rows[first].Group = g.name
		}
	}
	return m.rows
}

func (m *rowMaker) nodes(nodes []*node, depth int) {
	for _, n := range nodes {
		m.rows = append(m.rows, m.row(n, depth, stepName(n)))
		if n.def != nil && n.def.Loop != nil {
			m.items(n, depth)
		}
	}
}

// stepName is what a step is called in its row: its id without the item before it.
func stepName(n *node) string {
	if n.def == nil {
		return n.step.Path
	}
	if strings.HasPrefix(n.def.ID, "_") && n.def.Title != "" {
		return n.def.Title
	}
	return n.def.ID
}

func (m *rowMaker) row(n *node, depth int, name string) stepRow {
	step := n.step
	row := stepRow{
		Depth: depth, Path: step.Path, URL: stepURL(m.run.ID, step.Path), Name: name, Uses: step.Uses, Status: step.Status,
		Attempts: step.Attempts, Took: span(step.StartedAt, step.FinishedAt, m.now), Until: step.Until,
	}
	row.Detail, row.Wrong = stepDetail(step)
	if len(n.items) > 0 {
		row.Detail, row.Warn = loopDetail(n), endedWithFailures(n)
	}
	if n.def != nil {
		row.Title = n.def.Title
		if row.Uses == "" && n.def.Kind != plan.StepAction {
			row.Uses = kindWords[n.def.Kind]
		}
	}
	if step.Status == runs.StepPending || step.Status == runs.StepSkipped || step.Status == runs.StepBlocked {
		row.Took = ""
	}
	row.Bars = m.stepBars(n)
	return row
}

var kindWords = map[plan.StepKind]string{plan.StepLet: "let", plan.StepSetState: "set_state", plan.StepLoop: "foreach"}

// stepBars are the calls and waits of a step, or the items of a loop.
func (m *rowMaker) stepBars(n *node) template.HTML {
	if n.def != nil && n.def.Loop != nil && len(n.items) > 0 {
		return m.loopBars(n)
	}
	return m.scale.bars(append(m.gapBars(), m.barsOf(n)...), barWords(n.step, m.now))
}

// barsOf are the calls and waits of a step; the whole step where it has none.
func (m *rowMaker) barsOf(n *node) []bar {
	var list []bar
	for _, span := range m.spans[n.step.Path] {
		list = append(list, spanBar(span, m.now))
	}
	if len(list) == 0 && n.step.StartedAt != nil {
		list = append(list, m.wholeBar(n.step))
	}
	return list
}

// wholeBar is a step without calls of its own: what is computed, and what waits
// for a person.
func (m *rowMaker) wholeBar(step runs.Step) bar {
	b := bar{from: *step.StartedAt, to: endOf(step, m.now), tone: toneOf(string(step.Status)), title: string(step.Status)}
	if step.Form != nil || step.Decision != nil || step.Asks() {
		b.kind, b.tone, b.title = "wait", "wait", "waits for an answer: "+duration(b.to.Sub(b.from))
	}
	return b
}

func (m *rowMaker) gapBars() []bar {
	var list []bar
	for _, gap := range m.gaps {
		list = append(list, bar{from: gap.From, to: gap.To, tone: "calm", kind: "gap", title: gapWords[gap.Why] + ": " + duration(gap.To.Sub(gap.From))})
	}
	return list
}

var gapWords = map[string]string{
	"paused": "the run was paused", "ended": "the run had ended", "stopped": "no process drove the run", "died": "the process had died",
}

// endOf is when a step ended, now where it goes on.
func endOf(step runs.Step, now time.Time) time.Time {
	if step.FinishedAt != nil {
		return *step.FinishedAt
	}
	return now
}

// barWords says in words what a row shows.
func barWords(step runs.Step, now time.Time) string {
	words := string(step.Status)
	if step.StartedAt == nil {
		return words
	}
	words += ", " + duration(endOf(step, now).Sub(*step.StartedAt))
	if step.Attempts > 1 {
		words += ", " + plural(step.Attempts, "attempt")
	}
	return words
}

// shownWait is how many milliseconds of waiting are worth a word.
const shownWait = 100

// stepDetail is what is worth knowing of a step at a glance.
func stepDetail(step runs.Step) (text string, wrong bool) {
	var parts []string
	add := func(format string, args ...any) { parts = append(parts, fmt.Sprintf(format, args...)) }
	switch {
	case step.Error != nil && step.Status != runs.StepSucceeded:
		if step.Status == runs.StepRetrying {
			add("%s; after %s", step.Wait, oneLine(step.Error.Message))
		} else {
			add("%s", oneLine(step.Error.Message))
		}
		wrong = step.Status == runs.StepFailed
	case step.Status == runs.StepSkipped && step.Message == "":
		add("its condition is false")
	case step.Status == runs.StepBlocked && step.Message == "":
		add("a step before it failed")
	case step.Wait != "":
		add("%s", waitText(step.Wait))
	}
	if step.Message != "" && step.Error == nil {
		add("%s", oneLine(step.Message))
	}
	if step.Items > 0 {
		add("%d of %s", step.Done, plural(step.Items, "item"))
	}
	if step.ItemErrors > 0 {
		add("%d failed", step.ItemErrors)
	}
	if step.Pages > 1 {
		add("%d pages", step.Pages)
	}
	if step.Cached {
		add("from the cache")
	}
	if step.WaitedMS >= shownWait {
		add("of it %s waiting for the rate limit", duration(time.Duration(step.WaitedMS)*time.Millisecond))
	}
	if step.TakenFrom != "" {
		add("taken over from %s", shortID(step.TakenFrom))
	}
	if d := step.Decision; d != nil && d.By != "" {
		add("%s by %s", step.Answer(), d.By)
	}
	return strings.Join(parts, " · "), wrong
}

// loopDetail is stepDetail with the items counted by what became of them.
func loopDetail(n *node) string {
	step := n.step
	step.Items, step.ItemErrors = 0, 0
	text, _ := stepDetail(step)
	if text != "" {
		text += " · "
	}
	return text + newLoopItems(n).words()
}

// waitText says what a step waits for.
func waitText(wait string) string { return runs.ParseWait(wait).Words() }

// items adds the rows of a loop's items that are shown: of a long one those that
// failed.
func (m *rowMaker) items(n *node, depth int) {
	if len(n.items) == 0 {
		return
	}
	l, row := newLoopItems(n), &m.rows[len(m.rows)-1]
	path := func(asked itemsAsked) string { return m.itemsURL(n, asked) }
	shown := l.items
	switch {
	case m.open == n.step.Path:
		shown = l.page(m.asked)
		row.More = append([]tab{{Path: runURL(m.run.ID), Text: "show fewer"}}, l.links(path, &m.asked)...)
	case len(n.items) > shortLoop:
		bad := l.bad()
		shown = l.items[:min(bad, failedItems)]
		row.More = l.links(path, nil)
		if bad > failedItems {
			row.Note = fmt.Sprintf("the first %d of %d are shown", failedItems, bad)
		}
	}
	for _, one := range shown {
		m.item(one, depth+1)
	}
}

func (m *rowMaker) itemsURL(n *node, asked itemsAsked) string {
	return runURL(m.run.ID) + "?" + asked.set(url.Values{"items": {n.step.Path}}).Encode()
}

// item adds the row of one item, and below it a row for each of its steps that
// has something to say.
func (m *rowMaker) item(one *item, depth int) {
	if len(one.nodes) == 1 && len(one.nodes[0].items) == 0 {
		m.rows = append(m.rows, m.row(one.nodes[0], depth, one.key))
		return
	}
	if len(one.nodes) == 0 {
		return
	}
	from, to := times(one.nodes)
	row := stepRow{Depth: depth, Path: one.path, Name: one.key, Status: one.status, Took: span(from, to, m.now)}
	bars := m.gapBars()
	for _, n := range one.nodes {
		row.Parts = append(row.Parts, part{stepURL(m.run.ID, n.step.Path), stepName(n), n.step.Status})
		bars = append(bars, m.barsOf(n)...)
		if text, wrong := stepDetail(n.step); n.step.Error != nil && text != "" && (row.Detail == "" || wrong && !row.Wrong) {
			row.Detail, row.Wrong = stepName(n)+": "+text, wrong
		}
	}
	row.Bars = m.scale.bars(bars, string(row.Status))
	m.rows = append(m.rows, row)
	for _, n := range one.nodes {
		if len(n.items) > 0 || n.step.Form != nil && n.step.Decision == nil {
			m.nodes([]*node{n}, depth+1)
		}
	}
}
