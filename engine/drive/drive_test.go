package drive_test

import (
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func call(path string) journal.Command {
	return journal.Command{Kind: journal.CommandCall, Path: path, Call: &journal.Call{Action: "svc.read"}}
}

func cancel(path string) journal.Command {
	return journal.Command{Kind: journal.CommandCancel, Path: path}
}

// TestTheRuleOfACancel: a timer is gone, a call is hastened and still has its answer,
// and what has not begun begins as canceled, once.
func TestTheRuleOfACancel(t *testing.T) {
	run, stopped := drive.New(nil), []string{}
	begun := map[string]*drive.Operation{}
	begin := func(op *drive.Operation) {
		begun[op.Command.Path] = op
		op.Stop = func() { stopped = append(stopped, op.Command.Path) }
	}
	timer := journal.Command{Kind: journal.CommandTimer, Path: "a!retry", Timer: &journal.Timer{}}
	run.Do([]journal.Command{timer, call("a"), cancel("a!retry"), cancel("a"), cancel("b"), cancel("c!within")}, begin)
	if want := []string{"a!retry", "a"}; !slices.Equal(stopped, want) {
		t.Errorf("hastened: %v, want %v", stopped, want)
	}
	if run.Settle(begun["a!retry"]) || run.OpenCalls() != 1 || !run.Settle(begun["a"]) || run.Settle(begun["a"]) || run.OpenCalls() != 0 {
		t.Error("a canceled timer still fires, or a canceled call has not one answer")
	}
	run.Do([]journal.Command{call("b")}, begin)
	if ev := begun["b"].Unsent(); !begun["b"].Canceled || ev.Failed.Kind != plan.KindCanceled || ev.Failed.Applied != runs.NotApplied {
		t.Errorf("canceled before it began: %v, %+v", begun["b"].Canceled, ev.Failed)
	}
	run.Do([]journal.Command{call("b")}, begin)
	if begun["b"].Canceled {
		t.Error("the next call of the path is canceled too")
	}
}

// TestALateEndIsDropped: of two calls of one path the older one ends nothing.
func TestALateEndIsDropped(t *testing.T) {
	run, begun := drive.New(nil), []*drive.Operation{}
	for range 2 {
		run.Do([]journal.Command{call("a")}, func(op *drive.Operation) { begun = append(begun, op) })
	}
	if run.OpenCalls() != 1 || run.Settle(begun[0]) || run.At("a") != begun[1] || !run.Settle(begun[1]) {
		t.Error("the end of an older call ends the one that is open")
	}
}

// TestAnOperationIsOpenOnce: a driver can tell a command that the Machine never gives.
func TestAnOperationIsOpenOnce(t *testing.T) {
	run := drive.New(nil)
	run.Do([]journal.Command{call("a")}, func(*drive.Operation) {})
	if !run.Clash(call("a")) || run.Clash(call("b")) || run.Clash(cancel("a")) {
		t.Error("what is open is not known")
	}
	run.Do([]journal.Command{cancel("a")}, nil)
	if run.Clash(call("a")) {
		t.Error("what was canceled makes room for the next call")
	}
}

// TestAnAgendaGoesByTimeThenOrder: what has both alike stays as it came.
func TestAnAgendaGoesByTimeThenOrder(t *testing.T) {
	var agenda drive.Agenda[string]
	at := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)
	agenda.Put(at.Add(time.Second), 1, "late")
	agenda.Put(at, 3, "third")
	agenda.Put(at, 1, "first")
	agenda.Put(at, 2, "dropped")
	agenda.Put(at, 1, "second")
	agenda.Keep(func(what string) bool { return what != "dropped" })
	var order []string
	for {
		_, what, more := agenda.Next()
		if !more {
			break
		}
		order = append(order, what)
	}
	if want := []string{"first", "second", "third", "late"}; !slices.Equal(order, want) {
		t.Errorf("%v, want %v", order, want)
	}
}
