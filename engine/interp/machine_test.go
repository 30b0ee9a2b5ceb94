package interp_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/enginetest"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

func newMachine(t testing.TB, w *plan.Workflow) *interp.Machine {
	t.Helper()
	m, err := interp.New(w)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func apply(t testing.TB, m *interp.Machine, ev journal.Event) []journal.Command {
	t.Helper()
	if ev.At.IsZero() {
		ev.At = enginetest.Begin()
	}
	commands, err := m.Apply(ev)
	if err != nil {
		t.Fatalf("apply %s %s: %v", ev.Kind, ev.Path, err)
	}
	return commands
}

func start(t testing.TB, m *interp.Machine) []journal.Command {
	t.Helper()
	return apply(t, m, journal.Event{Kind: journal.Started, Start: &journal.Start{
		RunID: enginetest.RunID, Inputs: json.RawMessage(`{}`), Trigger: "manual",
	}})
}

func completed(path, output string) journal.Event {
	return journal.Event{Kind: journal.Completed, Path: path, Completed: &runs.Completed{Output: json.RawMessage(output)}}
}

func failed(path string, kind plan.ErrorKind) journal.Event {
	return journal.Event{Kind: journal.Failed, Path: path, Failed: &runs.Error{Kind: kind, Message: "scripted"}}
}

func paths(commands []journal.Command) []string {
	var all []string
	for _, command := range commands {
		all = append(all, strings.TrimSuffix(string(command.Kind)+" "+command.Path, " "))
	}
	return all
}

func wantPaths(t testing.TB, commands []journal.Command, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, paths(commands)); diff != "" {
		t.Errorf("commands (-want +got):\n%s", diff)
	}
}

func TestTheLifeOfAShortRun(t *testing.T) {
	m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.read", nil), enginetest.Do("b", "svc.read", nil)))
	if status, _ := m.Status(); status != runs.RunQueued || m.Steps() != nil {
		t.Errorf("before its start the run is %s", status)
	}
	wantPaths(t, start(t, m), "timer !run", "call a")
	wantPaths(t, start(t, m)) // a second one
	if status, _ := m.Status(); status != runs.RunRunning {
		t.Errorf("the run is %s", status)
	}
	wantPaths(t, m.InFlight(), "timer !run", "call a")
	wantPaths(t, apply(t, m, failed("a", plan.KindUnavailable)), "timer a!retry2")
	if status, _ := m.Status(); status != runs.RunWaiting {
		t.Errorf("while it waits for a retry the run is %s", status)
	}
	retrying := m.Changes()
	if len(retrying) != 1 || retrying[0].Status != runs.StepRetrying || retrying[0].Wait != "retry 2 of 4" || retrying[0].Until == nil {
		t.Errorf("changes %+v", retrying)
	}
	wantPaths(t, apply(t, m, journal.Event{Kind: journal.TimerFired, Path: "a!retry2"}), "call a")
	wantPaths(t, apply(t, m, completed("a", `{}`)), "call b")
	wantPaths(t, apply(t, m, completed("b", `{}`)), "cancel !run", "finish")
	if status, _ := m.Status(); status != runs.RunSucceeded || !m.Done() || len(m.InFlight()) > 0 {
		t.Errorf("the run is %s, done %v", status, m.Done())
	}
}

