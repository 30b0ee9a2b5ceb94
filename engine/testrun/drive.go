package testrun

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
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

// driver runs one case: single-threaded, by a virtual clock. Of what happens at
// the same time the older command comes first.
type driver struct {
	ctx     context.Context
	host    Host
	program *interp.Program
	steps   *stepIndex
	test    *testCase

	machine  *interp.Machine
	now      time.Time
	agenda   agenda
	counter  int
	open     map[string]int // what is open, by path: the number of its command
	deaf     map[string]bool
	children map[string]string // runs of sub-workflows by the paths of their starts
	records  []*journal.Record
	views    map[string]runs.Step // as Changes told them
	events   []event              // that are still to happen at a standstill
	calls    []call
	logs     []runs.Log
	finish   *journal.Finish
	failures []Failure
	asked    map[string]bool // steps whose lack of an answer was told
	crashing bool
}

// happening is something on the agenda: an answer, a timer or an act.
type happening struct {
	at     time.Time
	order  int
	event  *journal.Event
	number int // of the command that it answers
	act    *event
	guard  bool // a timer that only watches over others
}

func newDriver(ctx context.Context, host Host, program *interp.Program, steps *stepIndex, test *testCase) *driver {
	return &driver{
		ctx: ctx, host: host, program: program, steps: steps, test: test, machine: program.NewMachine(), now: test.at.UTC(),
		open: map[string]int{}, deaf: map[string]bool{}, children: map[string]string{}, views: map[string]runs.Step{}, asked: map[string]bool{},
	}
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
			d.schedule(d.test.at.Add(e.after), happening{act: e})
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

func (d *driver) schedule(at time.Time, h happening) {
	d.counter++
	h.at, h.order = at, d.counter
	heap.Push(&d.agenda, h)
}

// next lets one thing happen; false when nothing is left.
func (d *driver) next() bool {
	if d.personActs() {
		return true
	}
	if len(d.agenda) == 0 {
		return false
	}
	next := heap.Pop(&d.agenda).(happening)
	switch {
	case next.act != nil:
		if d.over(next.act.kind) {
			return true
		}
		d.moveTo(next.at)
		return d.perform(*next.act)
	case d.stopped(), d.open[next.event.Path] != next.number:
		return true // a driver lets a stopped run go; others are no longer open
	}
	d.moveTo(next.at)
	delete(d.open, next.event.Path)
	return d.apply(*next.event)
}

// stopped reports whether a driver would let the run go.
func (d *driver) stopped() bool {
	status, _ := d.machine.Status()
	return d.machine.Done() || status == runs.RunPaused
}

// over reports whether an event comes too late: of a run that has ended and did
// not succeed only a resume makes more.
func (d *driver) over(kind string) bool {
	status, _ := d.machine.Status()
	return d.machine.Done() && (kind != "resume" || status == runs.RunSucceeded)
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
	return d.stopped() || !slices.ContainsFunc(d.agenda, func(h happening) bool {
		return h.act == nil && !h.guard && d.open[h.event.Path] == h.number
	})
}

func (d *driver) moveTo(at time.Time) {
	if at.After(d.now) {
		d.now = at
	}
}

// tooEarly says why an event can't happen now; "" when it can.
func (d *driver) tooEarly(e event) string {
	view, begun := d.views[e.step]
	status, _ := d.machine.Status()
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
		if !d.stopped() {
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
		return d.machine.CheckAnswer(e.step, e.payload())
	case "resolve":
		return d.machine.CheckOutcome(e.step, e.value)
	case "signal":
		payload := e.value
		if len(payload) == 0 {
			payload = json.RawMessage("null")
		}
		for _, await := range d.machine.AwaitingSignal(e.name) {
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

// apply folds an event into the Machine as a driver does: as the journal would
// give it back. It reports whether the run can go on.
func (d *driver) apply(ev journal.Event) bool {
	ev.At = d.now
	stored, err := recoded(ev)
	if err != nil {
		d.fail(d.test.pos, FailStuck, err.Error(), "")
		return false
	}
	commands, err := d.machine.Apply(stored)
	if err != nil {
		d.fail(d.test.pos, FailStuck, err.Error(), "")
		return false
	}
	d.records = append(d.records, &journal.Record{Seq: uint64(len(d.records) + 1), Event: stored, Commands: commands})
	for _, view := range d.machine.Changes() {
		d.views[view.Path] = view
	}
	d.dispatch(commands)
	if d.crashing {
		d.crashing = false
		return d.crash()
	}
	return true
}

func recoded(ev journal.Event) (journal.Event, error) {
	data, err := json.Marshal(ev)
	if err != nil {
		return ev, fmt.Errorf("encode event: %w", err)
	}
	var stored journal.Event
	if err := json.Unmarshal(data, &stored); err != nil {
		return ev, fmt.Errorf("decode event: %w", err)
	}
	return stored, nil
}

func (d *driver) dispatch(commands []journal.Command) {
	for _, command := range commands {
		switch command.Kind {
		case journal.CommandCall:
			if command.Call.Reconcile != "" { // nobody is there to ask
				d.set(command.Path, d.now, journal.Event{Kind: journal.Reconciled, Path: command.Path, Outcome: &runs.Outcome{
					Applied: runs.AppliedUnknown, Note: "a test has no service to look into",
				}}, false)
				continue
			}
			d.call(command)
		case journal.CommandChild:
			d.child(command)
		case journal.CommandTimer:
			d.set(command.Path, command.Timer.At, journal.Event{Kind: journal.TimerFired, Path: command.Path}, guards(command.Timer.Reason))
		case journal.CommandCancel:
			d.cancel(command.Path)
		case journal.CommandLog:
			d.logs = append(d.logs, *command.Log)
		case journal.CommandFinish:
			d.finish = command.Finish
		}
	}
}

// guards reports whether nothing goes on by a timer: it only ends what takes too
// long.
func guards(reason string) bool {
	switch reason {
	case "retry", "poll", "repeat", "sleep":
		return false
	}
	return true
}

// set opens a path and puts its answer on the agenda.
func (d *driver) set(path string, at time.Time, ev journal.Event, guard bool) {
	d.counter++
	d.open[path] = d.counter
	d.schedule(at, happening{event: &ev, number: d.counter, guard: guard})
}

// cancel drops a timer; a canceled call answers so, unless it never answers.
func (d *driver) cancel(path string) {
	if _, open := d.open[path]; !open || d.deaf[path] {
		return
	}
	delete(d.open, path)
	if runs.IsTimer(path) { // a timer
		return
	}
	ev := failed(path, plan.KindCanceled, runs.AppliedUnknown, "canceled")
	if run, child := d.children[path]; child {
		ev = journal.Event{Kind: journal.ChildEnded, Path: path, Child: &journal.Child{RunID: run, Failed: ev.Failed}}
	}
	d.set(path, d.now, ev, false)
}

func failed(path string, kind plan.ErrorKind, applied runs.Applied, message string) journal.Event {
	return journal.Event{Kind: journal.Failed, Path: path, Failed: &runs.Error{Kind: kind, Message: message, Applied: applied}}
}

// crash is the end of the process: its successor replays the journal, and sends
// again what was in flight, as the engine does.
func (d *driver) crash() bool {
	machine := d.program.NewMachine()
	for _, record := range d.records {
		commands, err := machine.Apply(record.Event)
		if err == nil && !sameCommands(record.Commands, commands) {
			err = fmt.Errorf("record %d leads to other commands when it is replayed", record.Seq)
		}
		if err != nil {
			d.fail(d.test.pos, FailStuck, "after the crash: "+err.Error(), "")
			return false
		}
	}
	machine.Changes()
	d.machine = machine
	var kept agenda
	for _, h := range d.agenda {
		if h.act != nil {
			kept = append(kept, h)
		}
	}
	d.agenda, d.open, d.deaf = kept, map[string]int{}, map[string]bool{}
	heap.Init(&d.agenda)
	return d.goOn()
}

// goOn sends again what was in flight at a crash, after the word that the run is
// driven again.
func (d *driver) goOn() bool {
	before := d.machine.InFlight()
	if interrupted := d.machine.Interrupted(); len(interrupted) > 0 {
		if !d.apply(journal.Event{Kind: journal.Driven, Interrupted: interrupted}) {
			return false
		}
	}
	for _, command := range d.machine.InFlight() {
		_, asked := d.open[command.Path]
		if !asked && slices.ContainsFunc(before, func(c journal.Command) bool { return c.Path == command.Path }) {
			d.dispatch([]journal.Command{command})
		}
	}
	if d.crashing {
		d.crashing = false
		return d.crash()
	}
	return true
}

func sameCommands(a, b []journal.Command) bool {
	if len(a) == 0 && len(b) == 0 {
		return true
	}
	before, errBefore := json.Marshal(a)
	now, errNow := json.Marshal(b)
	return errBefore == nil && errNow == nil && bytes.Equal(before, now)
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
