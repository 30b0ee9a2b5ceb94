package enginetest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// crashes are n crashes, a minute apart, the first at.
func crashes(at time.Duration, n int) []Act {
	var acts []Act
	for i := range n {
		acts = append(acts, Crash(at+time.Duration(i)*time.Minute))
	}
	return acts
}

// slow never ends before the next crash.
func slow() Answer { return OK(`{}`).In(2 * time.Minute) }

// long lets a step take longer than five crashes.
func long(id, uses string, options ...Option) plan.Step {
	return Do(id, uses, nil, append([]Option{Timeout(time.Hour), Needs()}, options...)...)
}

func crashLoopCases() []*Case {
	return []*Case{
		{
			Name:     "P6: a call that was in flight at five crashes parks its step, the others go on",
			Workflow: Workflow(long("a", "svc.read"), long("b", "svc.read"), Do("c", "svc.read", nil, Needs("b")), Do("d", "svc.read", nil, Needs("a"))),
			Answers:  map[string][]Answer{"a": {slow()}, "b": {slow(), slow(), OK(`{}`)}}, Acts: crashes(time.Second, 5),
			Want: Want{
				Status: runs.RunPaused, Paused: runs.PausedCrashLoop,
				Error: &WantError{Kind: plan.KindCrashed, Step: "a", Reason: "crash_loop"},
				Steps: map[string]runs.StepStatus{"a": runs.StepFailed, "b": runs.StepSucceeded, "c": runs.StepSucceeded, "d": runs.StepPending},
				Check: func(t testing.TB, got Result) {
					if n := got.Steps["a"].Crashes; n != 5 {
						t.Errorf("%d crashes are shown", n)
					}
					for _, call := range got.Calls {
						if call.Attempt != 1 {
							t.Errorf("%s was sent as attempt %d", call.Path, call.Attempt)
						}
					}
				},
			},
		},
		{
			Name:     "P6: four crashes park nothing",
			Workflow: Workflow(long("a", "svc.post")),
			Answers:  map[string][]Answer{"a": {slow(), slow(), slow(), slow(), OK(`{}`)}}, Acts: crashes(time.Second, 4),
			Want: Want{Status: runs.RunSucceeded, Calls: []string{"a", "a", "a", "a", "a"}},
		},
		{
			Name:     "P6: an answer between two crashes lets the count begin anew",
			Workflow: Workflow(Do("a", "svc.read", nil, Timeout(time.Hour), Repeat("result.n == 2", time.Second, 0))),
			Answers:  map[string][]Answer{"a": {slow(), slow(), slow(), OK(`{"n":1}`)}, "a#round2": {slow(), slow(), slow(), OK(`{"n":2}`)}},
			Acts:     crashes(time.Second, 6),
			Want:     Want{Status: runs.RunSucceeded, Count: 8},
		},
		{
			Name:     "P6: a resume of a parked step counts anew",
			Workflow: Workflow(long("a", "svc.read")),
			Answers:  map[string][]Answer{"a": {slow(), slow(), slow(), slow(), slow(), slow(), OK(`{}`)}},
			Acts:     append(crashes(time.Second, 5), Resume(5*time.Minute), Crash(5*time.Minute)),
			Want:     Want{Status: runs.RunSucceeded, Attempt: 2, Count: 7},
		},
		{
			Name:     "P6: a graceful stop counts no crash",
			Workflow: Workflow(long("a", "svc.read")),
			Answers:  map[string][]Answer{"a": {slow(), slow(), slow(), slow(), slow(), slow(), OK(`{}`)}},
			Acts:     append(crashes(time.Second, 4), Stop(5*time.Minute), Stop(6*time.Minute)),
			Want:     Want{Status: runs.RunSucceeded, Count: 7},
		},
		{
			Name:     "P3: a once call that a graceful stop cut off is unknown",
			Workflow: Workflow(long("a", "svc.send")),
			Answers:  map[string][]Answer{"a": {slow()}}, Acts: []Act{Stop(time.Second)},
			Want: Want{Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Count: 1},
		},
		{
			Name: "P6: a handler whose call kills the engine fails, the run keeps its status",
			Workflow: Handlers(Workflow(Do("a", "svc.read", nil)), nil, nil, []plan.Step{
				long("end", "svc.read"),
			}),
			Answers: map[string][]Answer{"finally:end": {slow()}}, Acts: crashes(time.Second, 5),
			Want: Want{Status: runs.RunSucceeded, Steps: map[string]runs.StepStatus{"finally:end": runs.StepFailed}, StepErr: map[string]plan.ErrorKind{
				"finally:end": plan.KindCrashed,
			}},
		},
	}
}

