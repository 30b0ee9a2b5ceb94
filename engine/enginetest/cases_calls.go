package enginetest

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func retryCases() []*Case {
	limited := func(seconds float64) Answer {
		return FailWith(runs.Error{Kind: plan.KindRateLimited, Message: "slow down", RetryAfterS: seconds})
	}
	return []*Case{
		{
			Name:     "rule 10: a failure of a retried kind is tried again, with growing delays",
			Workflow: Workflow(Do("a", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindUnavailable), Fail(plan.KindCrashed), OK(`{}`)}},
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"a", "a", "a"}, Took: 3 * time.Second,
				Check: func(t testing.TB, got Result) {
					if n := got.Calls[2].Attempt; n != 3 || got.Steps["a"].Attempts != 3 {
						t.Errorf("attempt %d, the step says %d", n, got.Steps["a"].Attempts)
					}
				},
			},
		},
		{
			Name:     "rule 10: attempts counts the first",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(2, time.Minute))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindUnavailable)}},
			Want:     Want{Status: runs.RunFailed, Count: 2, Took: time.Minute, Error: &WantError{Kind: plan.KindUnavailable, Step: "a"}},
		},
		{
			Name:     "rule 10: a kind that is not in `on` is not tried again",
			Workflow: Workflow(Do("a", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindConflict)}},
			Want:     Want{Status: runs.RunFailed, Count: 1},
		},
		{
			Name:     "rule 10: retry_after is the least delay",
			Workflow: Workflow(Do("a", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {limited(45), OK(`{}`)}},
			Want:     Want{Status: runs.RunSucceeded, Took: 45 * time.Second},
		},
		{
			Name:     "rule 10: a delay that is longer than retry_after stays",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(2, time.Minute))),
			Answers:  map[string][]Answer{"a": {limited(5), OK(`{}`)}},
			Want:     Want{Status: runs.RunSucceeded, Took: time.Minute},
		},
		{
			Name:     "rule 10: timeout bounds one attempt",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(2, time.Second))),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(time.Hour), OK(`{}`)}},
			Want:     Want{Status: runs.RunSucceeded, Count: 2, Took: 61 * time.Second},
		},
		{
			Name:     "rule 10: within bounds attempts and delays together",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(10, time.Minute), Within(150*time.Second))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindUnavailable)}},
			Want: Want{
				Status: runs.RunFailed, Count: 3, Took: 150 * time.Second,
				Error: &WantError{Kind: plan.KindTimeout, Step: "a", Reason: "within"},
			},
		},
		{
			Name:     "rule 10: within cancels the call in flight",
			Workflow: Workflow(Do("a", "svc.read", nil, Within(10*time.Second)), Do("b", "svc.read", nil, Needs("a"), RunIf(plan.RunIfFailed))),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(30 * time.Second)}},
			Want: Want{
				Status: runs.RunFailed, Took: 10 * time.Second,
				Steps: map[string]runs.StepStatus{"a": runs.StepFailed, "b": runs.StepSucceeded},
			},
		},
		{
			Name:     "a pending answer is asked again with its checkpoint, and is no attempt",
			Workflow: Workflow(Do("a", "svc.post", nil)),
			Answers:  map[string][]Answer{"a": {Later(5*time.Second, "one"), Later(5*time.Second, "two"), OK(`{}`)}},
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"a", "a", "a"}, Took: 10 * time.Second,
				Check: func(t testing.TB, got Result) {
					if last := got.Calls[2]; string(last.Command.Checkpoint) != "two" || last.Attempt != 1 {
						t.Errorf("the last call has checkpoint %q and attempt %d", last.Command.Checkpoint, last.Attempt)
					}
				},
			},
		},
		{
			Name:     "rule 10: repeat asks again until the condition holds",
			Workflow: Output(Workflow(Do("a", "svc.read", nil, Repeat("result.n < 10", 30*time.Second, 0))), "n", "${{ steps.a.outputs.n }}"),
			Answers: map[string][]Answer{
				"a": {OK(`{"n":30}`)}, "a#round2": {Fail(plan.KindUnavailable), OK(`{"n":20}`)}, "a#round3": {OK(`{"n":5}`)},
			},
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"a", "a#round2", "a#round2", "a#round3"}, Took: 61 * time.Second,
				Outputs: map[string]string{"n": "5"},
			},
		},
		{
			Name:     "rule 10: repeat that reaches max is a timeout",
			Workflow: Workflow(Do("a", "svc.read", nil, Repeat("result.n < 10", time.Second, 3))),
			Answers:  map[string][]Answer{"a": {OK(`{"n":30}`)}, "a#round2": {OK(`{"n":30}`)}, "a#round3": {OK(`{"n":30}`)}},
			Want:     Want{Status: runs.RunFailed, Count: 3, Error: &WantError{Kind: plan.KindTimeout, Step: "a", Reason: "max"}},
		},
	}
}

