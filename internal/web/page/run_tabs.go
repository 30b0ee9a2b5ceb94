package page

import (
	"cmp"
	"encoding/json"
	"html/template"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// dataData are the values of a run.
type dataData struct {
	runHead
	Inputs  []value
	Outputs []value
	Steps   []stepValue
	Plugins []plan.PluginPin
}

// stepValue is a step's outputs in a list.
type stepValue struct {
	Step  runs.Step
	Value value
}

// shownSteps is how many steps the page of a run's data shows.
const shownSteps = 40

func (s *site) runValues(_ *http.Request, runView *engine.RunView) (*screen, error) {
	space := newRoom()
	data := dataData{runHead: s.head(runView, "/data"), Plugins: runView.Result.Plugins, Inputs: inputValues(runView.Result.Run.ID, runView.Definition, space)}
	data.Outputs = s.outputs(runView.Result, runView.Definition.Workflow, space)
	for _, step := range runView.Steps {
		if len(data.Steps) == shownSteps || len(runs.ParsePath(step.Path).Items) > 0 {
			continue
		}
		switch file := stepURL(runView.Result.Run.ID, step.Path) + "/outputs"; {
		case step.OutputsBytes > 0:
			data.Steps = append(data.Steps, stepValue{step, longValue("", step.OutputsBytes, file)})
		case len(step.Outputs) > 2:
			data.Steps = append(data.Steps, stepValue{step, space.value("", step.Outputs, file)})
		}
	}
	return s.runScreen(runView, "run-data", data), nil
}

// inputValues are a run's inputs in the order of their names.
func inputValues(run string, def *engine.RunDefinition, space *room) []value {
	inputs := map[string]json.RawMessage{}
	if json.Unmarshal(def.Inputs, &inputs) != nil {
		return []value{space.value("inputs", def.Inputs, runURL(run)+"/inputs")}
	}
	var list []value
	for _, name := range slices.Sorted(maps.Keys(inputs)) {
		list = append(list, space.value(name, inputs[name], runURL(run)+"/inputs/"+url.PathEscape(name)))
	}
	return list
}

// eventsData is the journal of a run.
type eventsData struct {
	runHead
	Events []eventRow
	First  string // the path of the first page
	Next   string
}

// eventRow is one record of a journal.
type eventRow struct {
	Seq    uint64
	At     time.Time
	Kind   string
	Tone   string
	Path   string
	By     string
	Text   string
	JSON   template.HTML
	Offset string // since the run's start
}

// eventsPage is how many records a page shows.
const eventsPage = 50

func (s *site) runEvents(r *http.Request, runView *engine.RunView) (*screen, error) {
	run := runView.Result.Run
	from, err := strconv.ParseUint(r.URL.Query().Get("from"), 10, 64)
	if err != nil || from == 0 {
		from = 1
	}
	records, next, err := s.Engine.Events(r.Context(), run.ID, from, eventsPage)
	if err != nil {
		return nil, err
	}
	data := eventsData{runHead: s.head(runView, "/events")}
	for _, record := range records {
		data.Events = append(data.Events, newEventRow(record, run.StartedAt))
	}
	path := runURL(run.ID) + "/events"
	if from > 1 {
		data.First = path
	}
	if next > 0 {
		data.Next = wire.WithQuery(path, wire.Query("from", strconv.FormatUint(next, 10)))
	}
	return s.runScreen(runView, "run-events", data), nil
}

// eventTones are the colours of the kinds of events that stand out.
var eventTones = map[string]string{
	"failed": "bad", "completed": "ok", "cancel": "calm", "resumed": "run", "started": "run", "pending": "wait", "signal": "hold",
	"resolved": "hold", "replanned": "hold", "refused": "bad", "moved": "bad", "limited": "bad",
}

func newEventRow(record workspace.Event, start time.Time) eventRow {
	ev := record.Event
	row := eventRow{Seq: record.Seq, At: ev.At, Kind: string(ev.Kind), Tone: cmp.Or(eventTones[string(ev.Kind)], "calm"), Path: ev.Path, By: ev.By}
	if !ev.At.Before(start) {
		row.Offset = "+" + duration(ev.At.Sub(start))
	}
	var parts []string
	if ev.Failed != nil {
		parts = append(parts, oneLine(ev.Failed.Message))
	}
	for i, command := range record.Commands {
		if i == 4 {
			parts = append(parts, plural(len(record.Commands)-i, "more command"))
			break
		}
		parts = append(parts, strings.TrimSpace(string(command.Kind)+" "+command.Path))
	}
	row.Text = strings.Join(parts, " · ")
	row.Text = oneLine(row.Text)
	if text, err := record.MarshalJSON(); err == nil { // it was encoded before
		row.JSON = template.HTML(escapeText(recordText(text))) //nolint:gosec // escaped
	}
	return row
}

// recordText is a record for people: indented, with references to secrets hidden,
// and cut where it is long.
func recordText(raw json.RawMessage) string {
	const most = 1500
	text := maskRefs(string(raw))
	if len(text) > most {
		return strings.ToValidUTF8(text[:most], "") + "… (`flowrun runs events` has all)"
	}
	return workspace.ReadableJSON(json.RawMessage(text))
}

// sourceData is the workflow's file as the run goes by it.
type sourceData struct {
	runHead
	File  string
	Hash  string
	Lines []sourceLine
}

func (s *site) runSource(_ *http.Request, runView *engine.RunView) (*screen, error) {
	w := runView.Definition.Workflow
	data := sourceData{runHead: s.head(runView, "/source"), File: w.File, Hash: cmp.Or(runView.Result.Run.LatestPlan, runView.Result.Run.PlanHash)}
	marked := map[int]string{}
	for _, g := range newTree(runView.Steps, w) {
		walk(g.nodes, func(n *node) {
			if n.def == nil {
				return
			}
			before, ok := marked[n.def.Pos.Line]
			if status := string(n.step.Status); !ok || statusRank[n.step.Status] > statusRank[runs.StepStatus(before)] {
				marked[n.def.Pos.Line] = status
			}
		})
	}
	data.Lines = sourceLines(strings.TrimRight(w.Source, "\n"), 1, marked)
	return s.runScreen(runView, "run-source", data), nil
}

// sourceLine is a line of a workflow.
type sourceLine struct {
	Number   int
	HTML     template.HTML
	Status   string         // of the step that begins on it
	Problems []diag.Problem // found there
}

// sourceLines splits a source into lines, the first of which has the number
// first. marked has the statuses of the steps by the lines that they begin on.
func sourceLines(source string, first int, marked map[int]string) []sourceLine {
	var lines []sourceLine
	for i, text := range strings.Split(source, "\n") {
		number := first + i
		lines = append(lines, sourceLine{Number: number, HTML: colourYAML(text), Status: marked[number]})
	}
	return lines
}

// colourYAML marks the key and the comment of a line.
func colourYAML(line string) template.HTML {
	var out strings.Builder
	body, comment := line, ""
	if trimmed := strings.TrimLeft(line, " "); strings.HasPrefix(trimmed, "#") {
		body, comment = line[:len(line)-len(trimmed)], trimmed
	} else if i := strings.Index(line, " #"); i >= 0 && strings.Count(line[:i], `"`)%2 == 0 && strings.Count(line[:i], `'`)%2 == 0 {
		body, comment = line[:i], line[i:]
	}
	key := strings.TrimLeft(body, " -")
	if i := strings.Index(key, ":"); i > 0 && !strings.ContainsAny(key[:i], ` "'{[`) && (i+1 == len(key) || key[i+1] == ' ') {
		lead := body[:len(body)-len(key)]
		out.WriteString(escapeText(lead))
		mark(&out, "jk", key[:i])
		body = key[i:]
	}
	out.WriteString(escapeText(body))
	if comment != "" {
		mark(&out, "jc", comment)
	}
	return template.HTML(out.String()) //nolint:gosec // all parts are escaped
}

// ofResult is a file that is made of a run's result.
func (s *site) ofResult(pick func(*http.Request, *runs.Result) (*attachment, error)) func(*http.Request) (*attachment, error) {
	return ofRun(func(r *http.Request, id string) (*attachment, error) {
		result, err := s.Engine.Get(r.Context(), id)
		if err != nil {
			return nil, err
		}
		return pick(r, result)
	})
}

// outputFile is one output of a run: a text as it is, all else as JSON.
func outputFile(r *http.Request, result *runs.Result) (*attachment, error) {
	name := r.PathValue("name")
	raw, ok := result.Outputs[name]
	if !ok {
		return nil, notFound("output", name)
	}
	return asFile(name, raw), nil
}

// readInputs are a run's inputs as a file, or the one that the path names.
func (s *site) readInputs(r *http.Request, id string) (*attachment, error) {
	def, err := s.Engine.Definition(r.Context(), id)
	if err != nil {
		return nil, err
	}
	name := r.PathValue("name")
	if name == "" {
		return asFile("inputs", def.Inputs), nil
	}
	inputs := map[string]json.RawMessage{}
	if err := json.Unmarshal(def.Inputs, &inputs); err != nil || inputs[name] == nil {
		return nil, notFound("input", name)
	}
	return asFile(name, inputs[name]), nil
}

// readStepInput is the input of a step's last call as a file, with references in the
// place of secrets.
func (s *site) readStepInput(r *http.Request, id string) (*attachment, error) {
	path := r.PathValue("step")
	history, err := s.history(r.Context(), nil, id, path)
	if err != nil {
		return nil, err
	}
	call := lastInput(history.Spans)
	if call == nil {
		return nil, notFound("input of step", path)
	}
	return asFile(path, call.Input), nil
}

// stepOutputsFile are the outputs of a step.
func stepOutputsFile(r *http.Request, result *runs.Result) (*attachment, error) {
	step, ok := result.Steps[r.PathValue("step")]
	if !ok || len(step.Outputs) == 0 {
		return nil, notFound("output of step", r.PathValue("step"))
	}
	return asFile(step.Path, step.Outputs), nil
}

func asFile(name string, raw json.RawMessage) *attachment {
	var text string
	if len(raw) > 0 && raw[0] == '"' && json.Unmarshal(raw, &text) == nil {
		return &attachment{name + ".txt", []byte(text)}
	}
	return &attachment{name + ".json", []byte(workspace.ReadableJSON(raw) + "\n")}
}
