package enginetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Approve answers a core.approve After the run's beginning, by ann.
func Approve(after time.Duration, step, form string) Act {
	return signaled(after, step, journal.Signal{Payload: json.RawMessage(form)})
}

// Reject refuses a core.approve, by ann.
func Reject(after time.Duration, step, comment string) Act {
	return signaled(after, step, journal.Signal{Rejected: true, Comment: comment})
}

// Signal sends a signal to whichever step waits for it.
func Signal(after time.Duration, name, payload string) Act {
	return signaled(after, "", journal.Signal{Name: name, Payload: json.RawMessage(payload)})
}

func signaled(after time.Duration, step string, signal journal.Signal) Act {
	return Act{After: after, Event: journal.Event{Kind: journal.Signaled, Path: step, By: "ann", Signal: &signal}}
}

// held says that an act is recorded while no process drives the run.
func held(act Act) Act {
	if act.Event.Signal != nil {
		act.Event.Signal.Held = true
	}
	if act.Event.Resolution != nil {
		act.Event.Resolution.Held = true
	}
	return act
}

// driven is what a driver says after it has replayed a run with something held.
func driven(after time.Duration) Act {
	return Act{After: after, Event: journal.Event{Kind: journal.Driven}}
}

// Form sets the type of what a step's answer gives.
func Form(schema string) Option {
	return func(s *plan.Step) { s.OutputSchema = json.RawMessage(schema) }
}

// Timeout sets the step's timeout.
func Timeout(d time.Duration) Option { return func(s *plan.Step) { s.Timeout = d } }

const labelForm = `{"type":"object","properties":{"label":{"type":"string","default":"stale"},"count":{"type":["integer","null"]}},"additionalProperties":false}`

func ask(options ...Option) plan.Step {
	return Do("ask", runs.CoreApprove, map[string]any{"message": "Go on?"}, append([]Option{Form(labelForm)}, options...)...)
}

func approvalCases() []*Case {
	labeled := func(options ...Option) *plan.Workflow {
		return Output(Workflow(ask(options...), Do("do", "svc.send", map[string]any{"value": "${{ steps.ask.outputs?.label ?? 'none' }}"})),
			"label", "${{ steps.ask.outputs?.label }}")
	}
	decided := func(t testing.TB, got Result) {
		t.Helper()
		decision := got.Steps["ask"].Decision
		if decision == nil || decision.By != "ann" || decision.Held || decision.At.IsZero() {
			t.Errorf("the decision is %+v", decision)
		}
	}
	return []*Case{
		{
			Name:     "rule 20: an approval gives the form's fields, defaults filled in",
			Workflow: labeled(),
			Acts:     []Act{Approve(time.Hour, "ask", `{"count":3}`)},
			Want: Want{
				Status: runs.RunSucceeded, Took: time.Hour, Outputs: map[string]string{"label": `"stale"`}, Count: 1,
				StepOut: map[string]string{"ask": `{"label":"stale","count":3}`}, Check: decided,
			},
		},
		{
			Name:     "rule 20: a rejection is a failure of kind denied",
			Workflow: labeled(),
			Acts:     []Act{Reject(time.Hour, "ask", "not today")},
			Want: Want{
				Status: runs.RunFailed, Error: &WantError{Kind: plan.KindDenied, Step: "ask", Reason: "rejected"}, Calls: nil,
				Steps: map[string]runs.StepStatus{"do": runs.StepBlocked}, Check: decided,
			},
		},
		{
			Name:     "rule 20: nobody came: kind timeout, which on_error may let go on",
			Workflow: labeled(Timeout(12*time.Hour), OnError(plan.KindTimeout, plan.ReactContinue)),
			Want: Want{
				Status: runs.RunSucceeded, StepErr: map[string]plan.ErrorKind{"ask": plan.KindTimeout}, Count: 1,
				Outputs: map[string]string{"label": "null"},
			},
		},
		{
			Name:     "an approval survives a crash, and its timeout goes on",
			Workflow: labeled(Timeout(2 * time.Hour)),
			Acts:     []Act{{After: time.Hour, Crash: true}},
			Want:     Want{Status: runs.RunFailed, Took: 2 * time.Hour, Error: &WantError{Kind: plan.KindTimeout, Step: "ask", Reason: "timeout"}},
		},
		{
			Name:     "an approval that was recorded while nobody drove the run takes effect once, when somebody does",
			Workflow: labeled(),
			Acts: []Act{
				held(Approve(time.Hour, "ask", `{"label":"old"}`)), held(Reject(2*time.Hour, "ask", "too late")),
				{After: 3 * time.Hour, Crash: true}, driven(3 * time.Hour), driven(4 * time.Hour),
			},
			Want: Want{Status: runs.RunSucceeded, Took: 3 * time.Hour, Count: 1, Outputs: map[string]string{"label": `"old"`}, Check: decided},
		},
		{
			Name:     "a second decision and one for another step change nothing",
			Workflow: labeled(),
			Acts:     []Act{Approve(time.Minute, "other", `{}`), Approve(time.Hour, "ask", `{}`), Reject(2*time.Hour, "ask", "")},
			Want:     Want{Status: runs.RunSucceeded, Took: time.Hour},
		},
		{
			Name:     "rule 25: a cancel ends an approval",
			Workflow: labeled(),
			Acts:     []Act{Cancel(time.Minute)},
			Want:     Want{Status: runs.RunCanceled, Took: time.Minute, Steps: map[string]runs.StepStatus{"ask": runs.StepCanceled}},
		},
		{
			Name:     "a resume asks again after a rejection",
			Workflow: labeled(),
			Acts:     []Act{Reject(time.Minute, "ask", ""), Resume(time.Hour), Approve(2*time.Hour, "ask", `{}`)},
			Want:     Want{Status: runs.RunSucceeded, Attempt: 2, Count: 1},
		},
		{
			Name: "each item of a loop has its own approval",
			Workflow: Output(Workflow(Each("each", []any{"a", "b"}, []plan.Step{ask()}, Key("item"), Parallel(2),
				Collect("${{ steps.ask.outputs.label }}"))), "labels", "${{ steps.each.outputs.items }}"),
			Acts: []Act{Approve(time.Minute, "each[b].ask", `{"label":"B"}`), Approve(time.Hour, "each[a].ask", `{"label":"A"}`)},
			Want: Want{Status: runs.RunSucceeded, Outputs: map[string]string{"labels": `["A","B"]`}},
		},
		{
			Name:     "an unknown outcome that was resolved while nobody drove the run is not sent before somebody does",
			Workflow: Workflow(Do("a", "svc.send", nil)),
			Answers:  map[string][]Answer{"a": {{Never: true}, OK(`{}`)}},
			Acts: []Act{
				{After: time.Second, Crash: true}, held(Resolve(time.Minute, "a", "did_not", "")), Resume(time.Hour),
			},
			Want: Want{Status: runs.RunSucceeded, Attempt: 2, Count: 2, Steps: map[string]runs.StepStatus{"a": runs.StepSucceeded}},
		},
	}
}

