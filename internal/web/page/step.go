package page

import (
	"cmp"
	"html/template"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// stepData is the page of a step: its failure first, then what was asked and what
// came.
type stepData struct {
	runHead
	Step     runs.Step
	Name     string
	Title    string // what the author calls it
	Uses     string
	Effect   plan.Effect
	About    string // what the action does
	Fail     *errorBox
	Waits    *waiting
	Detail   string
	Calls    []callRow
	LeftOut  int // calls that are not shown: the oldest
	Axis     template.HTML
	Bars     template.HTML
	Input    *value
	InputOf  string // which call's input it is
	Result   *value
	Logs     []runs.Log
	MoreLogs bool // there are older lines
	Source   []sourceLine
	Before   *tab
	After    *tab
	Items    []itemLink
	Counts   string // of the items by their status
	Pages    []tab  // to the others
	Decision string
}

// callRow is one call or wait of a step.
type callRow struct {
	engine.Span
	Tone string
	Word string
	Part string // page, window or round
	Took template.HTML
	Fail *errorBox
}

// itemLink is one item of a loop.
type itemLink struct {
	URL    string
	Key    string
	Status runs.StepStatus
	Took   template.HTML
	Error  string // its first line
}

const (
	shownCalls = 40
	stepLogs   = 50
)

func (s *site) step(r *http.Request, runView *engine.RunView) (*screen, error) {
	return s.stepScreen(r, runView, r.PathValue("step"))
}

func (s *site) stepScreen(r *http.Request, runView *engine.RunView, path string) (*screen, error) {
	n, before, after := findStep(runView, path)
	if n == nil {
		return nil, notFound("step", path)
	}
	run, step, now := runView.Result.Run, n.step, s.Now()
	history, err := s.history(r.Context(), runView, run.ID, path)
	if err != nil {
		return nil, err
	}
	data := stepData{
		runHead: s.head(runView, ""), Step: step, Name: stepName(n), Uses: step.Uses, Waits: s.waitingFor(run, step),
		Before: stepTab(run.ID, before), After: stepTab(run.ID, after),
	}
	data.Waiting, data.Error = nil, nil
	if step.Error != nil {
		data.Fail = newErrorBox(run.ID, step.Error)
	}
	if data.Waits == nil && data.Fail == nil && step.Decision == nil && step.Status != runs.StepSucceeded {
		data.Detail, _ = stepDetail(step)
	}
	s.describeStep(&data, n, runView.Definition.Workflow)
	s.listItems(&data, n, readItemsAsked(r.URL.Query()))
	space := newRoom()
	s.stepCalls(&data, n, history, timeLine(runView, history, now), space)
	if len(step.Outputs) > 0 {
		v := space.value("", step.Outputs, stepURL(run.ID, path)+"/outputs")
		v.Blobs = blobLinks(run.ID, step.Outputs)
		data.Result = &v
	} else if step.OutputsBytes > 0 {
		v := longValue("", step.OutputsBytes, stepURL(run.ID, path)+"/outputs")
		data.Result = &v
	}
	logs, err := s.Engine.LogPage(r.Context(), run.ID, engine.LogQuery{LogFilter: engine.LogFilter{Step: path}, Back: true, Limit: stepLogs})
	if err != nil {
		return nil, err
	}
	data.Logs, data.MoreLogs = logs.Lines, logs.Next > 0
	made := s.runScreen(runView, "step", data)
	made.Title = string(step.Status) + " · " + path + " · " + run.Workflow
	if !step.Status.Ended() {
		made.Live.Every = tickOf(run)
	}
	return made, nil
}

// findStep looks for a step, and for those before and behind it.
func findStep(runView *engine.RunView, path string) (n *node, before, after *runs.Step) {
	for i := range runView.Steps {
		if runView.Steps[i].Path != path {
			continue
		}
		if i > 0 {
			before = &runView.Steps[i-1]
		}
		if i+1 < len(runView.Steps) {
			after = &runView.Steps[i+1]
		}
		n = &node{step: runView.Steps[i]}
	}
	if n == nil {
		return nil, nil, nil
	}
	for _, g := range newTree(runView.Steps, runView.Definition.Workflow) {
		walk(g.nodes, func(one *node) {
			if one.step.Path == path {
				n = one
			}
		})
	}
	return n, before, after
}

func stepTab(run string, step *runs.Step) *tab {
	if step == nil {
		return nil
	}
	return &tab{Path: stepURL(run, step.Path), Text: step.Path}
}

// describeStep says what the workflow says of a step.
func (s *site) describeStep(data *stepData, n *node, w *plan.Workflow) {
	if n.def == nil {
		return
	}
	data.Title = n.def.Title
	data.Uses = cmp.Or(data.Uses, kindWords[n.def.Kind])
	if action := w.Actions[n.def.Uses]; action != nil {
		data.Effect, data.About = action.Effect, firstSentence(action.Doc)
	}
	data.Source = stepSource(w.Source, n.def.Pos.Line)
}

// listItems shows a page of a loop's items.
func (s *site) listItems(data *stepData, n *node, asked itemsAsked) {
	if len(n.items) == 0 {
		return
	}
	l, path := newLoopItems(n), stepURL(data.Run.ID, n.step.Path)
	data.Counts = l.words()
	data.Pages = l.links(func(a itemsAsked) string { return wire.WithQuery(path, a.set(url.Values{})) }, &asked)
	for _, one := range l.page(asked) {
		if len(one.nodes) > 0 {
			data.Items = append(data.Items, s.itemLink(data.Run.ID, one))
		}
	}
}

// itemLink leads to the step of an item that says most: the one that its state is
// of.
func (s *site) itemLink(run string, one *item) itemLink {
	from, to := times(one.nodes)
	link := itemLink{Key: one.key, Status: one.status, URL: stepURL(run, one.nodes[0].step.Path)}
	for _, n := range one.nodes {
		if n.step.Status == link.Status {
			link.URL = stepURL(run, n.step.Path)
			if n.step.Error != nil {
				link.Error = oneLine(n.step.Error.Message)
			}
			break
		}
	}
	link.Took = span(from, to, s.Now())
	return link
}

// stepSource is the part of a workflow's file that a step is written in.
func stepSource(source string, line int) []sourceLine {
	lines := strings.Split(source, "\n")
	if line < 1 || line > len(lines) {
		return nil
	}
	indent := func(text string) int { return len(text) - len(strings.TrimLeft(text, " ")) }
	first, end := line-1, line
	for end < len(lines) && end < line+60 && (strings.TrimSpace(lines[end]) == "" || indent(lines[end]) > indent(lines[first])) {
		end++
	}
	return sourceLines(strings.TrimRight(strings.Join(lines[first:end], "\n"), "\n"), line, nil)
}

// stepCalls are the attempts and waits of a step, and the input of the last one.
func (s *site) stepCalls(data *stepData, n *node, history *engine.RunHistory, line *scale, space *room) {
	now := s.Now()
	m := rowMaker{site: s, run: data.Run, now: now, scale: line, spans: map[string][]engine.Span{n.step.Path: history.Spans}, gaps: history.Gaps}
	data.Axis, data.Bars = line.axis(), m.stepBars(n)
	spans := history.Spans
	data.LeftOut = max(len(spans)-shownCalls, 0)
	for _, span := range spans[data.LeftOut:] {
		data.Calls = append(data.Calls, newCallRow(data.Run.ID, span, now))
	}
	if call := lastInput(spans); call != nil {
		v := space.value("", call.Input, stepURL(data.Run.ID, n.step.Path)+"/input")
		data.Input, data.InputOf = &v, strings.TrimPrefix(call.Operation, n.step.Path)
	}
	if d := n.step.Decision; d != nil {
		data.Decision = n.step.Answer()
	}
}

// lastInput is the last call that was given something; nil = there is none.
func lastInput(spans []engine.Span) *engine.Span {
	for i := len(spans) - 1; i >= 0; i-- {
		if len(spans[i].Input) > 0 {
			return &spans[i]
		}
	}
	return nil
}

func newCallRow(run string, call engine.Span, now time.Time) callRow {
	row := callRow{Span: call, Tone: spanBar(call, now).tone, Word: spanWord(call)}
	row.Part = runs.ParsePath(call.Operation).Part
	row.Took = span(call.From, call.To, now)
	if call.Error != nil {
		row.Fail = newErrorBox(run, call.Error)
	}
	return row
}
