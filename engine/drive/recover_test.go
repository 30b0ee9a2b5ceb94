package drive_test

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func callOf(path string, effect plan.Effect) journal.Command {
	return journal.Command{Kind: journal.CommandCall, Path: path, Call: &journal.Call{Effect: effect}}
}

func timer(path string) journal.Command {
	return journal.Command{Kind: journal.CommandTimer, Path: path, Timer: &journal.Timer{}}
}

func child(path string) journal.Command {
	return journal.Command{Kind: journal.CommandChild, Path: path, Child: &journal.ChildStart{RunID: "c"}}
}

// begin does commands and returns the operations that began.
func begin(r *drive.Run, commands ...journal.Command) (ops []*drive.Operation) {
	r.Do(commands, func(op *drive.Operation) { ops = append(ops, op) })
	return ops
}

func TestP4WhatWaitsForItsRecord(t *testing.T) {
	turn := &drive.Turn{Commands: []journal.Command{
		callOf("read", plan.EffectRead), callOf("once", plan.EffectOnce), callOf("put", plan.EffectIdempotent), child("s"), timer("read!within"), {Kind: journal.CommandCancel, Path: "x"},
		{Kind: journal.CommandLog, Log: &runs.Log{}}, {Kind: journal.CommandFinish, Finish: &journal.Finish{}},
	}}
	now, intents := turn.Split()
	if got := paths(now); got != "read read!within x " {
		t.Errorf("at once: %s", got)
	}
	if got := paths(intents); got != "once put s " {
		t.Errorf("when the record is durable: %s", got)
	}
}

func paths(commands []journal.Command) (text string) {
	for _, command := range commands {
		text += command.Path + " "
	}
	return text
}

// reads is a run of 140 reads, so many at a time.
type reads struct {
	t       *testing.T
	program *interp.Program
	run     *drive.Run
	records []*journal.Record
}

func newReads(t *testing.T, parallel int) *reads {
	t.Helper()
	items := make([]any, 140)
	for i := range items {
		items[i] = i
	}
	program, err := interp.Compile(enginetest.Workflow(enginetest.Each("l", items, []plan.Step{enginetest.Do("a", "svc.read", nil)}, enginetest.Parallel(parallel))))
	if err != nil {
		t.Fatal(err)
	}
	return &reads{t: t, program: program, run: drive.New(program.NewMachine())}
}

func (r *reads) apply(ev journal.Event) *drive.Turn {
	r.t.Helper()
	ev.At = enginetest.Begin()
	turn, err := r.run.Apply(ev)
	if err != nil {
		r.t.Fatal(err)
	}
	r.records = append(r.records, turn.Record)
	return turn
}

func (r *reads) start() *drive.Turn {
	r.t.Helper()
	return r.apply(journal.Event{Kind: journal.Started, Start: &journal.Start{
		RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual", ScheduledAt: enginetest.Begin(), Interpreter: interp.Version,
	}})
}

// again is the next process of the run, which has replayed its journal.
func (r *reads) again() {
	r.t.Helper()
	r.run = drive.New(r.program.NewMachine())
	if err := r.run.Rebuild(r.run.Machine, drive.Each(r.records)); err != nil {
		r.t.Fatal(err)
	}
}

