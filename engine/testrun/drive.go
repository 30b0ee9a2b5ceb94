package testrun

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// runID is the id of every tested run: what depends on it, such as the jitter of
// retries, is the same each time.
const runID = "01test000000000000000000ru"

// maxEvents ends a run that does not end: it polls for ever, or repeats.
const maxEvents = 20_000

// call is one call as the workflow made it.
type call struct {
	path    string // of the operation
	command journal.Call
	at      time.Time
	answer  string // outputs, error, pending, never, crash, none
}

// driver runs one case.
type driver struct {
	*drive.Virtual
	ctx   context.Context
	host  Host
	steps *stepIndex
	test  *testCase

	views    map[string]runs.Step // as Changes told them
	events   []event              // that are still to happen at a standstill
	calls    []call
	logs     []runs.Log
	finish   *journal.Finish
	failures []Failure
	asked    map[string]bool // steps whose lack of an answer was told
	crashing bool
	stuck    bool // an event with a time could not be applied
}

func newDriver(ctx context.Context, host Host, program *interp.Program, steps *stepIndex, test *testCase) *driver {
	d := &driver{
		Virtual: drive.NewVirtual(program, test.at.UTC()), ctx: ctx, host: host, steps: steps, test: test,
		views: map[string]runs.Step{}, asked: map[string]bool{},
	}
	d.Begin = d.begin
	return d
}

// run drives the case to its end.
func (d *driver) run() {
	start := &journal.Start{
		RunID: runID, Inputs: d.test.inputs, Trigger: d.test.trigger, ScheduledAt: d.test.at.UTC(), Interpreter: interp.Version,
	}
	giveState(start, d.test.state)
	if !d.apply(journal.Event{Kind: journal.Started, Start: start}) {
		return
	}
	for i := range d.test.events {
		e := &d.test.events[i]
		if e.timed {
			d.Schedule(d.test.at.Add(e.after), func(at time.Time) { d.onTime(at, *e) })
		} else {
			d.events = append(d.events, *e)
		}
	}
	for range maxEvents {
		if d.ctx.Err() != nil || !d.next() {
			return
		}
	}
	d.fail(d.test.pos, FailStuck, "the run did not end within 20,000 events", "bound `repeat` with `max` or `within`, or let an answer meet its `until`")
}

func (d *driver) fail(pos diag.Pos, kind, message, hint string, lines ...string) {
	d.failures = append(d.failures, Failure{Pos: pos, Kind: kind, Message: message, Hint: hint, Lines: lines})
}

// next lets one thing happen; false when nothing is left, or the case can't go on.
func (d *driver) next() bool {
	if d.personActs() {
		return true
	}
	turn, more, err := d.Next()
	return d.took(turn, err) && more && !d.stuck
}

// onTime lets an event with a time happen, unless the run is over.
func (d *driver) onTime(at time.Time, e event) {
	if !d.over(e.kind) {
		d.Advance(at)
		d.stuck = !d.perform(e)
	}
}

// over reports whether an event comes too late: of a run that has ended and did
// not succeed only a resume makes more.
func (d *driver) over(kind string) bool {
	status, _ := d.Machine.Status()
	return d.Machine.Done() && (kind != "resume" || status == runs.RunSucceeded)
}

// personActs lets the next event without a time happen once its moment has come.
func (d *driver) personActs() bool {
	if len(d.events) == 0 || d.over(d.events[0].kind) || !d.ripe(d.events[0]) {
		return false
	}
	next := d.events[0]
	d.events = d.events[1:]
	return d.perform(next)
}

// ripe reports whether the moment of an event without a time has come: its step
// waits for it, or the run stands still.
func (d *driver) ripe(e event) bool {
	switch e.kind {
	case "approve", "reject", "resolve", "resume":
		return d.tooEarly(e) == ""
	case "signal":
		for _, view := range d.views {
			if view.Uses == runs.CoreWait && view.Status == runs.StepWaiting {
				return true
			}
		}
	}
	return d.Stopped() || !slices.ContainsFunc(d.Open(), func(op *drive.Operation) bool { return !op.Command.Timer.Guards() })
}

// tooEarly says why an event can't happen now; "" when it can.
func (d *driver) tooEarly(e event) string {
	view, begun := d.views[e.step]
	status, _ := d.Machine.Status()
	switch e.kind {
	case "approve", "reject":
		if !begun || view.Form == nil || view.Uses != runs.CoreApprove {
			return "step `" + e.step + "` does not wait for a decision"
		}
	case "resolve":
		if view.Status != runs.StepUnknown {
			return "the outcome of step `" + e.step + "` is not unknown"
		}
	case "resume":
		if !d.Stopped() {
			return "the run is " + string(status)
		}
	}
	return ""
}

