package testrun

import (
	"context"
	"encoding/json"
	"errors"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// Host is what tests need of the project. Safe for concurrent use.
type Host interface {
	// Workflow reads and checks a workflow's file; the plan is nil when there are
	// errors. An error means that the file can't be read.
	Workflow(ctx context.Context, file string) (*plan.Workflow, diag.List, error)
	// Validate asks the action's plugin about the input of a call, in which
	// secrets stand as references. An error means that it can't be asked.
	Validate(ctx context.Context, action string, input json.RawMessage) ([]Refusal, error)
	// File reads a file that stands for a large value, by its name as seen from where
	// names of test files are.
	File(name string) ([]byte, error)
	// Now is the real clock, for how long cases took.
	Now() time.Time
}

// Refusal is what a plugin has against an input. Pointer is a JSON Pointer into
// it.
type Refusal struct {
	Summary, Detail, Pointer string
}

// Run runs the cases of one test file that selected takes by their names; nil = all.
// The workflow's path is read as seen from the test file's folder.
func Run(ctx context.Context, host Host, file string, src []byte, selected func(name string) bool) FileResult {
	result := FileResult{File: file, Status: Passed, Problems: diag.List{}, Cases: []CaseResult{}, Coverage: Coverage{Never: []string{}}}
	suite, problems := readSuite(file, src)
	result.Problems = append(result.Problems, problems...)
	if suite == nil || suite.workflow == nil {
		return result.finished()
	}
	result.Workflow = path.Join(path.Dir(file), suite.workflow.Text)
	workflow, ofWorkflow, err := host.Workflow(ctx, result.Workflow)
	if err != nil {
		result.Problems.Errorf(suite.workflow.Pos, CodeWorkflow, "%v", err).Hint = diag.Say("the path is read as seen from the test file's folder")
		return result.finished()
	}
	for _, p := range ofWorkflow {
		if p.Severity == diag.Error {
			result.Problems = append(result.Problems, p)
		}
	}
	if workflow == nil {
		return result.finished()
	}
	result.cases(ctx, host, suite, workflow, selected)
	return result.finished()
}

func (f *FileResult) cases(ctx context.Context, host Host, suite *suite, workflow *plan.Workflow, selected func(name string) bool) {
	steps, err := indexSteps(workflow)
	if err != nil {
		f.Problems.Errorf(suite.workflow.Pos, CodeWorkflow, "%v", err)
		return
	}
	cases, problems := bind(suite, workflow, steps, newBlobs(host, f.File))
	if suite.recorded && problems.HasErrors() && !f.Problems.HasErrors() {
		f.outdated(suite, problems)
		return
	}
	f.Problems = append(f.Problems, problems...)
	if f.Problems.HasErrors() {
		return
	}
	program, err := interp.Compile(workflow)
	if err != nil {
		f.Problems.Errorf(suite.workflow.Pos, CodeWorkflow, "%v", err)
		return
	}
	ran := map[string]bool{}
	for i := range cases {
		if ctx.Err() != nil || selected != nil && !selected(cases[i].name) {
			continue
		}
		f.Cases = append(f.Cases, runCase(ctx, host, program, steps, &cases[i], ran))
	}
	for _, info := range steps.list {
		f.Coverage.Steps++
		if ran[info.path] {
			f.Coverage.Ran++
		} else {
			f.Coverage.Never = append(f.Coverage.Never, info.label())
		}
	}
}

// outdated fails the cases of a recording that does not fit its workflow any
// more.
func (f *FileResult) outdated(suite *suite, problems diag.List) {
	for _, c := range suite.cases {
		result := CaseResult{Name: c.name, Line: c.pos.Line, Status: Stale, Failures: []Failure{}}
		for _, p := range problems {
			result.Failures = append(result.Failures, staleFailure(&p))
		}
		f.Cases = append(f.Cases, result)
	}
}

// staleFailure is the failure of what does not fit any more in a recording.
func staleFailure(p *diag.Problem) Failure {
	hint := strings.TrimPrefix(p.Hint.Text+"; "+staleHint().Text, "; ")
	return Failure{Pos: p.Pos, Kind: FailStale, Message: p.Message, Hint: hint}
}

// finished settles the status of a file.
func (f *FileResult) finished() FileResult {
	f.Problems.Sort()
	rank := []Status{Passed, Stale, Failed, Invalid}
	worst := 0
	if f.Problems.HasErrors() {
		worst = 3
	}
	for _, c := range f.Cases {
		worst = max(worst, slices.Index(rank, c.Status))
	}
	f.Status = rank[worst]
	return *f
}

func runCase(ctx context.Context, host Host, program *interp.Program, steps *stepIndex, test *testCase, ran map[string]bool) CaseResult {
	began := host.Now()
	for _, list := range test.answers {
		list.used = 0
	}
	d := newDriver(ctx, host, program, steps, test)
	d.run()
	status, _ := d.Machine.Status()
	result := CaseResult{
		Name: test.name, Line: test.pos.Line, Status: Passed, Run: string(status), Calls: len(d.calls),
		Took: d.Now.Sub(test.at), Failures: []Failure{},
	}
	result.TookMS = result.Took.Milliseconds()
	for _, view := range d.Machine.Steps() {
		if began := view.Status; began != runs.StepPending && began != runs.StepSkipped && began != runs.StepBlocked {
			ran[templateOf(view.Path)] = true
		}
	}
	d.judge()
	result.Failures = append(result.Failures, d.failures...)
	result.Wall = host.Now().Sub(began)
	result.WallMS = result.Wall.Milliseconds()
	if len(result.Failures) > 0 {
		result.Status = Failed
		if !slices.ContainsFunc(result.Failures, func(f Failure) bool { return f.Kind != FailStale }) {
			result.Status = Stale
		}
	}
	return result
}

// judge compares the end of the run with what is wanted. Where answers lacked,
// nothing follows from the rest.
func (d *driver) judge() {
	if slices.ContainsFunc(d.failures, func(f Failure) bool { return f.Kind != FailRefused && f.Kind != FailUnused }) {
		return
	}
	world := d.world()
	want := &d.test.want
	status, _ := world["run"].(map[string]any)["status"].(string)
	d.forgive()
	if status != want.status {
		refused := slices.ContainsFunc(d.failures, func(f Failure) bool { return f.Kind == FailRefused })
		if !refused { // else that says why
			d.wrongStatus(status, want)
		}
		d.missedEvents()
		return
	}
	if want.paused != nil {
		d.compare(want.paused.Pos, "run.paused", world["run"].(map[string]any)["paused"], want.paused.Text)
	}
	d.judgeError(world["error"], want)
	for _, output := range want.outputs {
		values, _ := world["outputs"].(map[string]any)
		d.compare(output.pos, "outputs."+output.name, values[output.name], output.value)
	}
	for _, pair := range want.steps {
		d.compareStep(pair.Key.Text, pair.Value, world)
	}
	for i := range want.that {
		d.judgeThat(&want.that[i], world)
	}
	d.leftovers()
}

// forgive takes back that a plugin refused an input where the case wants the
// error.
func (d *driver) forgive() {
	for _, pair := range d.test.want.failure {
		if pair.Key.Text == "kind" && pair.Value.Text == string(plan.KindInvalid) {
			d.failures = slices.DeleteFunc(d.failures, func(f Failure) bool { return f.Kind == FailRefused })
		}
	}
}

// leftovers tells answers of the case that nobody asked for: a list says which
// calls are made.
func (d *driver) leftovers() {
	for _, key := range sortedKeys(d.test.answers) {
		list := d.test.answers[key]
		if list.strict && !list.forever && list.used < len(list.list) {
			d.fail(list.list[list.used].pos, FailUnused, "step `"+key+"` did not ask for its answer "+strconv.Itoa(list.used+1)+" of "+strconv.Itoa(len(list.list)),
				"a list has one answer for each call; a single answer stands for any number of them")
		}
	}
	d.missedEvents()
}

// missedEvents tells events that did not happen.
func (d *driver) missedEvents() {
	for _, e := range d.events {
		d.fail(e.pos, FailUnused, "the event `"+e.kind+"` did not happen", "its moment did not come before the run ended, or an event above it waits")
	}
}

func (d *driver) wrongStatus(status string, want *wanted) {
	lines := []string{"want " + want.status, "got  " + status}
	if err := d.Machine.Error(); err != nil {
		text := string(err.Kind) + ": " + err.Message
		if err.Step != "" {
			text = "in step " + err.Step + ": " + text
		}
		lines = append(lines, "error "+clip(text))
	}
	hint := ""
	for _, view := range d.Machine.Steps() {
		if view.Status != runs.StepWaiting && view.Status != runs.StepCanceled {
			continue
		}
		asks := true
		switch view.Uses {
		case runs.CoreApprove:
			hint = "let a person decide: events: [{approve: " + view.Path + "}]"
		case runs.CoreWait:
			hint = "let the signal come: events: [{signal: NAME, payload: {…}}]"
		default:
			asks = false
		}
		if view.Status == runs.StepWaiting && view.Wait != "" {
			lines = append(lines, "step "+view.Path+" waits: "+view.Wait)
		} else if asks {
			lines = append(lines, "step "+view.Path+" waited in vain")
		}
	}
	d.fail(want.at, FailExpectation, "the run is "+status+", not "+want.status, hint, lines...)
}

func (d *driver) judgeError(value any, want *wanted) {
	got, _ := value.(map[string]any)
	for _, pair := range want.failure {
		text, _ := got[pair.Key.Text].(string)
		if pair.Key.Text == "message" {
			if !strings.Contains(text, pair.Value.Text) {
				d.fail(pair.Value.Pos, FailExpectation, "error.message does not contain the text", "", "want … "+pair.Value.Text+" …", "got  "+clip(text))
			}
			continue
		}
		d.compare(pair.Value.Pos, "error."+pair.Key.Text, text, pair.Value.Text)
	}
}

// judgeThat evaluates one expectation.
func (d *driver) judgeThat(x *expectation, world map[string]any) {
	holds, err := evaluate(x.source, world, d.Now)
	if err == nil && holds == true {
		return
	}
	pos := x.node.Span(x.offset, x.offset+len(x.source))
	message := "`" + clip(x.source) + "` is " + show(holds)
	source := x.source
	if err != nil {
		var failure *eval.RunError
		message = "`" + clip(x.source) + "` can't be evaluated: " + err.Error()
		if errors.As(err, &failure) && failure.End > failure.Start && failure.End <= len(source) {
			pos = x.node.Span(x.offset+failure.Start, x.offset+failure.End)
		}
	} else if part := firstFalse(x.parsed, world, d.Now); part != "" {
		source = part
		message += ": `" + clip(part) + "` does not hold"
	}
	d.fail(pos, FailExpectation, message, "", explain(source, x.parsed, world, d.Now)...)
}

func evaluate(source string, world map[string]any, at time.Time) (any, error) {
	program, err := eval.Compile(source)
	if err != nil {
		return nil, err
	}
	return program.Run(world, at)
}

// decodeJSON reads stored JSON for expectations. A secret is shown as the
// reference that it is.
func decodeJSON(raw json.RawMessage) any {
	if len(raw) == 0 {
		return nil
	}
	value, err := (&schema.Type{}).Decode(raw)
	if err == nil {
		return value
	}
	if err := json.Unmarshal(raw, &value); err != nil {
		return nil
	}
	return value
}
