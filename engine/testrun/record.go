package testrun

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// Recording is what a test file is made of.
type Recording struct {
	Run      runs.Run
	Error    *runs.Error
	Outputs  map[string]json.RawMessage
	Workflow *plan.Workflow // as it is now
	File     string         // of the test that is to be written
	Records  []journal.Record
}

// RefusedError says why a run can't be recorded.
type RefusedError struct{ Message, Hint string }

func (e *RefusedError) Error() string { return e.Message }

// hiddenValue stands for secrets in a recording: a secret field takes any text.
const hiddenValue = "secret"

// Record writes the test file that a stored run gives: its inputs, the answers
// that its calls got, and how it ended. The same run gives the same file. The
// error is a *RefusedError where the run can't be told again by answers alone.
func Record(r Recording) ([]byte, error) {
	switch r.Run.Status {
	case runs.RunSucceeded, runs.RunFailed, runs.RunPaused:
	default:
		return nil, &RefusedError{
			Message: fmt.Sprintf("run %s is %s: only runs that succeeded, failed or are paused can be recorded", r.Run.ID, r.Run.Status),
			Hint:    "what ends a run from outside hangs on the time that calls took, which a test does not have",
		}
	}
	steps, err := indexSteps(r.Workflow)
	if err != nil {
		return nil, err
	}
	rec := &recorder{steps: steps, open: map[string]string{}, answers: map[string]any{}}
	for i := range r.Records {
		if err := rec.add(&r.Records[i]); err != nil {
			return nil, err
		}
	}
	if rec.start == nil {
		return nil, &RefusedError{Message: fmt.Sprintf("run %s has no beginning in its journal", r.Run.ID)}
	}
	return rec.write(r)
}

// recorder gathers the answers of a journal.
type recorder struct {
	steps   *stepIndex
	start   *journal.Start
	at      string
	open    map[string]string // step by the operation path of a call
	answers map[string]any
	events  []any
}

func (r *recorder) add(record *journal.Record) error {
	ev := record.Event
	switch ev.Kind {
	case journal.Started:
		r.start, r.at = ev.Start, schema.FormatTime(ev.At.UTC())
	case journal.Completed, journal.Failed, journal.Pending, journal.ChildEnded:
		if step, ok := r.open[ev.Path]; ok {
			if err := r.answer(step, ev); err != nil {
				return err
			}
		}
	case journal.Resumed:
		r.events = append(r.events, map[string]any{"resume": true})
	case journal.Resolved:
		event := map[string]any{"resolve": ev.Path, "outcome": ev.Resolution.Outcome}
		if len(ev.Resolution.Output) > 0 {
			event["outputs"] = exact(ev.Resolution.Output)
		}
		r.events = append(r.events, event)
	case journal.Signaled:
		r.signal(ev)
	}
	for _, command := range record.Commands {
		switch command.Kind {
		case journal.CommandCall:
			r.open[command.Path] = command.Call.Step
		case journal.CommandChild:
			r.open[command.Path] = command.Child.Step
		}
	}
	return nil
}

func (r *recorder) signal(ev journal.Event) {
	s := ev.Signal
	event := map[string]any{}
	switch {
	case ev.Path == "":
		event["signal"] = s.Name
		if len(s.Payload) > 0 {
			event["payload"] = exact(s.Payload)
		}
	case s.Rejected:
		event["reject"] = ev.Path
		if s.Comment != "" {
			event["comment"] = s.Comment
		}
	default:
		event["approve"] = ev.Path
		if len(s.Payload) > 0 {
			event["form"] = exact(s.Payload)
		}
	}
	r.events = append(r.events, event)
}

func (r *recorder) answer(step string, ev journal.Event) error {
	answer := map[string]any{}
	switch {
	case ev.Completed != nil:
		outputs, err := r.outputs(step, ev.Completed.Output)
		if err != nil {
			return err
		}
		answer["outputs"] = outputs
		if len(ev.Completed.Watermark) > 0 {
			answer["watermark"] = string(ev.Completed.Watermark)
		}
	case ev.Pending != nil:
		pending := map[string]any{}
		if ev.Pending.RetryAfter > 0 {
			pending["after"] = schema.FormatDuration(ev.Pending.RetryAfter)
		}
		if ev.Pending.Message != "" {
			pending["message"] = ev.Pending.Message
		}
		answer["pending"] = pending
	case ev.Failed != nil:
		answer["error"] = failureOf(ev.Failed)
	case ev.Child != nil && ev.Child.Failed != nil:
		answer["error"] = failureOf(ev.Child.Failed)
	case ev.Child != nil:
		outputs, err := r.outputs(step, ev.Child.Outputs)
		if err != nil {
			return err
		}
		answer["outputs"] = outputs
	default:
		return nil
	}
	list, _ := r.answers[step].([]any)
	r.answers[step] = append(list, answer)
	return nil
}

func failureOf(e *runs.Error) any {
	value := map[string]any{"kind": string(e.Kind), "message": e.Message}
	for name, text := range map[string]string{"reason": e.Reason, "hint": e.Hint.Text, "applied": string(e.Applied)} {
		if text != "" {
			value[name] = text
		}
	}
	if e.HTTPStatus >= 100 {
		value["http_status"] = e.HTTPStatus
	}
	if e.RetryAfterS >= 0.001 {
		value["retry_after"] = fmt.Sprintf("%dms", int64(e.RetryAfterS*1000))
	}
	if len(e.Details) > 0 {
		value["details"] = exact(e.Details)
	}
	return value
}