func TestApplyRefusesOnlyAJournalThatCantBe(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil))
	m := newMachine(t, w)
	for name, ev := range map[string]journal.Event{
		"an answer before the start": completed("a", `{}`),
		"a start without payload":    {Kind: journal.Started},
	} {
		if _, err := m.Apply(ev); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	start(t, m)
	for name, ev := range map[string]journal.Event{
		"a completed event without payload": {Kind: journal.Completed, Path: "a"},
		"an unknown kind":                   {Kind: "strange"},
		"a resolution without payload":      {Kind: journal.Resolved, Path: "a"},
	} {
		if _, err := m.Apply(ev); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestCompileNamesWhatIsWrong(t *testing.T) {
	for want, w := range map[string]*plan.Workflow{
		"svc.nothing":    enginetest.Workflow(enginetest.Do("a", "svc.nothing", nil)),
		"which its list": enginetest.Workflow(enginetest.Do("a", "svc.read", nil, enginetest.Needs("b"))),
		"1:5":            enginetest.Workflow(enginetest.Do("a", "svc.read", nil, enginetest.If("1 +"))),
	} {
		if _, err := interp.New(w); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v does not name %s", err, want)
		}
	}
}

func TestRule15SecretsAndConnectionsAreResolvedAsReferences(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", map[string]any{"token": "${{ secrets.TOKEN }}"}))
	w.Actions["svc.read"].Input = json.RawMessage(`{"type":"object","properties":{"token":{"type":"string","writeOnly":true}}}`)
	connection := enginetest.Value("${{ run.workflow + '-main' }}")
	w.Steps[0].Connection = &connection
	commands := start(t, newMachine(t, w))
	call := commands[len(commands)-1].Call
	if string(call.Input) != `{"token":{"$secret":"TOKEN"}}` || call.Connection != "scripted-main" {
		t.Errorf("input %s, connection %s", call.Input, call.Connection)
	}
}

func TestRule10JitterIsTheSameOnEveryReplay(t *testing.T) {
	w := enginetest.Workflow(
		enginetest.Do("a", "svc.read", nil), enginetest.Do("b", "svc.read", nil, enginetest.Needs()),
	)
	for i := range w.Steps {
		w.Steps[i].Retry.Jitter = 0.2
	}
	delays := func() []time.Duration {
		m := newMachine(t, w)
		start(t, m)
		var found []time.Duration
		for _, path := range []string{"a", "b"} {
			timer := apply(t, m, failed(path, plan.KindUnavailable))[0].Timer
			found = append(found, timer.At.Sub(enginetest.Begin()))
		}
		return found
	}
	first := delays()
	if diff := cmp.Diff(first, delays()); diff != "" {
		t.Errorf("the delays differ:\n%s", diff)
	}
	for _, delay := range first {
		if delay < 800*time.Millisecond || delay > 1200*time.Millisecond {
			t.Errorf("delay %s is out of bounds", delay)
		}
	}
	if first[0] == first[1] {
		t.Errorf("two steps have the same jitter %s", first[0])
	}
}

func TestRule12DaysAreCutIntoWindowsToo(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.usage", map[string]any{"from": "2026-01-01", "to": "2026-01-10"}, enginetest.Paginate(10, 10)))
	w.Actions["svc.usage"].Input = json.RawMessage(`{"type":"object","properties":{"from":{"type":"string"},"to":{"type":"string"}}}`)
	m := newMachine(t, w)
	commands := start(t, m)
	if got := string(commands[1].Call.Input); got != `{"from":"2026-01-01","to":"2026-01-08"}` {
		t.Errorf("first window %s", got)
	}
	commands = apply(t, m, completed("a", `{"rows":[]}`))
	if got := string(commands[0].Call.Input); got != `{"from":"2026-01-08","to":"2026-01-10"}` {
		t.Errorf("second window %s", got)
	}
}

func TestRule13TheWatermarkGoesIntoTheFinish(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.list", nil, enginetest.Paginate(1, 10)))
	w.Steps[0].Incremental = "ledger"
	m := newMachine(t, w)
	if call := start(t, m)[1].Call; call.Cursor != "ledger" {
		t.Errorf("the call names cursor %q", call.Cursor)
	}
	answer := completed("a", `{"rows":[1]}`)
	answer.Completed.Watermark = []byte("mark")
	commands := apply(t, m, answer)
	if finish := commands[len(commands)-1].Finish; string(finish.Cursors["ledger"]) != "mark" {
		t.Errorf("finish %+v", finish)
	}
}

func TestRule13AReadingThatIsCutOffFails(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.list", nil, enginetest.Paginate(1, 10)))
	w.Steps[0].Incremental = "ledger"
	m := newMachine(t, w)
	start(t, m)
	answer := completed("a", `{"rows":[1]}`)
	answer.Completed.NextCursor = "x"
	apply(t, m, answer)
	if failure := m.Error(); failure == nil || failure.Kind != plan.KindInvalid || failure.Reason != "limit" {
		t.Errorf("error %v", failure)
	}
}

func TestRule14SetStateGoesIntoTheFinish(t *testing.T) {
	set := enginetest.Let("set", "total", "${{ 1 + 1 }}")
	set.Kind = plan.StepSetState
	commands := start(t, newMachine(t, enginetest.Workflow(set)))
	if finish := commands[len(commands)-1].Finish; string(finish.State["total"]) != "2" {
		t.Errorf("finish %+v", finish)
	}
}

func TestRule11AnOutcomeIsResolvedAfterTheEndToo(t *testing.T) {
	for outcome, want := range map[string]runs.StepStatus{
		"happened": runs.StepSucceeded, "did_not": runs.StepCanceled, "skip": runs.StepSkipped,
	} {
		m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.send", nil)))
		start(t, m)
		wantPaths(t, apply(t, m, journal.Event{Kind: journal.CancelRun}), "cancel !run", "cancel a", "timer !grace")
		wantPaths(t, m.InFlight(), "timer !grace")
		apply(t, m, journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{Grace: true}})
		wantPaths(t, apply(t, m, journal.Event{Kind: journal.Resolved, Path: "a", Resolution: &journal.Resolution{Outcome: outcome}}))
		if got := m.Steps()[0].Status; got != want {
			t.Errorf("after %s the step is %s, want %s", outcome, got, want)
		}
	}
}