// unfit says why the engine refuses an answer before it reaches the run; nil
// when it takes it.
func (d *driver) unfit(e event) error {
	switch e.kind {
	case "approve":
		return d.Machine.CheckAnswer(e.step, e.payload())
	case "resolve":
		return d.Machine.CheckOutcome(e.step, e.value)
	case "signal":
		payload := e.value
		if len(payload) == 0 {
			payload = json.RawMessage("null")
		}
		for _, await := range d.Machine.AwaitingSignal(e.name) {
			if _, err := await.Type.DecodeExact(payload); err != nil {
				return err
			}
		}
	}
	return nil
}

// payload is what a decision gives: an approval without a form gives an empty
// one.
func (e event) payload() json.RawMessage {
	if e.value == nil && e.kind == "approve" {
		return json.RawMessage("{}")
	}
	return e.value
}

// perform does what an event says.
func (d *driver) perform(e event) bool {
	if why := d.tooEarly(e); why != "" {
		hint := "without `after` it waits for its moment"
		if !e.timed {
			hint = ""
		}
		d.fail(e.pos, FailUnused, "the event `"+e.kind+"` has no effect: "+why, hint)
		return true
	}
	if err := d.unfit(e); err != nil {
		d.fail(e.pos, FailUnused, "the event `"+e.kind+"` is refused: the answer does not fit: "+err.Error(), "the step waits on, as in a real run")
		return true
	}
	switch e.kind {
	case "crash":
		return d.crash()
	case "cancel":
		return d.apply(journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}, By: "test"})
	case "resume":
		return d.apply(journal.Event{Kind: journal.Resumed, By: "test"})
	case "resolve":
		return d.apply(journal.Event{Kind: journal.Resolved, Path: e.step, By: "test", Resolution: &journal.Resolution{Outcome: e.text, Output: e.value}})
	case "approve", "reject":
		return d.apply(journal.Event{Kind: journal.Signaled, Path: e.step, By: "test", Signal: &journal.Signal{
			Name: e.step, Payload: e.payload(), Rejected: e.kind == "reject", Comment: e.text,
		}})
	}
	return d.apply(journal.Event{Kind: journal.Signaled, By: "test", Signal: &journal.Signal{Name: e.name, Payload: e.value}})
}

// apply applies an event. It reports whether the run can go on.
func (d *driver) apply(ev journal.Event) bool { return d.took(d.Apply(ev)) }

// took looks at what came of an event, and reports whether the run can go on.
func (d *driver) took(turn *drive.Turn, err error) bool {
	if err != nil {
		d.fail(d.test.pos, FailStuck, err.Error(), "")
		return false
	}
	if turn == nil {
		return true
	}
	for _, view := range turn.Changes {
		d.views[view.Path] = view
	}
	d.logs = append(d.logs, turn.Logs()...)
	if finish := turn.Finish(); finish != nil {
		d.finish = finish
	}
	if d.crashing {
		d.crashing = false
		return d.crash()
	}
	return true
}

// begin answers a call or the start of a sub-workflow.
func (d *driver) begin(op *drive.Operation) {
	switch {
	case op.Command.Child != nil:
		d.child(op)
	case op.Command.Call.Reconcile != "": // nobody is there to ask
		d.Answer(op, d.Now, journal.Event{Kind: journal.Reconciled, Path: op.Command.Path, Outcome: &runs.Outcome{
			Applied: runs.AppliedUnknown, Note: "a test has no service to look into",
		}})
	default:
		d.call(op)
	}
}

// crash is the end of the process: its successor replays the journal, and sends
// again what was in flight, as the engine does.
func (d *driver) crash() bool {
	if err := d.Crash(); err != nil {
		d.fail(d.test.pos, FailStuck, "after the crash: "+err.Error(), "")
		return false
	}
	return d.took(d.GoOn())
}

// giveState hands the run the state that it begins with, as if it were stored.
func giveState(start *journal.Start, state map[string]json.RawMessage) {
	if len(state) == 0 {
		return
	}
	start.State, start.StateVersions = state, map[string]uint64{}
	for name := range state {
		start.StateVersions[name] = 1
	}
}
