package enginetest

import (
	"bytes"
	"container/heap"
	"encoding/json"
	"slices"
	"testing"
	"time"

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
	d := &referenceRun{
		t: t, driver: r, workflow: workflow, script: script, now: Begin(),
		open: map[string]int{}, deaf: map[string]bool{}, steps: map[string]runs.Step{},
	}
	d.machine = d.newMachine()
	start := &journal.Start{
		RunID: RunID, Inputs: inputs, Trigger: "manual", ScheduledAt: Begin(), Interpreter: interp.Version,
	}
	if r.Start != nil {
		r.Start(start)
	}
	d.apply(journal.Event{Kind: journal.Started, Start: start})
	for i, act := range script.Acts {
		d.schedule(Begin().Add(act.After), happening{act: &script.Acts[i]})
	}
	d.loop()
	return d.result()
}

type referenceRun struct {
	t        testing.TB
	driver   *Reference
	workflow *plan.Workflow
	script   *Script
	machine  *interp.Machine
	now      time.Time
	agenda   agenda
	counter  int
	open     map[string]int // what is open, by path: the number of its command
	deaf     map[string]bool
	records  []*journal.Record
	calls    []Call
	logs     []runs.Log
	steps    map[string]runs.Step // as Changes told them
}

// happening is something on the agenda: an answer, a timer or an act.
type happening struct {
	at     time.Time
	order  int
	event  *journal.Event
	number int // of the command that it answers
	act    *Act
}

func (d *referenceRun) newMachine() *interp.Machine {
	machine, err := interp.New(d.workflow)
	if err != nil {
		d.t.Fatalf("compile workflow: %v", err)
	}
	return machine
}

func (d *referenceRun) schedule(at time.Time, h happening) {
	d.counter++
	h.at, h.order = at, d.counter
	if d.driver.Shuffle != nil && h.event != nil {
		h.order = d.driver.Shuffle()
	}
	heap.Push(&d.agenda, h)
}

func (d *referenceRun) loop() {
	limit := d.driver.MaxEvents
	if limit == 0 {
		limit = 100_000
	}
	for range limit {
		if len(d.agenda) == 0 {
			return
		}
		next := heap.Pop(&d.agenda).(happening)
		if d.stopped() && next.act == nil {
			continue
		}
		if next.act != nil {
			d.act(next)
			continue
		}
		if d.open[next.event.Path] != next.number {
			continue // it is no longer open
		}
		d.moveTo(next.at)
		delete(d.open, next.event.Path)
		d.apply(*next.event)
	}
	d.t.Fatalf("the run did not end within %d events", limit)
}

// stopped reports whether a driver would let the run go.
func (d *referenceRun) stopped() bool {
	status, _ := d.machine.Status()
	return d.machine.Done() || status == runs.RunPaused
}

func (d *referenceRun) moveTo(at time.Time) {
	if at.After(d.now) {
		d.now = at
	}
}

func (d *referenceRun) act(next happening) {
	if !d.stopped() {
		d.moveTo(next.at)
	}
	switch {
	case next.act.Stop:
		if !d.stopped() {
			d.apply(journal.Event{Kind: journal.Stopped})
		}
		d.crash()
		return
	case next.act.Crash:
		d.crash()
		return
	}
	d.apply(next.act.Event)
}

// apply folds an event into the Machine as a driver does: as the journal will
// give it back.
func (d *referenceRun) apply(event journal.Event) {
	event.At = d.now
	stored := recode(d.t, event)
	commands, err := d.machine.Apply(stored)
	if err != nil {
		d.t.Fatalf("apply %s %s: %v", event.Kind, event.Path, err)
	}
	d.records = append(d.records, &journal.Record{Seq: uint64(len(d.records) + 1), Event: stored, Commands: commands})
	for _, step := range d.machine.Changes() {
		d.steps[step.Path] = step
	}
	d.dispatch(commands)
	if d.driver.Seen != nil {
		d.driver.Seen(d.machine)
	}
	if d.driver.Hostile {
		d.disturb(stored)
	}
}

