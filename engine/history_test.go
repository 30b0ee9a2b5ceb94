package engine

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// recorded makes a journal: each record is a second after the one before.
func recorded(records ...journal.Record) []*journal.Record {
	var list []*journal.Record
	for i := range records {
		record := records[i]
		record.Seq = uint64(i + 1)
		record.Event.At = time.Date(2026, 3, 1, 0, 0, i, 0, time.UTC)
		list = append(list, &record)
	}
	return list
}

func call(path, step string, attempt int) journal.Command {
	return journal.Command{Kind: journal.CommandCall, Path: path, Call: &journal.Call{
		Step: step, Action: "svc.get", Attempt: attempt, Input: json.RawMessage(`{"n":1}`), Effect: plan.EffectRead,
	}}
}

func timer(path, reason string) journal.Command {
	return journal.Command{Kind: journal.CommandTimer, Path: path, Timer: &journal.Timer{Reason: reason, At: time.Date(2026, 3, 1, 1, 0, 0, 0, time.UTC)}}
}

func commands(list ...journal.Command) []journal.Command { return list }

func historyOf(only string, records []*journal.Record) *RunHistory {
	made := historian{only: only, open: map[string]int{}, steps: map[string]string{}}
	for _, record := range records {
		made.add(record)
	}
	made.ordered()
	return &made.history
}

// TestIssue12_22AWaitForTheLimiterIsNoPartOfTheAttempt: it is a span of its own, and
// the attempt begins when it ends.
func TestIssue12_22AWaitForTheLimiterIsNoPartOfTheAttempt(t *testing.T) {
	records := recorded(
		journal.Record{Event: journal.Event{Kind: journal.Started}, Commands: commands(call("get", "get", 1), call("put", "put", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "put", Completed: &runs.Completed{}}},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "get", Completed: &runs.Completed{}}},
	)
	begin := records[0].Event.At
	at := func(second int) time.Time { return begin.Add(time.Duration(second) * time.Second) }
	records[2].Event.At = at(12)
	records[2].Event.Waits = []runs.Hold{
		{For: "disk almost full", From: at(0), Until: at(1)}, {For: runs.WaitRateLimit, From: at(1), Until: at(10)},
	}
	want := `get get limit 0 1 ok
put put call 0 1 ok
get get limit 1 10 ok
get get call 10 12 ok`
	if got := lines(historyOf("", records)); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestIssue12_22AQuestionOfALostCallWaitsToo: its waits are spans of their own, while
