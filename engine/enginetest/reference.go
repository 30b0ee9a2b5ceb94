package enginetest

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Reference runs the Machine directly: single-threaded, with a virtual clock.
// What happens at the same time happens in the order of the commands, unless
// Shuffle says otherwise. The zero value is ready.
type Reference struct {
	// Shuffle gives the order of an answer among those of the same time; nil =
	// in order.
	Shuffle func() int
	// MaxEvents ends a run that does not end; 0 = 100,000.
	MaxEvents int
	// Hostile sends, after every event, late and double ones that must change
	// nothing.
	Hostile bool
	// Start changes the payload of the started event; nil = it stays.
	Start func(*journal.Start)
	// Seen is called after every event; nil = nobody looks.
	Seen func(m *interp.Machine)
}

var _ Driver = (*Reference)(nil)

// Run drives the run to its end.
func (r *Reference) Run(t testing.TB, workflow *plan.Workflow, inputs json.RawMessage, script *Script) Result {
	t.Helper()
	program, err := interp.Compile(workflow)
	if err != nil {
		t.Fatalf("compile workflow: %v", err)
	}
	d := &referenceRun{Virtual: drive.NewVirtual(program, Begin()), t: t, driver: r, script: script, steps: map[string]runs.Step{}}
	d.Begin, d.Order = d.begin, r.Shuffle
	start := &journal.Start{
		RunID: RunID, Inputs: inputs, Trigger: "manual", ScheduledAt: Begin(), Interpreter: interp.Version,
	}
	if r.Start != nil {
		r.Start(start)
	}
	d.apply(journal.Event{Kind: journal.Started, Start: start})
	for i, act := range script.Acts {
		d.Schedule(Begin().Add(act.After), func(at time.Time) { d.act(at, &script.Acts[i]) })
	}
	d.loop()
	return d.result()
}

type referenceRun struct {
	*drive.Virtual
	t      testing.TB
	driver *Reference
	script *Script
	calls  []Call
	logs   []runs.Log
	steps  map[string]runs.Step // as Changes told them
}

func (d *referenceRun) loop() {
	limit := d.driver.MaxEvents
	if limit == 0 {
		limit = 100_000
	}
	for range limit {
		turn, more, err := d.Next()
		d.took(turn, err)
		if !more {
			return
		}
	}
	d.t.Fatalf("the run did not end within %d events", limit)
}

func (d *referenceRun) act(at time.Time, act *Act) {
	if !d.Stopped() {
		d.Advance(at)
	}
	switch {
	case act.Stop:
		if !d.Stopped() {
			d.apply(journal.Event{Kind: journal.Stopped})
		}
		d.crash()
	case act.Crash:
		d.crash()
	default:
		d.apply(act.Event)
	}
}

func (d *referenceRun) apply(event journal.Event) { d.took(d.Apply(event)) }

// took looks at what came of an event.
func (d *referenceRun) took(turn *drive.Turn, err error) {
	if err != nil {
		d.t.Fatal(err)
	}
	if turn == nil || turn.Record == nil {
		return
	}
	for _, step := range turn.Changes {
		d.steps[step.Path] = step
	}
	d.logs = append(d.logs, turn.Logs()...)
	if d.driver.Seen != nil {
		d.driver.Seen(d.Machine)
	}
	if d.driver.Hostile {
		d.disturb(turn.Record.Event)
	}
}

// disturb sends events that nobody waits for.
func (d *referenceRun) disturb(last journal.Event) {
	for _, event := range []journal.Event{
		last,
		{Kind: journal.Completed, Path: "nowhere", Completed: &runs.Completed{Output: json.RawMessage("1")}},
		{Kind: journal.TimerFired, Path: last.Path + "!late"},
	} {
		if d.At(event.Path) != nil || event.Path == "" {
			continue
		}
		event.At = d.Now
		before := d.snapshot()
		commands, err := d.Machine.Apply(event)
		if err != nil || len(commands) > 0 || !bytes.Equal(before, d.snapshot()) {
			d.t.Fatalf("a late %s for %q changed the run: commands %v, error %v", event.Kind, event.Path, commands, err)
		}
	}
}

func (d *referenceRun) snapshot() []byte { return Snapshot(d.t, d.Machine) }

// Snapshot is all that a Machine shows, as bytes to compare.
func Snapshot(t testing.TB, m *interp.Machine) []byte {
	t.Helper()
	status, paused := m.Status()
	data, err := json.Marshal(map[string]any{
		"status": status, "paused": paused, "done": m.Done(), "error": m.Error(), "outputs": m.Outputs(),
		"attempt": m.Attempt(), "steps": m.Steps(), "in_flight": m.InFlight(),
	})
	if err != nil {
		t.Fatalf("encode snapshot: %v", err)
	}
	return data
}

// begin answers a call as the script says.
func (d *referenceRun) begin(op *drive.Operation) {
	path, call := op.Command.Path, op.Command.Call
	if call.Reconcile != "" {
		outcome, after := d.script.Outcome(call.Reconcile)
		d.Answer(op, d.Now.Add(after), journal.Event{Kind: journal.Reconciled, Path: path, Outcome: &outcome})
		return
	}
	d.calls = append(d.calls, Call{Path: path, Attempt: call.Attempt, After: d.Now.Sub(Begin()), Command: *call})
	answer := d.script.Next(path)
	at, event := d.Now.Add(answer.After), op.Answer(answer.Answer)
	if answer.Never || answer.Deaf {
		op.Stop = nil
	}
	switch {
	case answer.Never:
		at = d.Now.Add(1000 * 24 * time.Hour)
	case answer.After > call.Timeout:
		at = d.Now.Add(call.Timeout)
		event = op.Answer(runs.Answer{Failed: &runs.Error{
			Kind: plan.KindTimeout, Message: "no answer in time", Applied: runs.AppliedUnknown,
		}})
	}
	d.Answer(op, at, event)
}

// crash replays the journal into a new Machine and sends again what was in
// flight, as a driver does after a kill.
func (d *referenceRun) crash() {
	before := d.snapshot()
	if err := d.Crash(); err != nil {
		d.t.Fatalf("replay: %v", err)
	}
	if !bytes.Equal(before, d.snapshot()) {
		d.t.Fatalf("the replayed run differs:\n before %s\n after  %s", before, d.snapshot())
	}
	d.took(d.GoOn())
}

// Replay applies records to a fresh Machine and fails the test when a record
// leads to other commands than the stored ones.
func Replay(t testing.TB, machine *interp.Machine, records []*journal.Record) {
	t.Helper()
	if err := drive.New(machine).Rebuild(machine, drive.Each(records)); err != nil {
		t.Fatalf("replay: %v", err)
	}
}

func (d *referenceRun) result() Result {
	status, paused := d.Machine.Status()
	result := Result{
		Status: status, Paused: paused, Attempt: d.Machine.Attempt(), Error: d.Machine.Error(),
		Outputs: d.Machine.Outputs(), Steps: map[string]runs.Step{}, Calls: d.calls, Logs: d.logs,
		Took: d.Now.Sub(Begin()), Records: d.Records,
	}
	for _, step := range d.Machine.Steps() {
		result.Steps[step.Path] = step
		told, ok := d.steps[step.Path]
		if ok && told.Status != step.Status {
			d.t.Errorf("step %s is %s, but Changes told %s last", step.Path, step.Status, told.Status)
		}
	}
	if !d.Stopped() {
		d.t.Errorf("nothing is left to happen, but the run is %s", status)
	}
	return result
}