func effectCases() []*Case {
	status := func(kind plan.ErrorKind, code int) Answer {
		return FailWith(runs.Error{Kind: kind, HTTPStatus: code, Message: "scripted"})
	}
	unknown := Want{
		Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Count: 1,
		Error: &WantError{Kind: plan.KindUnknownOutcome, Step: "a", Reason: "unavailable"},
		Steps: map[string]runs.StepStatus{"a": runs.StepUnknown},
	}
	return []*Case{
		{
			Name:     "rule 11: a keyed call is sent again under the same operation path",
			Workflow: Workflow(Do("a", "svc.post", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindCrashed), OK(`{}`)}},
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"a", "a"}},
		},
		{
			Name:     "rule 11: a once call with a lost answer pauses the run",
			Workflow: once(),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindUnavailable)}},
			Want:     unknown,
		},
		{
			Name:     "rule 11: a once call is sent again when it was certainly not applied",
			Workflow: once(),
			Answers: map[string][]Answer{"a": {
				FailWith(runs.Error{Kind: plan.KindUnavailable, Applied: runs.NotApplied}), OK(`{}`),
			}},
			Want: Want{Status: runs.RunSucceeded, Count: 2},
		},
		{
			Name:     "rule 11: a refused once call fails",
			Workflow: once(),
			Answers:  map[string][]Answer{"a": {status(plan.KindForbidden, 403)}},
			Want:     Want{Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindForbidden, Step: "a"}},
		},
		{
			Name:     "rule 11: 429 to a once call fails it where the step does not say retry",
			Workflow: once(),
			Answers:  map[string][]Answer{"a": {status(plan.KindRateLimited, 429)}},
			Want:     Want{Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindRateLimited, Step: "a"}},
		},
		{
			Name:     "rule 11: a 429 that says not applied fails a once call all the same",
			Workflow: once(),
			Answers: map[string][]Answer{"a": {
				FailWith(runs.Error{Kind: plan.KindRateLimited, HTTPStatus: 429, Applied: runs.NotApplied}), OK(`{}`),
			}},
			Want: Want{Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindRateLimited, Step: "a"}},
		},
		{
			Name:     "rule 11: 429 and 503 to a once call are sent again where the step itself says retry",
			Workflow: once(Retry(3, time.Second)),
			Answers: map[string][]Answer{"a": {
				status(plan.KindRateLimited, 429), status(plan.KindUnavailable, 503), OK(`{}`),
			}},
			Want: Want{Status: runs.RunSucceeded, Count: 3},
		},
		{
			Name:     "rule 11: a 503 that says that a part took effect is not sent again even where the step says retry",
			Workflow: once(Retry(3, time.Second)),
			Answers: map[string][]Answer{"a": {
				FailWith(runs.Error{Kind: plan.KindUnavailable, HTTPStatus: 503, Applied: runs.AppliedPartly}), OK(`{}`),
			}},
			Want: Want{Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindUnavailable, Step: "a"}},
		},
		{
			Name:     "rule 11: a 500 to a once call is an unknown outcome even where the step says retry",
			Workflow: once(Retry(3, time.Second)),
			Answers:  map[string][]Answer{"a": {status(plan.KindUnavailable, 500)}},
			Want:     unknown,
		},
	}
}

// once is a workflow of one call of effect once.
func once(options ...Option) *plan.Workflow { return Workflow(Do("a", "svc.send", nil, options...)) }