// outputs hides the secrets of an output. A reference that stands where the
// schema has no secret is refused: the test could not give it back.
func (r *recorder) outputs(step string, raw json.RawMessage) (any, error) {
	var t *schema.Type
	if info := r.steps.find(step); info != nil {
		t = info.output
	}
	value, ok := hide(exact(raw), t)
	if !ok {
		return nil, &RefusedError{
			Message: fmt.Sprintf("an answer of step %s holds a secret where the schema of today has none", step),
			Hint:    "record a run that was made with the plugins of today",
		}
	}
	return value, nil
}

func hide(value any, t *schema.Type) (any, bool) {
	if schema.IsSecretRef(value) {
		return hiddenValue, t != nil && t.Secret
	}
	if t != nil && t.Secret && value != nil {
		return hiddenValue, true
	}
	all := true
	switch v := value.(type) {
	case map[string]any:
		for name, part := range v {
			inner, _ := t.Field(name)
			hidden, ok := hide(part, inner)
			v[name] = hidden
			all = all && ok
		}
	case []any:
		for i, part := range v {
			hidden, ok := hide(part, t.Element())
			v[i] = hidden
			all = all && ok
		}
	}
	return value, all
}

// exact reads JSON with its numbers as they were written.
func exact(raw json.RawMessage) any {
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) != nil {
		return nil
	}
	return value
}

// write puts the file together: the keys that people read first come first.
func (r *recorder) write(rec Recording) ([]byte, error) {
	var out strings.Builder
	base := strings.NewReplacer("\n", " ", "\r", " ").Replace(rec.Workflow.Name)
	fmt.Fprintf(&out, "# Recorded by `flowrun test --record %s`. Secrets are left out.\n# When a service or a plugin changes, record it anew; what you keep by hand belongs into a file of its own.\n", rec.Run.ID)
	fmt.Fprintf(&out, "flowrun_test: %s\n", Version)
	writePair(&out, "workflow", relativeTo(path.Dir(rec.File), rec.Workflow.File), 0)
	writePair(&out, "recorded", map[string]any{"at": r.at, "run": rec.Run.ID}, 0)
	out.WriteString("cases:\n")
	out.WriteString("  - name: " + scalarYAML("as recorded from "+base) + "\n")
	if ok := slices.ContainsFunc(rec.Workflow.Triggers, func(t plan.Trigger) bool { return t.Name == r.start.Trigger }); ok {
		writePair(&out, "trigger", r.start.Trigger, 4)
	}
	if inputs := exact(r.start.Inputs); inputs != nil {
		writePair(&out, "inputs", inputs, 4)
	}
	writePair(&out, "at", schema.FormatTime(r.start.ScheduledAt.UTC()), 4)
	if state := stateOf(r.start); len(state) > 0 {
		writePair(&out, "state", state, 4)
	}
	if len(r.answers) > 0 {
		writePair(&out, "answers", r.answers, 4)
	}
	if len(r.events) > 0 {
		writePair(&out, "events", r.events, 4)
	}
	writePair(&out, "expect", r.expect(rec), 4)
	if _, problems := readSuite(rec.File, []byte(out.String())); problems.HasErrors() {
		return nil, &RefusedError{
			Message: fmt.Sprintf("run %s is too large for a test file: %s", rec.Run.ID, problems[0].Message),
			Hint:    "record a run that reads less",
		}
	}
	return []byte(out.String()), nil
}

func (r *recorder) expect(rec Recording) map[string]any {
	expect := map[string]any{"status": string(rec.Run.Status)}
	if rec.Run.Paused != "" {
		expect["paused"] = rec.Run.Paused
	}
	if rec.Run.Status == runs.RunFailed && rec.Error != nil {
		failure := map[string]any{"kind": string(rec.Error.Kind)}
		if rec.Error.Step != "" {
			failure["step"] = rec.Error.Step
		}
		if rec.Error.Reason != "" {
			failure["reason"] = rec.Error.Reason
		}
		expect["error"] = failure
	}
	outputs := map[string]any{}
	for name, raw := range rec.Outputs {
		outputs[name] = exact(raw)
	}
	if len(outputs) > 0 {
		expect["outputs"] = outputs
	}
	return expect
}

// relativeTo is the path of file as seen from a folder, both slash-separated and
// of the same root.
func relativeTo(dir, file string) string {
	dir, file = path.Clean(dir), path.Clean(file)
	if dir == "." {
		return file
	}
	up := ""
	for dir != "." && dir != "/" {
		if rest, inside := strings.CutPrefix(file, dir+"/"); inside {
			return up + rest
		}
		dir, up = path.Dir(dir), up+"../"
	}
	return up + strings.TrimPrefix(file, "/")
}

// stateOf is the state that a stored run began with.
func stateOf(start *journal.Start) map[string]any {
	state := map[string]any{}
	for name, raw := range start.State {
		if value := exact(raw); value != nil {
			state[name] = value
		}
	}
	return state
}
