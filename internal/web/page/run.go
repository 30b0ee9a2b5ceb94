package page

import (
	"cmp"
	"html/template"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/graph"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// runHead is what stands above every page of a run.
type runHead struct {
	Run      runs.Run
	Error    *errorBox
	Waiting  []*waiting // steps that need a person
	Tabs     []tab
	Actions  runActs
	Undriven bool
	Needed   bool                    // its failure needs somebody
	Seen     *engine.Acknowledgement // who has looked at it
}

// runActs are what may be done to a run now.
type runActs struct {
	Cancel, Resume, Rerun bool
	// Why the run may be resumed: what a resume does.
	ResumeText string
}

// runData is the overview of a run.
type runData struct {
	runHead
	Rows    []stepRow
	Axis    template.HTML
	Graph   template.HTML
	Fit     bool // the graph is made as narrow as its place
	Wide    bool // the graph stands below the steps, not beside them
	Counts  []count
	Outputs []value
	// Deliveries are the outputs on their way; Undelivered says that one is not there.
	Deliveries  []deliveryRow
	Undelivered bool
	Cut         bool // the history is not drawn in full
}

// deliveryRow is an output on its way to one destination.
type deliveryRow struct{ runs.Delivery }

// Tone is the colour of its state.
func (d deliveryRow) Tone() string {
	switch d.State {
	case runs.DeliveryDelivered:
		return "ok"
	case runs.DeliveryFailed, runs.DeliveryUnknown:
		return "bad"
	}
	return "wait"
}

// count is how many steps have a status.
type count struct {
	Status runs.StepStatus
	N      int
}

// head makes what stands above every page of a run. tab is the path of the
// current page below the run's own.
func (s *site) head(runView *engine.RunView, current string) runHead {
	run := runView.Result.Run
	head := runHead{Run: run, Actions: actsOf(run), Tabs: runTabs(run.ID, current), Undriven: run.Undriven}
	head.Needed = runView.Seen.Needed && run.Asks == 0
	if !runView.Seen.At.IsZero() {
		head.Seen = &runView.Seen
	}
	if runView.Result.Error != nil {
		head.Error = newErrorBox(run.ID, runView.Result.Error)
	}
	for _, step := range runView.Steps {
		if waits := s.waitingFor(run, step); waits != nil && len(head.Waiting) < maxWaiting {
			head.Waiting = append(head.Waiting, waits)
		}
	}
	if len(head.Waiting) > 1 || current != "" { // their forms are on their own pages
		for _, one := range head.Waiting {
			one.Short = true
		}
	}
	return head
}

// maxWaiting is how many waiting steps a page of a run shows with their forms.
const maxWaiting = 20

func actsOf(run runs.Run) runActs {
	acts := runActs{Rerun: true, Cancel: !run.Status.Ended()}
	switch {
	case run.Parent != nil:
		return runActs{} // its parent's step is what is acted on
	case run.Undriven:
		acts.Resume, acts.ResumeText = true, "No process drives this run. It goes on where it stopped."
	case run.Status == runs.RunPaused:
		acts.Resume, acts.ResumeText = true, "It goes on where it stopped, with fresh attempts of what failed."
	case run.Closed && run.Status != runs.RunSucceeded:
		acts.Resume, acts.ResumeText = true, "The same run goes on: steps that ended well keep their results, what failed gets fresh attempts."
	}
	return acts
}

func runTabs(id, current string) []tab {
	tabs := []tab{{Text: "Overview"}, {Path: "/logs", Text: "Logs"}, {Path: "/data", Text: "Data"}, {Path: "/events", Text: "Events"}, {Path: "/source", Text: "Source"}}
	for i := range tabs {
		tabs[i].Current = tabs[i].Path == current
		tabs[i].Path = runURL(id) + tabs[i].Path
	}
	return tabs
}

// runScreen is a page of a run: it follows the run while it is open.
func (s *site) runScreen(runView *engine.RunView, name string, data any) *screen {
	run := runView.Result.Run
	made := &screen{Title: string(run.Status) + " · " + run.Workflow, Nav: "/runs", Template: name, Data: data}
	if !run.Closed {
		made.Live.Run = run.ID
	}
	return made
}

// How often the page of an open run is drawn again though nothing has happened:
// its bars grow.
const (
	tickLive = time.Second
	tickWait = 5 * time.Second // of one that waits
)

// tickOf is how often a page of a run is drawn again by the clock; 0 = never.
func tickOf(run runs.Run) time.Duration {
	switch {
	case run.Undriven:
		return 0
	case run.Status == runs.RunRunning:
		return tickLive
	case run.Status == runs.RunWaiting:
		return tickWait
	}
	return 0
}

// run is the overview: graph, steps and time line.
func (s *site) run(r *http.Request, runView *engine.RunView) (*screen, error) {
	run := runView.Result.Run
	history, err := s.history(r.Context(), runView, run.ID, "")
	if err != nil {
		return nil, err
	}
	now := s.Now()
	groups := newTree(runView.Steps, runView.Definition.Workflow)
	line := timeLine(runView, history, now)
	rows := rowMaker{
		site: s, run: run, now: now, scale: line, spans: spansOf(history), gaps: history.Gaps,
		open: r.URL.Query().Get("items"), asked: readItemsAsked(r.URL.Query()),
	}
	data := runData{
		runHead: s.head(runView, ""), Rows: rows.groups(groups), Axis: line.axis(), Cut: history.Truncated,
		Graph: s.graph(run, runView.Definition.Workflow, groups, now), Counts: countSteps(groups), Outputs: s.outputs(runView.Result, runView.Definition.Workflow, newRoom()),
	}
	for _, one := range runView.Result.Deliveries {
		data.Deliveries = append(data.Deliveries, deliveryRow{one})
		data.Undelivered = data.Undelivered || one.State != runs.DeliveryDelivered
	}
	width := drawnWidth(string(data.Graph))
	data.Fit, data.Wide = width <= shrinkWidth, width > besideWidth
	made := s.runScreen(runView, "run", data)
	made.Live.Every = tickOf(run)
	return made, nil
}

// spansOf sorts spans by their steps.
func spansOf(history *engine.RunHistory) map[string][]engine.Span {
	spans := map[string][]engine.Span{}
	for _, span := range history.Spans {
		spans[span.Step] = append(spans[span.Step], span)
	}
	return spans
}

// timeLine is the axis of a run: from its start to its end, or to now.
func timeLine(runView *engine.RunView, history *engine.RunHistory, now time.Time) *scale {
	run := runView.Result.Run
	from, to, open := run.StartedAt, now, !run.Closed
	if run.Closed || run.Undriven || run.Status == runs.RunPaused {
		to, open = run.StartedAt, false
	}
	if run.FinishedAt != nil && run.FinishedAt.After(to) {
		to = *run.FinishedAt
	}
	var busy []interval
	reach := func(t time.Time) {
		if t.After(to) && !open {
			to = t
		}
		if t.Before(from) {
			from = t
		}
	}
	for _, span := range history.Spans {
		end := span.To
		if end.IsZero() {
			end = now
			if !open {
				end = span.From
			}
		}
		reach(span.From)
		reach(end)
		if !span.Kind.Waits() {
			busy = append(busy, interval{span.From, end})
		}
	}
	for _, step := range runView.Steps {
		for _, at := range []*time.Time{step.StartedAt, step.FinishedAt} {
			if at != nil {
				reach(*at)
				busy = append(busy, interval{*at, *at})
			}
		}
	}
	for _, mark := range history.Marks {
		reach(mark.At)
	}
	return newScale(from, to, busy, open)
}

// countSteps counts the steps of all lists by their status, worst first; steps of
// items are not among them.
func countSteps(groups []group) []count {
	number := map[runs.StepStatus]int{}
	for _, g := range groups {
		for _, n := range g.nodes {
			number[n.step.Status]++
		}
	}
	return countsOf(number, []runs.StepStatus{
		runs.StepFailed, runs.StepUnknown, runs.StepRunning, runs.StepRetrying, runs.StepWaiting, runs.StepSucceeded,
		runs.StepPending, runs.StepBlocked, runs.StepCanceled, runs.StepSkipped,
	})
}

// graph draws the workflow with the states of its steps.
func (s *site) graph(run runs.Run, w *plan.Workflow, groups []group, now time.Time) template.HTML {
	states, links := map[string]graph.State{}, map[string]string{}
	inner := map[string][]*node{}
	for _, g := range groups {
		for _, n := range g.nodes {
			if n.graph == "" {
				continue
			}
			states[n.graph] = nodeState(n, now)
			links[n.graph] = stepURL(run.ID, n.step.Path)
			for _, one := range n.items {
				walk(one.nodes, func(n *node) { inner[n.graph] = append(inner[n.graph], n) })
			}
		}
	}
	for path, nodes := range inner {
		status := worstOf(nodes)
		states[path] = graph.State{Status: status, Text: tagText(nodes)}
		for _, n := range nodes {
			if n.step.Status == status {
				links[path] = stepURL(run.ID, n.step.Path)
				break
			}
		}
	}
	for path, state := range states {
		if state.Status == runs.StepPending {
			delete(states, path)
		}
	}
	drawn := graph.Draw(w, graph.Options{Bare: true, States: states, Link: func(path string) string { return links[path] }})
	return template.HTML(drawn) //nolint:gosec // graph escapes what it writes
}

// tagText counts the steps of items that one box stands for by what became of them.
func tagText(nodes []*node) string {
	number := map[runs.StepStatus]int{}
	for _, n := range nodes {
		number[n.step.Status]++
	}
	var parts []string
	counts := countsOf(number, itemOrder)
	for _, c := range counts[:min(len(counts), 3)] {
		parts = append(parts, strconv.Itoa(c.N)+" "+tagWord(c.Status))
	}
	if len(number) > len(parts) {
		parts = append(parts, "…")
	}
	return strings.Join(parts, ", ")
}

// tagWord is a status in the few letters that a box has room for.
func tagWord(status runs.StepStatus) string {
	if status == runs.StepSucceeded {
		return "ok"
	}
	return string(status)
}

// loopTag is how far a loop is, and how many of its items failed.
func loopTag(n *node) string {
	l := newLoopItems(n)
	ended := strconv.Itoa(n.step.Done) + "/" + strconv.Itoa(n.step.Items)
	switch bad := l.bad(); {
	case bad == 0:
		return ended
	case n.step.Status.Ended():
		return strconv.Itoa(bad) + " of " + strconv.Itoa(n.step.Items) + " failed"
	default:
		return ended + ", " + strconv.Itoa(bad) + " failed"
	}
}

// endedWithFailures reports whether a loop ended well though items of it failed.
func endedWithFailures(n *node) bool {
	return n.step.Status == runs.StepSucceeded && (n.step.ItemErrors > 0 || newLoopItems(n).bad() > 0)
}

// How wide a drawing may be to stand beside the steps, and to be made as narrow
// as the page: at a smaller scale nobody reads it.
const (
	besideWidth = 800
	shrinkWidth = 2300
)

// drawnWidth is the width of a drawing in pixels.
func drawnWidth(drawn string) int {
	_, rest, _ := strings.Cut(drawn, ` width="`)
	width, _, _ := strings.Cut(rest, `"`)
	pixels, err := strconv.Atoi(width)
	if err != nil {
		return 0
	}
	return pixels
}

// nodeState is the tag of a step: how long it took, or how far it is.
func nodeState(n *node, now time.Time) graph.State {
	step := n.step
	state := graph.State{Status: step.Status}
	switch {
	case step.Items > 0:
		state.Text, state.Warn = loopTag(n), endedWithFailures(n)
	case step.Status == runs.StepRetrying, step.Status == runs.StepWaiting:
		state.Text = cmp.Or(step.Wait, string(step.Status))
	case step.StartedAt != nil && step.FinishedAt != nil && step.Status != runs.StepSkipped:
		state.Text = duration(step.FinishedAt.Sub(*step.StartedAt))
	case step.StartedAt != nil && step.FinishedAt == nil:
		state.Text = duration(now.Sub(*step.StartedAt).Truncate(time.Second))
	}
	return state
}