// unknownCases are those of outcomes that nobody knows.
func unknownCases() []*Case {
	return []*Case{
		{
			Name:     "rule 11: on_unknown retry sends it again",
			Workflow: once(OnUnknown("retry")),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindTimeout), OK(`{}`)}},
			Want:     Want{Status: runs.RunSucceeded, Count: 2},
		},
		{
			Name:     "rule 11: on_unknown fail fails the step",
			Workflow: once(OnUnknown("fail")),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindTimeout)}},
			Want: Want{
				Status: runs.RunFailed, Count: 1, Error: &WantError{Kind: plan.KindUnknownOutcome, Step: "a", Reason: "timeout"},
				Steps: map[string]runs.StepStatus{"a": runs.StepFailed},
			},
		},
		{
			Name:     "rule 11: an unknown outcome that on_error pauses for is resolved",
			Workflow: Output(once(OnUnknown("fail"), OnError(plan.KindUnknownOutcome, plan.ReactPause)), "v", "${{ steps.a.outputs.value }}"),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindTimeout)}},
			Acts:     []Act{Resolve(time.Minute, "a", "happened", `{"value":5}`)},
			Want:     Want{Status: runs.RunSucceeded, Count: 1, Outputs: map[string]string{"v": "5"}},
		},
		{
			Name: "rule 11: a loop that pauses for an unknown outcome in it is resumed, not resolved",
			Workflow: Workflow(Each("l", `${{ ["a"] }}`, []plan.Step{Do("a", "svc.send", nil, OnUnknown("fail"))},
				OnError(plan.KindUnknownOutcome, plan.ReactPause))),
			Answers: map[string][]Answer{"l[0].a": {Fail(plan.KindTimeout)}},
			Want:    Want{Status: runs.RunPaused, Paused: runs.PausedError, Count: 1},
		},
		{
			Name:     "rule 11: resolved as happened goes on with the given output",
			Workflow: Output(once(), "v", "${{ steps.a.outputs.value }}"),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindCrashed)}},
			Acts:     []Act{Resolve(time.Minute, "a", "happened", `{"value":5}`)},
			Want:     Want{Status: runs.RunSucceeded, Count: 1, Outputs: map[string]string{"v": "5"}},
		},
		{
			Name:     "rule 11: resolved as did_not sends it again",
			Workflow: once(),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindCrashed), OK(`{}`)}},
			Acts:     []Act{Resolve(time.Minute, "a", "did_not", "")},
			Want:     Want{Status: runs.RunSucceeded, Count: 2},
		},
		{
			Name:     "rule 11: resolved as skip skips the step",
			Workflow: Workflow(Do("a", "svc.send", nil), Do("b", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindCrashed)}},
			Acts:     []Act{Resolve(time.Minute, "a", "skip", "")},
			Want:     Want{Status: runs.RunSucceeded, Steps: map[string]runs.StepStatus{"a": runs.StepSkipped, "b": runs.StepSucceeded}},
		},
		{
			Name:     "rule 11: a resume alone never sends a call with an unknown outcome again",
			Workflow: once(),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindCrashed)}}, Acts: []Act{Resume(time.Minute)},
			Want: Want{Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Count: 1, Attempt: 2},
		},
	}
}