func TestAPromptIsShownWhileTheStepWaits(t *testing.T) {
	m := newMachine(t, enginetest.Workflow(enginetest.Do("a", "svc.post", nil)))
	start(t, m)
	prompt := &runs.Prompt{Title: "Log in", UserCode: "ABCD"}
	apply(t, m, journal.Event{Kind: journal.Pending, Path: "a", Pending: &runs.Pending{RetryAfter: time.Second, Prompt: prompt, Message: "waiting"}})
	step := m.Steps()[0]
	if step.Status != runs.StepWaiting || step.Prompt == nil || step.Wait != "poll" || step.Message != "waiting" {
		t.Errorf("step %+v", step)
	}
	apply(t, m, journal.Event{Kind: journal.TimerFired, Path: "a!poll1"})
	apply(t, m, completed("a", `{}`))
	if step := m.Steps()[0]; step.Prompt != nil || step.Status != runs.StepSucceeded {
		t.Errorf("step %+v", step)
	}
}

func TestP20AHistoryThatGrowsTooLongFailsTheRun(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", nil, enginetest.Repeat("false", time.Second, 0)))
	w.Timeout = 0
	got := (&enginetest.Reference{MaxEvents: 60_000}).Run(t, w, json.RawMessage(`{}`), &enginetest.Script{})
	if got.Status != runs.RunFailed || got.Error.Kind != plan.KindInvalid || got.Error.Reason != "limit" {
		t.Errorf("the run is %s: %v", got.Status, got.Error)
	}
	if got.Steps["a"].Status != runs.StepCanceled {
		t.Errorf("the step is %s", got.Steps["a"].Status)
	}
}

func TestRule20BuiltinsHaveSchemasThatCanBeRead(t *testing.T) {
	names := map[string]bool{}
	for _, action := range interp.Builtins() {
		names[action.FullName()] = true
		for _, text := range []json.RawMessage{action.Input, action.Output} {
			if _, err := schema.FromJSON(text); err != nil {
				t.Errorf("%s: %v", action.FullName(), err)
			}
		}
		if want := action.FullName() == runs.CoreNotify; (action.Effect == plan.EffectKeyed) != want || action.Doc == "" {
			t.Errorf("%s has effect %s and doc %q", action.FullName(), action.Effect, action.Doc)
		}
	}
	for _, name := range []string{"approve", "wait", "sleep", "fail", "assert", "log", "notify"} {
		if !names["core."+name] {
			t.Errorf("core.%s is missing", name)
		}
	}
}

func TestCoreSleepTakesOneOfForAndUntil(t *testing.T) {
	for name, c := range map[string]struct {
		with map[string]any
		took time.Duration
		ok   bool
	}{
		"until":      {map[string]any{"until": "2026-03-02T10:30:00Z"}, time.Hour, true},
		"until past": {map[string]any{"until": "2020-03-02T10:30:00Z"}, 0, true},
		"both":       {map[string]any{"until": "2026-03-02T10:30:00Z", "for": "1h"}, 0, false},
		"none":       {map[string]any{}, 0, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := enginetest.Workflow(enginetest.Do("a", "core.sleep", c.with))
			got := (&enginetest.Reference{}).Run(t, w, json.RawMessage(`{}`), &enginetest.Script{})
			if ok := got.Status == runs.RunSucceeded; ok != c.ok || got.Took != c.took {
				t.Errorf("the run is %s after %s", got.Status, got.Took)
			}
		})
	}
}