// they last and afterwards.
func TestIssue12_22AQuestionOfALostCallWaitsToo(t *testing.T) {
	question := call("get#reconcile", "get", 1)
	question.Call.Reconcile = "get"
	records := recorded(
		journal.Record{Event: journal.Event{Kind: journal.Started}, Commands: commands(call("get", "get", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Driven, Interrupted: []string{"get"}}, Commands: commands(question)},
		journal.Record{Event: journal.Event{Kind: journal.Reconciled, Path: "get#reconcile", Outcome: &runs.Outcome{Applied: runs.AppliedFully}}},
	)
	at := func(second int) time.Time { return records[0].Event.At.Add(time.Duration(second) * time.Second) }
	waits := &historian{history: RunHistory{}, open: map[string]int{}, steps: map[string]string{}}
	for _, record := range records[:2] {
		waits.add(record)
	}
	since, until := at(2), at(9)
	waits.live([]runs.Step{{Path: "get", Wait: string(runs.WaitRateLimit), WaitSince: &since, Until: &until}})
	if span := waits.history.Spans[len(waits.history.Spans)-1]; span.Kind != SpanLimit || !span.From.Equal(since) || !span.Due.Equal(until) || span.Message != string(runs.WaitRateLimit) {
		t.Errorf("while it waits: %+v", span)
	}
	records[2].Event.At = at(20)
	records[2].Event.Waits = []runs.Hold{{For: runs.WaitRateLimit, From: at(2), Until: at(9)}, {For: runs.WaitRateLimit, From: at(11), Until: at(18)}}
	got := lines(historyOf("", records))
	for _, want := range []string{"get get call 0 0 lost", "get#reconcile get limit 2 9 ok", "get#reconcile get ask 9 20 ok", "get#reconcile get limit 11 18 ok"} {
		if !strings.Contains(got, want) {
			t.Errorf("got\n%s\nwithout %s", got, want)
		}
	}
}

// lines writes spans for a table: step, kind, from, to in seconds, end.
func lines(history *RunHistory) string {
	var out []string
	second := func(t time.Time) string {
		if t.IsZero() {
			return "-"
		}
		return t.Format("5")
	}
	for _, s := range history.Spans {
		out = append(out, strings.TrimSpace(s.Operation+" "+s.Step+" "+string(s.Kind)+" "+second(s.From)+" "+second(s.To)+" "+string(s.End)))
	}
	for _, g := range history.Gaps {
		out = append(out, "gap "+g.Why+" "+second(g.From)+" "+second(g.To))
	}
	for _, m := range history.Marks {
		out = append(out, "mark "+string(m.Kind)+" "+m.By)
	}
	return strings.Join(out, "\n")
}

func TestHistoryTellsCallsAndWaits(t *testing.T) {
	failed := &runs.Error{Kind: plan.KindUnavailable, Message: "down"}
	history := historyOf("", recorded(
		journal.Record{Event: journal.Event{Kind: journal.Started}, Commands: commands(call("get", "get", 1), timer("!run", "run_timeout"))},
		journal.Record{Event: journal.Event{Kind: journal.Failed, Path: "get", Failed: failed}, Commands: commands(timer("get!retry1", "retry"))},
		journal.Record{Event: journal.Event{Kind: journal.TimerFired, Path: "get!retry1"}, Commands: commands(call("get", "get", 2))},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "get", Completed: &runs.Completed{Cached: true}}, Commands: commands(call("all#page2", "all", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Pending, Path: "all#page2", Pending: &runs.Pending{Message: "soon"}}, Commands: commands(timer("all#page2!poll1@2", "poll"))},
		journal.Record{Event: journal.Event{Kind: journal.CancelRun, By: "ann", Cancel: &journal.Cancel{}}, Commands: commands(
			journal.Command{Kind: journal.CommandCancel, Path: "all#page2!poll1@2"}, journal.Command{Kind: journal.CommandCancel, Path: "!run"})},
	))
	want := `get get call 0 1 failed
get get retry 1 2 ok
get get call 2 3 ok
all#page2 all call 3 4 pending
all#page2 all poll 4 5 canceled
mark cancel ann`
	if got := lines(history); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if s := history.Spans; s[0].Error != failed || !s[2].Cached || s[3].Message != "soon" || s[1].Due.IsZero() || s[0].Input != nil || history.Last != 6 {
		t.Errorf("%+v", history)
	}
}