func reconcileCases() []*Case {
	lost := Fail(plan.KindTimeout)
	applied := func(want runs.Applied) func(testing.TB, Result) {
		return func(t testing.TB, got Result) {
			if got.Error.Applied != want {
				t.Errorf("applied %q", got.Error.Applied)
			}
		}
	}
	return []*Case{
		{
			Name:     "rule 11: a lost call that took effect ends with what the plugin says of it",
			Workflow: Output(Workflow(Do("a", "svc.ship", nil)), "v", "${{ steps.a.outputs.value }}"),
			Answers:  map[string][]Answer{"a": {lost}}, Outcomes: map[string][]Outcome{"a": {Says(runs.AppliedFully, `{"value":7}`)}},
			Want: Want{Status: runs.RunSucceeded, Count: 1, Outputs: map[string]string{"v": "7"}},
		},
		{
			Name:     "rule 11: a lost call that did not happen is sent again as `retry` says",
			Workflow: Workflow(Do("a", "svc.ship", nil)),
			Answers:  map[string][]Answer{"a": {lost, OK(`{"value":1}`)}}, Outcomes: map[string][]Outcome{"a": {Says(runs.NotApplied, "")}},
			Want: Want{Status: runs.RunSucceeded, Count: 2, Took: time.Second},
		},
		{
			Name:     "rule 11: with no attempt left, a lost call that did not happen fails",
			Workflow: Workflow(Do("a", "svc.ship", nil, Retry(1, 0))),
			Answers:  map[string][]Answer{"a": {lost}}, Outcomes: map[string][]Outcome{"a": {Says(runs.NotApplied, "")}},
			Want: Want{Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindTimeout, Step: "a"}, Check: applied(runs.NotApplied)},
		},
		{
			Name:     "rule 11: a lost call of which a part took effect fails and is not sent again",
			Workflow: Workflow(Do("a", "svc.ship", nil)),
			Answers:  map[string][]Answer{"a": {lost, OK(`{"value":1}`)}}, Outcomes: map[string][]Outcome{"a": {Says(runs.AppliedPartly, "")}},
			Want: Want{Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindTimeout, Step: "a"}, Check: applied(runs.AppliedPartly)},
		},
		{
			Name:     "rule 11: what the plugin can't tell is unknown, and a resume asks again",
			Workflow: Workflow(Do("a", "svc.ship", nil)),
			Answers:  map[string][]Answer{"a": {lost}},
			Outcomes: map[string][]Outcome{"a": {Says(runs.AppliedUnknown, ""), Says(runs.AppliedFully, `{"value":2}`)}},
			Acts:     []Act{Resume(time.Hour)},
			Want:     Want{Status: runs.RunSucceeded, Count: 1, StepOut: map[string]string{"a": `{"value":2}`}},
		},
		{
			Name:     "rule 11: a lost call that took effect without known outputs waits for a person",
			Workflow: Workflow(Do("a", "svc.ship", nil, OnUnknown("retry"))),
			Answers:  map[string][]Answer{"a": {lost}}, Outcomes: map[string][]Outcome{"a": {Says(runs.AppliedFully, "")}},
			Want: Want{Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Count: 1, Error: &WantError{Kind: plan.KindUnknownOutcome, Step: "a", Reason: "outputs"}},
		},
		{
			Name:     "rule 11: after a crash a call that did not happen is sent again as the same attempt",
			Workflow: Workflow(long("a", "svc.ship")),
			Answers:  map[string][]Answer{"a": {slow(), OK(`{"value":3}`)}},
			Outcomes: map[string][]Outcome{"a": {Says(runs.NotApplied, "")}},
			Acts:     []Act{Crash(time.Second)},
			Want:     Want{Status: runs.RunSucceeded, Count: 2, Check: sameAttempt},
		},
		{
			Name:     "P6: a once call that kills the engine each time is parked, never repeated in silence",
			Workflow: Workflow(long("a", "svc.ship")),
			Answers:  map[string][]Answer{"a": {slow()}}, Outcomes: map[string][]Outcome{"a": {Says(runs.NotApplied, "")}},
			Acts: crashes(time.Second, 5),
			Want: Want{Status: runs.RunPaused, Paused: runs.PausedCrashLoop, Count: 5},
		},
		{
			Name:     "a question that a crash cut off is asked again",
			Workflow: Workflow(Do("a", "svc.ship", nil)),
			Answers:  map[string][]Answer{"a": {lost}},
			Outcomes: map[string][]Outcome{"a": {{Outcome: runs.Outcome{Applied: runs.NotApplied}, After: 30 * time.Second}, Says(runs.AppliedFully, `{"value":4}`)}},
			Acts:     []Act{Crash(10 * time.Second)},
			Want:     Want{Status: runs.RunSucceeded, Count: 1, StepOut: map[string]string{"a": `{"value":4}`}},
		},
		{
			Name:     "a canceled question leaves the outcome unknown",
			Workflow: Workflow(Do("a", "svc.ship", nil)),
			Answers:  map[string][]Answer{"a": {lost}},
			Outcomes: map[string][]Outcome{"a": {{Outcome: runs.Outcome{Applied: runs.NotApplied}, After: 30 * time.Second}}},
			Acts:     []Act{Cancel(10 * time.Second)},
			Want:     Want{Status: runs.RunCanceled, Steps: map[string]runs.StepStatus{"a": runs.StepUnknown}, Count: 1},
		},
	}
}