// disturb sends events that nobody waits for.
func (d *referenceRun) disturb(last journal.Event) {
	for _, event := range []journal.Event{
		last,
		{Kind: journal.Completed, Path: "nowhere", Completed: &runs.Completed{Output: json.RawMessage("1")}},
		{Kind: journal.TimerFired, Path: last.Path + "!late"},
	} {
		if _, open := d.open[event.Path]; open || event.Path == "" {
			continue
		}
		event.At = d.now
		before := d.snapshot()
		commands, err := d.machine.Apply(event)
		if err != nil || len(commands) > 0 || !bytes.Equal(before, d.snapshot()) {
			d.t.Fatalf("a late %s for %q changed the run: commands %v, error %v", event.Kind, event.Path, commands, err)
		}
	}
}

func (d *referenceRun) snapshot() []byte { return Snapshot(d.t, d.machine) }

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

func (d *referenceRun) dispatch(commands []journal.Command) {
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall:
			d.call(command)
		case journal.CommandTimer:
			d.set(command.Path, command.Timer.At, journal.Event{Kind: journal.TimerFired, Path: command.Path})
		case journal.CommandCancel:
			d.cancel(command.Path)
		case journal.CommandLog:
			d.logs = append(d.logs, *command.Log)
		}
	}
}

// set opens a path and puts its answer on the agenda.
func (d *referenceRun) set(path string, at time.Time, event journal.Event) {
	if _, open := d.open[path]; open {
		d.t.Fatalf("command %s is open already", path)
	}
	d.counter++
	d.open[path] = d.counter
	d.schedule(at, happening{event: &event, number: d.counter})
}

func (d *referenceRun) call(command journal.Command) {
	call := command.Call
	if call.Reconcile != "" {
		d.ask(command)
		return
	}
	d.calls = append(d.calls, Call{
		Path: command.Path, Attempt: call.Attempt, After: d.now.Sub(Begin()), Command: *call,
	})
	answer := d.script.Next(command.Path)
	at := d.now.Add(answer.After)
	event := eventOf(command.Path, answer.Answer)
	d.deaf[command.Path] = answer.Never || answer.Deaf
	switch {
	case answer.Never:
		at = d.now.Add(1000 * 24 * time.Hour)
	case answer.After > call.Timeout:
		at = d.now.Add(call.Timeout)
		event = journal.Event{Kind: journal.Failed, Path: command.Path, Failed: &runs.Error{
			Kind: plan.KindTimeout, Message: "no answer in time", Applied: runs.AppliedUnknown,
		}}
	}
	d.set(command.Path, at, event)
}

// ask answers a question about a lost call as the script says.
func (d *referenceRun) ask(command journal.Command) {
	outcome, after := d.script.Outcome(command.Call.Reconcile)
	d.set(command.Path, d.now.Add(after), journal.Event{Kind: journal.Reconciled, Path: command.Path, Outcome: &outcome})
}

func eventOf(path string, answer runs.Answer) journal.Event {
	switch {
	case answer.Completed != nil:
		return journal.Event{Kind: journal.Completed, Path: path, Completed: answer.Completed}
	case answer.Pending != nil:
		return journal.Event{Kind: journal.Pending, Path: path, Pending: answer.Pending}
	}
	return journal.Event{Kind: journal.Failed, Path: path, Failed: answer.Failed}
}

// cancel drops a timer; a canceled call answers so, unless it is deaf.
func (d *referenceRun) cancel(path string) {
	if _, open := d.open[path]; !open || d.deaf[path] {
		return
	}
	if runs.IsTimer(path) { // a timer
		delete(d.open, path)
		return
	}
	delete(d.open, path) // its own answer no longer comes
	if runs.IsQuestion(path) {
		d.set(path, d.now, journal.Event{Kind: journal.Reconciled, Path: path, Outcome: &runs.Outcome{Note: "canceled"}})
		return
	}
	d.set(path, d.now, journal.Event{Kind: journal.Failed, Path: path, Failed: &runs.Error{
		Kind: plan.KindCanceled, Message: "canceled", Applied: runs.AppliedUnknown,
	}})
}