func pageCases() []*Case {
	list := func(options ...Option) *plan.Workflow {
		return Workflow(Do("a", "svc.list", nil, options...))
	}
	span := map[string]any{"from": "2026-01-01T00:00:00Z", "to": "2026-01-20T00:00:00Z"}
	return []*Case{
		{
			Name:     "rule 12: paginate reads all pages, each its own operation",
			Workflow: list(Paginate(10, 100)),
			Answers: map[string][]Answer{
				"a": {Page(`{"rows":[1,2]}`, "x")}, "a#page2": {Fail(plan.KindUnavailable), Page(`{"rows":[3]}`, "y")}, "a#page3": {Page(`{"rows":[]}`, "")},
			},
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"a", "a#page2", "a#page2", "a#page3"},
				StepOut: map[string]string{"a": `{"items":[1,2,3],"next_cursor":null,"pages":3,"truncated":false}`},
				Check: func(t testing.TB, got Result) {
					if got.Calls[3].Command.PageCursor != "y" || got.Steps["a"].Pages != 3 {
						t.Errorf("cursor %q, pages %d", got.Calls[3].Command.PageCursor, got.Steps["a"].Pages)
					}
				},
			},
		},
		{
			Name:     "rule 12: max_pages cuts the reading off and says so",
			Workflow: list(Paginate(2, 100)),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[1]}`, "x")}, "a#page2": {Page(`{"rows":[2]}`, "y")}},
			Want:     Want{Status: runs.RunSucceeded, Count: 2, StepOut: map[string]string{"a": `{"items":[1,2],"next_cursor":"y","pages":2,"truncated":true}`}},
		},
		{
			Name:     "rule 12: max_items cuts inside a page; reading on there repeats items rather than losing them",
			Workflow: list(Paginate(10, 3)),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[1,2]}`, "x")}, "a#page2": {Page(`{"rows":[3,4]}`, "y")}},
			Want:     Want{Status: runs.RunSucceeded, Count: 2, StepOut: map[string]string{"a": `{"items":[1,2,3],"next_cursor":"x","pages":2,"truncated":true}`}},
		},
		{
			Name:     "rule 12: a repeated cursor is an error",
			Workflow: list(Paginate(10, 100)),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[1]}`, "x")}, "a#page2": {Page(`{"rows":[2]}`, "x")}},
			Want:     Want{Status: runs.RunFailed, Count: 2, Error: &WantError{Kind: plan.KindUnexpectedResponse, Step: "a", Reason: "repeated_cursor"}},
		},
		{
			Name:     "rule 12: an expired cursor starts again from page 1, once, and says so",
			Workflow: list(Paginate(10, 100)),
			Answers: map[string][]Answer{
				"a": {Page(`{"rows":[1]}`, "x")}, "a#page2": {Fail(plan.KindCursorExpired)},
				"a#restart": {Page(`{"rows":[7]}`, "z")}, "a#restart#page2": {Page(`{"rows":[8]}`, "")},
			},
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"a", "a#page2", "a#restart", "a#restart#page2"},
				StepOut: map[string]string{"a": `{"items":[7,8],"next_cursor":null,"pages":2,"truncated":false}`},
				Logs:    []string{"the page cursor expired: reading starts again from the first page, what was read is dropped"},
			},
		},
		{
			Name:     "rule 12: a cursor that expires twice fails the step",
			Workflow: list(Paginate(10, 100)),
			Answers: map[string][]Answer{
				"a": {Page(`{"rows":[1]}`, "x")}, "a#page2": {Fail(plan.KindCursorExpired)},
				"a#restart": {Page(`{"rows":[7]}`, "z")}, "a#restart#page2": {Fail(plan.KindCursorExpired)},
			},
			Want: Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindCursorExpired, Step: "a"}},
		},
		{
			Name:     "rule 12: a long range is cut into windows, each paged",
			Workflow: Workflow(Do("a", "svc.usage", span, Paginate(10, 100))),
			Answers: map[string][]Answer{
				"a": {Page(`{"rows":[1]}`, "")}, "a#window2": {Page(`{"rows":[2]}`, "x")},
				"a#window2#page2": {Page(`{"rows":[3]}`, "")}, "a#window3": {Page(`{"rows":[4]}`, "")},
			},
			Want: Want{
				Status: runs.RunSucceeded, Calls: []string{"a", "a#window2", "a#window2#page2", "a#window3"},
				StepOut: map[string]string{"a": `{"items":[1,2,3,4],"next_cursor":null,"pages":4,"truncated":false,"windows":3}`},
				Check: func(t testing.TB, got Result) {
					compareJSON(t, "input of window 2", `{"from":"2026-01-08T00:00:00Z","to":"2026-01-15T00:00:00Z"}`, got.Calls[1].Command.Input)
					compareJSON(t, "input of window 3", `{"from":"2026-01-15T00:00:00Z","to":"2026-01-20T00:00:00Z"}`, got.Calls[3].Command.Input)
				},
			},
		},
		{
			Name:     "rule 12: a failed page is where a resume goes on",
			Workflow: list(Paginate(10, 100)),
			Answers:  map[string][]Answer{"a": {Page(`{"rows":[1]}`, "x")}, "a#page2": {Fail(plan.KindForbidden), Page(`{"rows":[2]}`, "")}},
			Acts:     []Act{Resume(time.Hour)},
			Want: Want{
				Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"a", "a#page2", "a#page2"},
				StepOut: map[string]string{"a": `{"items":[1,2],"next_cursor":null,"pages":2,"truncated":false}`},
			},
		},
	}
}