// Replan goes on by another plan, then resumes.
func Replan(after time.Duration, w *plan.Workflow) []Act {
	encoded, err := w.Encode()
	if err != nil {
		panic(err) // a plan made by hand always encodes
	}
	return []Act{
		{After: after, Event: journal.Event{Kind: journal.Replanned, Replan: &journal.Replan{
			PlanHash: plan.HashOf(encoded), Plan: encoded, Inputs: json.RawMessage(`{}`),
		}}},
		Resume(after + time.Second),
	}
}

func replanCases() []*Case {
	each := func(value any, options ...Option) plan.Step {
		return Each("each", []any{"x", "y"}, []plan.Step{
			Do("one", "svc.post", nil), Do("two", "svc.post", map[string]any{"value": value}),
		}, append(options, Key("item"))...)
	}
	end := func(that bool) plan.Step { return Do("end", runs.CoreAssert, map[string]any{"that": that}) }
	return []*Case{
		{
			Name:     "rule 21: a failed step goes on as the newer plan says, what has run stays",
			Workflow: Workflow(Do("a", "svc.post", nil), Do("b", "svc.post", map[string]any{"value": "old"})),
			Answers:  map[string][]Answer{"b": {Fail(plan.KindInvalid)}, "b#plan2": {OK(`{"value":1}`)}},
			Acts: Replan(time.Hour, Output(Workflow(
				Do("a", "svc.post", nil), Do("b", "svc.post", map[string]any{"value": "new"}), Do("c", "svc.read", nil),
			), "v", "${{ steps.b.outputs.value }}")),
			Want: Want{Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"a", "b", "b#plan2", "c"}, Outputs: map[string]string{"v": "1"}},
		},
		{
			Name:     "rule 21: a failed step that is the same keeps its key",
			Workflow: Workflow(Do("a", "svc.post", nil, Retry(1, 0))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindTimeout), OK(`{}`)}},
			Acts:     Replan(time.Hour, Workflow(Do("a", "svc.post", nil, Retry(3, time.Second)), Do("b", "svc.read", nil))),
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"a", "a", "b"}},
		},
		{
			Name:     "rule 21: the items of a loop that ended stay, the step that failed is another one",
			Workflow: Workflow(each(1, Collecting()), end(false)),
			Acts:     Replan(time.Hour, Workflow(each(1, Collecting()), end(true))),
			Want:     Want{Status: runs.RunSucceeded, Count: 4},
		},
		{
			Name:     "rule 21: a step of a loop's item that failed is another one in the newer plan",
			Workflow: Workflow(each(1)),
			Answers:  map[string][]Answer{"each[x].two": {Fail(plan.KindInvalid)}},
			Acts:     Replan(time.Hour, Workflow(each(2))),
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"each[x].one", "each[x].two", "each[x].two#plan2", "each[y].one", "each[y].two"}},
		},
	}
}