func TestRule10CoreSleepEndsWithItsTimeoutOrWithin(t *testing.T) {
	for name, c := range map[string]struct {
		timeout, within time.Duration
		handler         bool
		took            time.Duration
		reason          string
	}{
		"neither":               {0, 0, false, time.Hour, ""},
		"longer ones":           {2 * time.Hour, 3 * time.Hour, false, time.Hour, ""},
		"timeout":               {10 * time.Minute, 20 * time.Minute, false, 10 * time.Minute, "timeout"},
		"within":                {20 * time.Minute, 10 * time.Minute, false, 10 * time.Minute, "within"},
		"handler's own default": {0, 0, true, 5 * time.Minute, "timeout"},
	} {
		t.Run(name, func(t *testing.T) {
			sleep := enginetest.Do("nap", "core.sleep", map[string]any{"for": "1h"})
			sleep.Timeout, sleep.Within = c.timeout, c.within
			w, path := enginetest.Workflow(sleep), "nap"
			if c.handler {
				w = enginetest.Handlers(enginetest.Workflow(enginetest.Let("a", "x", 1)), nil, nil, []plan.Step{sleep})
				path = "finally:nap"
			}
			m := newMachine(t, w)
			var timer journal.Command
			for _, command := range start(t, m) {
				if strings.HasPrefix(command.Path, path+"!") {
					timer = command
				}
			}
			if got := timer.Timer.At.Sub(enginetest.Begin()); got != c.took {
				t.Errorf("it wakes after %s, want %s", got, c.took)
			}
			apply(t, m, journal.Event{Kind: journal.TimerFired, Path: timer.Path, At: timer.Timer.At})
			for _, step := range m.Steps() {
				if step.Path != path {
					continue
				}
				switch {
				case c.reason == "" && step.Status != runs.StepSucceeded,
					c.reason != "" && (step.Error == nil || step.Error.Kind != plan.KindTimeout || step.Error.Reason != c.reason):
					t.Errorf("%s is %s with %v", step.Path, step.Status, step.Error)
				}
			}
		})
	}
}

func TestAResumeWhileHandlersRunStopsThem(t *testing.T) {
	w := enginetest.Handlers(enginetest.Workflow(enginetest.Do("a", "svc.read", nil)), nil, nil,
		[]plan.Step{enginetest.Do("end", "svc.read", nil)})
	m := newMachine(t, w)
	start(t, m)
	wantPaths(t, apply(t, m, failed("a", plan.KindNotFound)), "cancel !run", "finish", "call finally:end")
	wantPaths(t, apply(t, m, journal.Event{Kind: journal.Resumed}), "cancel finally:end", "timer !run@2", "call a")
	wantPaths(t, apply(t, m, completed("finally:end", `{}`)))
	wantPaths(t, apply(t, m, completed("a", `{}`)), "cancel !run@2", "finish", "call finally@2:end")
	apply(t, m, completed("finally@2:end", `{}`))
	if status, _ := m.Status(); status != runs.RunSucceeded || !m.Done() || m.Attempt() != 2 {
		t.Errorf("the run is %s, done %v, attempt %d", status, m.Done(), m.Attempt())
	}
	if call := fmt.Sprint(m.Steps()[1].Path); call != "finally@2:end" {
		t.Errorf("the handler's step is %s", call)
	}
}

func TestRule15AnExpressionChoosesAmongSecretsAndSeesConnections(t *testing.T) {
	w := enginetest.Workflow(enginetest.Do("a", "svc.read", map[string]any{
		"token": "${{ inputs.live ?? false ? secrets.LIVE : secrets.TEST }}", "plugin": "${{ connections.work.plugin }}",
	}))
	w.Connections = map[string]string{"work": "svc"}
	w.Actions["svc.read"].Input = json.RawMessage(`{"type":"object","properties":{
		"token":{"type":"string","writeOnly":true},"plugin":{"type":"string"}}}`)
	commands := start(t, newMachine(t, w))
	if got := string(commands[len(commands)-1].Call.Input); got != `{"plugin":"svc","token":{"$secret":"TEST"}}` {
		t.Errorf("input %s", got)
	}
}

func TestRule9TheDetailsOfAnErrorCanBeRead(t *testing.T) {
	w := enginetest.Output(enginetest.Workflow(
		enginetest.Do("a", "svc.read", nil, enginetest.OnError("", plan.ReactContinue)),
	), "service", "${{ steps.a.error?.details?.service }}")
	m := newMachine(t, w)
	start(t, m)
	answer := failed("a", plan.KindConflict)
	answer.Failed.Details = json.RawMessage(`{"service":"tasks"}`)
	apply(t, m, answer)
	if got := string(m.Outputs()["service"]); got != `"tasks"` {
		t.Errorf("output %s", got)
	}
}

func TestACollectThatFailsFailsItsItem(t *testing.T) {
	w := enginetest.Workflow(enginetest.Each("each", []any{0, 5}, []plan.Step{enginetest.Let("x", "n", 1)},
		enginetest.Collecting(), enginetest.Collect("${{ [7][item] }}")))
	m := newMachine(t, w)
	start(t, m)
	step := m.Steps()[0]
	var outputs struct {
		Items  []any
		Errors []struct{ Key, Kind string }
	}
	if err := json.Unmarshal(step.Outputs, &outputs); err != nil {
		t.Fatal(err)
	}
	if len(outputs.Items) != 1 || len(outputs.Errors) != 1 || outputs.Errors[0].Key != "1" || outputs.Errors[0].Kind != "invalid" {
		t.Errorf("outputs %s", step.Outputs)
	}
}