// crash replays the journal into a new Machine and sends again what was in
// flight, as a driver does after a kill.
func (d *referenceRun) crash() {
	before := d.snapshot()
	d.machine = d.newMachine()
	Replay(d.t, d.machine, d.records)
	if !bytes.Equal(before, d.snapshot()) {
		d.t.Fatalf("the replayed run differs:\n before %s\n after  %s", before, d.snapshot())
	}
	var kept agenda
	for _, h := range d.agenda {
		if h.act != nil {
			kept = append(kept, h)
		}
	}
	d.agenda, d.open = kept, map[string]int{}
	heap.Init(&d.agenda)
	d.recover()
}

// recover records that a process drives the run again, then sends once more what
// is still in flight.
func (d *referenceRun) recover() {
	before := d.machine.InFlight()
	if slices.ContainsFunc(before, func(c journal.Command) bool { return c.Kind == journal.CommandCall }) {
		d.apply(journal.Event{Kind: journal.Driven, Interrupted: d.machine.Interrupted()})
	}
	for _, command := range d.machine.InFlight() {
		if _, asked := d.open[command.Path]; !asked && slices.ContainsFunc(before, func(c journal.Command) bool { return c.Path == command.Path }) {
			d.dispatch([]journal.Command{command})
		}
	}
}

// Replay applies records to a fresh Machine and fails the test when a record
// leads to other commands than the stored ones.
func Replay(t testing.TB, machine *interp.Machine, records []*journal.Record) {
	t.Helper()
	for _, record := range records {
		commands, err := machine.Apply(record.Event)
		if err != nil {
			t.Fatalf("replay record %d: %v", record.Seq, err)
		}
		stored, now := encode(t, record.Commands), encode(t, commands)
		if !bytes.Equal(stored, now) {
			t.Fatalf("record %d leads to other commands:\n stored %s\n now    %s", record.Seq, stored, now)
		}
	}
	machine.Changes()
}

func encode(t testing.TB, commands []journal.Command) []byte {
	t.Helper()
	if len(commands) == 0 {
		return nil
	}
	data, err := json.Marshal(commands)
	if err != nil {
		t.Fatalf("encode commands: %v", err)
	}
	return data
}

func recode(t testing.TB, event journal.Event) journal.Event {
	t.Helper()
	data, err := json.Marshal(event)
	if err != nil {
		t.Fatalf("encode event: %v", err)
	}
	var stored journal.Event
	if err := json.Unmarshal(data, &stored); err != nil {
		t.Fatalf("decode event: %v", err)
	}
	return stored
}

func (d *referenceRun) result() Result {
	status, paused := d.machine.Status()
	result := Result{
		Status: status, Paused: paused, Attempt: d.machine.Attempt(), Error: d.machine.Error(),
		Outputs: d.machine.Outputs(), Steps: map[string]runs.Step{}, Calls: d.calls, Logs: d.logs,
		Took: d.now.Sub(Begin()), Records: d.records,
	}
	for _, step := range d.machine.Steps() {
		result.Steps[step.Path] = step
		told, ok := d.steps[step.Path]
		if ok && told.Status != step.Status {
			d.t.Errorf("step %s is %s, but Changes told %s last", step.Path, step.Status, told.Status)
		}
	}
	if !d.stopped() {
		d.t.Errorf("nothing is left to happen, but the run is %s", status)
	}
	return result
}

// agenda is a heap of happenings by time, then order.
type agenda []happening

func (a agenda) Len() int { return len(a) }
func (a agenda) Less(i, j int) bool {
	if !a[i].at.Equal(a[j].at) {
		return a[i].at.Before(a[j].at)
	}
	return a[i].order < a[j].order
}
func (a agenda) Swap(i, j int) { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)   { *a = append(*a, x.(happening)) }
func (a *agenda) Pop() any {
	old := *a
	last := old[len(old)-1]
	*a = old[:len(old)-1]
	return last
}