// TestP6AfterACrashReadsWaitForTheirRecords: the crash is counted before the call is
// sent again, and the next 128 reads are in the journal before they are sent.
func TestP6AfterACrashReadsWaitForTheirRecords(t *testing.T) {
	r := newReads(t, 1)
	if now, _ := r.start().Split(); len(now) == 0 || now[len(now)-1].Call == nil {
		t.Fatalf("a run that did not crash sends no read at once: %v", now)
	}
	r.again()
	turn, err := r.run.Recover(enginetest.Begin())
	if err != nil {
		t.Fatal(err)
	}
	if ev := turn.Record.Event; ev.Kind != journal.Driven || len(ev.Interrupted) != 1 || ev.Interrupted[0] != "l[0].a" {
		t.Errorf("the crash is not counted: %+v", ev)
	}
	for answers := 0; ; answers++ {
		now, intents := turn.Split()
		if len(intents) != 1 {
			if answers != 128 || len(now) == 0 {
				t.Errorf("after %d answers a read is sent at once, want 128", answers)
			}
			return
		}
		begin(r.run, now...)
		op := begin(r.run, intents...)[0]
		if !r.run.Settle(op) {
			t.Fatal("the call is not open")
		}
		turn = r.apply(op.Answer(runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{}`)}}))
	}
}

// TestACanceledRunSendsNothingAgain: nor does it call unknown what a stop in
// good order kept from being sent.
func TestACanceledRunSendsNothingAgain(t *testing.T) {
	for name, c := range map[string]struct {
		unsent []string
		stop   bool
		want   runs.Applied
	}{
		"a crash":                     {nil, false, runs.AppliedUnknown},
		"a stop, and it may be sent":  {nil, true, runs.AppliedUnknown},
		"a stop, and it was not sent": {[]string{"l[0].a"}, true, runs.NotApplied},
	} {
		r := newReads(t, 2)
		r.start()
		if c.stop {
			r.apply(journal.Event{Kind: journal.Stopped, Unsent: c.unsent})
		}
		r.again()
		commands, lost := r.run.Abandon()
		for _, command := range commands {
			if command.Kind != journal.CommandTimer {
				t.Errorf("%s: %s %s is done", name, command.Kind, command.Path)
			}
		}
		if len(lost) != 2 {
			t.Fatalf("%s: %d calls are lost, want 2", name, len(lost))
		}
		for i, want := range []runs.Applied{c.want, runs.AppliedUnknown} {
			if got := lost[i]; got.Event.Path != got.Call.Command.Path || got.Event.Failed.Applied != want || !r.run.Settle(got.Call) {
				t.Errorf("%s: %s is lost as %+v", name, got.Call.Command.Path, got.Event.Failed)
			}
		}
	}
}

// TestP8AReplayThatDiffersIsFound: it names the record.
func TestP8AReplayThatDiffersIsFound(t *testing.T) {
	r := newReads(t, 1)
	r.start()
	commands := r.records[0].Commands
	for name, stored := range map[string][]journal.Command{
		"one less": commands[1:], "none": nil, "one more": append(commands[:len(commands):len(commands)], timer("x")),
		"another": append(commands[:len(commands)-1:len(commands)-1], callOf("l[0].a", plan.EffectRead)),
	} {
		other := &journal.Record{Seq: 1, Event: r.records[0].Event, Commands: stored}
		var mismatch *drive.MismatchError
		if err := drive.New(nil).Rebuild(r.program.NewMachine(), drive.Each([]*journal.Record{other})); !errors.As(err, &mismatch) || mismatch.Seq != 1 {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestHowAnOperationEnds(t *testing.T) {
	ask := callOf("a#reconcile", plan.EffectOnce)
	ask.Call.Reconcile = "a"
	r := drive.New(nil)
	ops := begin(r, callOf("a", plan.EffectOnce), ask, child("s"))
	for i, want := range []journal.EventKind{journal.Failed, journal.Reconciled, journal.ChildEnded} {
		if cut, unsent := ops[i].Interrupted(), ops[i].Unsent(); cut.Kind != want || unsent.Kind != want || cut.Path != ops[i].Command.Path {
			t.Errorf("%s ends by %s and %s, want %s", cut.Path, cut.Kind, unsent.Kind, want)
		}
	}
	if cut, unsent := ops[0].Interrupted().Failed, ops[0].Unsent().Failed; cut.Applied != runs.AppliedUnknown || unsent.Applied != runs.NotApplied {
		t.Errorf("of a call that was cut off the effect is %s, of one that was not sent %s", cut.Applied, unsent.Applied)
	}
	if none := ops[0].Answer(runs.Answer{}); none.Failed.Kind != plan.KindCrashed || none.Failed.Applied != runs.AppliedUnknown {
		t.Errorf("an answer that says nothing is %+v", none.Failed)
	}
}

// TestP3WhatAnEarlierProcessMayHaveSentIsNotCalledUnsent though it is canceled before
// this one sends it; what a stop kept from being sent is.
func TestP3WhatAnEarlierProcessMayHaveSentIsNotCalledUnsent(t *testing.T) {
	for name, c := range map[string]struct {
		unsent []string
		want   runs.Applied
	}{
		"the process died":                  {nil, runs.AppliedUnknown},
		"a stop kept the call to be sent":   {[]string{"l[0].a"}, runs.NotApplied},
		"a stop kept another from its send": {[]string{"l[1].a"}, runs.AppliedUnknown},
	} {
		r := newReads(t, 2)
		r.start()
		if c.unsent != nil {
			r.apply(journal.Event{Kind: journal.Stopped, Unsent: c.unsent})
		}
		r.again()
		turn, err := r.run.Recover(enginetest.Begin())
		if err != nil {
			t.Fatal(err)
		}
		now, intents := turn.Split()
		begin(r.run, journal.Command{Kind: journal.CommandCancel, Path: "l[0].a"})
		begin(r.run, now...)
		begin(r.run, intents...)
		op := r.run.At("l[0].a")
		if op == nil || !op.Canceled || op.Unsent().Failed.Applied != c.want {
			t.Errorf("%s: %+v", name, op)
		}
	}
}