func TestHistoryTellsWhenNothingCouldGoOn(t *testing.T) {
	finish := func(status runs.Status) []journal.Command {
		return commands(journal.Command{Kind: journal.CommandFinish, Finish: &journal.Finish{Status: status}})
	}
	history := historyOf("", recorded(
		journal.Record{Event: journal.Event{Kind: journal.Started}, Commands: commands(call("a", "a", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Driven, Interrupted: []string{"a"}}, Commands: commands(call("a", "a", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "a", Completed: &runs.Completed{}}, Commands: finish(runs.RunPaused)},
		journal.Record{Event: journal.Event{Kind: journal.Resolved, Path: "b", By: "bob"}},
		journal.Record{Event: journal.Event{Kind: journal.Resumed, By: "ann"}, Commands: commands(call("c", "c", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Stopped}},
		journal.Record{Event: journal.Event{Kind: journal.Driven}},
		journal.Record{Event: journal.Event{Kind: journal.Failed, Path: "c", Failed: &runs.Error{}}, Commands: append(finish(runs.RunFailed), call("finally:d", "finally:d", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "finally:d", Completed: &runs.Completed{}}},
		journal.Record{Event: journal.Event{Kind: journal.Resumed}},
	))
	want := `a a call 0 0 lost
a a call 1 2 ok
c c call 4 7 failed
finally:d finally:d call 7 8 ok
gap died 0 1
gap paused 2 4
gap stopped 5 6
gap ended 8 9
mark driven
mark resolved bob
mark resumed ann
mark stopped
mark driven
mark resumed`
	got := strings.ReplaceAll(lines(history)+"\n", " \n", "\n")
	if strings.TrimSpace(got) != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestHistoryOfOneStepHasItsInputs(t *testing.T) {
	records := recorded(
		journal.Record{Event: journal.Event{Kind: journal.Started}, Commands: commands(call("a", "a", 1), call("b", "b", 1))},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "b", Completed: &runs.Completed{Output: json.RawMessage(`7`)}}},
		journal.Record{Event: journal.Event{Kind: journal.Completed, Path: "a", Completed: &runs.Completed{}}},
	)
	history := historyOf("b", records)
	if len(history.Spans) != 1 || string(history.Spans[0].Input) != `{"n":1}` || string(history.Spans[0].Output) != "7" {
		t.Errorf("%+v", history.Spans)
	}
}

func TestHistoryAndDefinitionOfARun(t *testing.T) {
	dir := t.TempDir()
	writePlain(t, dir, "flowrun.yaml", "workflows: [flow.yaml]\n")
	writePlain(t, dir, "flow.yaml", "flowrun: v1\nname: nap\ninputs:\n  n: {type: integer, default: 3}\nsteps:\n  - {id: rest, uses: core.sleep, with: {for: 1ms}}\n")
	e := withSecrets(t, dir, nil)
	run, problems, err := e.StartNamed(t.Context(), "nap", NamedStart{})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	if _, err := e.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	history, err := e.History(t.Context(), run.ID, "")
	if err != nil || len(history.Spans) != 1 || history.Spans[0].Kind != SpanSleep || history.Spans[0].End != EndOK || history.Spans[0].Step != "rest" {
		t.Errorf("%+v %v", history, err)
	}
	found, err := e.Definition(t.Context(), run.ID)
	if err != nil || found.Workflow.Name != "nap" || string(found.Inputs) != `{"n":3}` {
		t.Errorf("%+v %v", found, err)
	}
	view, err := e.View(t.Context(), run.ID)
	if err != nil {
		t.Fatal(err)
	}
	result, _ := e.Get(t.Context(), run.ID)
	steps, _ := e.Steps(t.Context(), run.ID)
	want, _ := json.Marshal(&RunView{Result: result, Steps: steps, Definition: found})
	got, _ := json.Marshal(view)
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("one moment is another than its parts (-parts +view)\n%s", diff)
	}
	for name, err := range map[string]error{
		"view":       func() error { _, err := e.View(t.Context(), "01k8zq4c0vdx3y6t7k9m2n5p8r"); return err }(),
		"history":    func() error { _, err := e.History(t.Context(), "01k8zq4c0vdx3y6t7k9m2n5p8r", ""); return err }(),
		"definition": func() error { _, err := e.Definition(t.Context(), "01k8zq4c0vdx3y6t7k9m2n5p8r"); return err }(),
	} {
		if err == nil || !strings.Contains(err.Error(), "run not found") {
			t.Errorf("%s of a run that is not there: %v", name, err)
		}
	}
}

func TestAHistoryThatIsFollowedIsTheWholeOne(t *testing.T) {
	dir := t.TempDir()
	writePlain(t, dir, "flowrun.yaml", "workflows: [flow.yaml]\n")
	writePlain(t, dir, "flow.yaml", "flowrun: v1\nname: naps\nsteps:\n  - id: each\n    foreach: [1, 2, 3, 4, 5]\n    key: ${{ string(item) }}\n    steps:\n      - {id: rest, uses: core.sleep, with: {for: 2ms}}\n")
	e := withSecrets(t, dir, nil)
	run, problems, err := e.StartNamed(t.Context(), "naps", NamedStart{})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	followed := e.FollowHistory(run.ID, "")
	updates, err := e.Watch(t.Context(), run.ID, 0)
	if err != nil {
		t.Fatal(err)
	}
	var early *RunHistory
	var before int
	for range updates { // a look at each change
		part, err := followed.Read(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if early == nil {
			early, before = part, len(part.Spans)
		}
	}
	whole, err := e.History(t.Context(), run.ID, "")
	if err != nil {
		t.Fatal(err)
	}
	last, err := followed.Read(t.Context())
	if diff := cmp.Diff(whole, last); diff != "" || err != nil || len(whole.Spans) != 5 {
		t.Errorf("%v (-whole +followed):\n%s", err, diff)
	}
	if len(early.Spans) != before {
		t.Error("what was read before has changed")
	}
}