const payment = `{"type":"object","properties":{"payload":{"type":"object","properties":{"id":{"type":"integer"},"at":{"type":"string","format":"date-time"}},"required":["id"],"additionalProperties":false}},"required":["payload"]}`

func signalCases() []*Case {
	wait := func(id string, with map[string]any, options ...Option) plan.Step {
		return Do(id, runs.CoreWait, with, append([]Option{Form(payment)}, options...)...)
	}
	paid := map[string]any{"signal": "paid"}
	one := func(options ...Option) *plan.Workflow {
		return Output(Workflow(wait("w", paid, options...)), "id", "${{ steps.w.outputs.payload.id + 1 }}")
	}
	late := func() *plan.Workflow {
		return Output(Workflow(Do("first", runs.CoreSleep, map[string]any{"for": "23h"}), wait("w", paid)), "id", "${{ steps.w.outputs.payload.id }}")
	}
	old := Workflow(Do("first", runs.CoreSleep, map[string]any{"for": "25h"}), wait("w", paid, Timeout(time.Hour)))
	old.Timeout = 100 * time.Hour
	return []*Case{
		{
			Name: "rule 20: a signal's payload is typed by the schema", Workflow: one(),
			Acts: []Act{Signal(time.Hour, "other", `{"id":1}`), Signal(2*time.Hour, "paid", `{"id":41}`)},
			Want: Want{Status: runs.RunSucceeded, Took: 2 * time.Hour, Outputs: map[string]string{"id": "42"}},
		},
		{
			Name: "rule 20: an early signal is kept", Workflow: late(),
			Acts: []Act{Signal(time.Minute, "paid", `{"id":7}`)},
			Want: Want{Status: runs.RunSucceeded, Took: 23 * time.Hour, Outputs: map[string]string{"id": "7"}},
		},
		{
			Name: "rule 20: an early signal is kept for 24 hours only", Workflow: old,
			Acts: []Act{Signal(time.Minute, "paid", `{"id":7}`)},
			Want: Want{Status: runs.RunFailed, Took: 26 * time.Hour, Error: &WantError{Kind: plan.KindTimeout, Step: "w", Reason: "timeout"}},
		},
		{
			Name: "an early signal that breaks the schema is dropped with a word", Workflow: late(),
			Acts: []Act{Signal(time.Minute, "paid", `{"id":"x"}`), Signal(23*time.Hour+time.Minute, "paid", `{"id":8}`)},
			Want: Want{Status: runs.RunSucceeded, Outputs: map[string]string{"id": "8"}, Check: warned},
		},
		{
			Name: "rule 20: match picks the step that a signal is for, and each signal goes to one step",
			Workflow: Output(Workflow(
				Each("each", []any{1, 2, 3}, []plan.Step{wait("w", map[string]any{"signal": "paid", "match": map[string]any{"id": "${{ item }}"}})},
					Parallel(3), Collect("${{ steps.w.attempts }}"))), "n", "${{ len(steps.each.outputs.items) }}"),
			Acts: []Act{
				Signal(time.Minute, "paid", `{"id":3}`), Signal(time.Minute, "paid", `{"id":3}`), {After: time.Hour, Crash: true},
				Signal(2*time.Hour, "paid", `{"id":1}`), Signal(3*time.Hour, "paid", `{"id":2}`),
			},
			Want: Want{Status: runs.RunSucceeded, Took: 3 * time.Hour, Outputs: map[string]string{"n": "3"}},
		},
		{
			Name: "rule 20: a signal that does not come is kind timeout", Workflow: one(Timeout(time.Minute)),
			Want: Want{Status: runs.RunFailed, Took: time.Minute, Error: &WantError{Kind: plan.KindTimeout, Step: "w", Reason: "timeout"}},
		},
		{
			Name:     "a wait for a person and one for a timer are both a waiting run, and a paused step lets them go on first",
			Workflow: Workflow(With(wait("w", paid), Needs()), With(Do("bad", "svc.read", nil), Needs(), OnError(plan.KindNotFound, plan.ReactPause))),
			Answers:  map[string][]Answer{"bad": {Fail(plan.KindNotFound), OK(`{}`)}},
			Acts:     []Act{Signal(time.Hour, "paid", `{"id":1}`), Resume(2 * time.Hour)},
			Want:     Want{Status: runs.RunSucceeded, Attempt: 2, Count: 2},
		},
	}
}
