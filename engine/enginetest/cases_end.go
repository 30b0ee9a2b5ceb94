package enginetest

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func say(id, text string) plan.Step { return Do(id, runs.CoreLog, map[string]any{"text": text}) }

func timeCases() []*Case {
	slow := Workflow(Do("a", "svc.read", nil, Retry(100, time.Hour)), Do("b", "svc.read", nil))
	slow.Timeout = 150 * time.Minute
	Handlers(slow, nil, []plan.Step{say("tell", "${{ run.status }}: ${{ error.kind }}")}, nil)
	return []*Case{{
		Name:     "rule 25: the run's timeout is a cancel with status timed_out",
		Workflow: slow,
		Answers:  map[string][]Answer{"a": {Fail(plan.KindUnavailable)}},
		Want: Want{
			Status: runs.RunTimedOut, Took: 150 * time.Minute, Error: &WantError{Kind: plan.KindTimeout, Reason: "run_timeout"},
			Steps: map[string]runs.StepStatus{"a": runs.StepCanceled, "b": runs.StepCanceled},
			Logs:  []string{"timed_out: timeout"},
		},
	}}
}

func handlerCases() []*Case {
	all := func(steps ...plan.Step) *plan.Workflow {
		return Handlers(Workflow(steps...),
			[]plan.Step{say("good", "good")},
			[]plan.Step{say("bad", "${{ error.step }} failed: ${{ error.kind }}")},
			[]plan.Step{say("end", "${{ run.status }} ${{ error?.kind ?? 'fine' }}"), say("after", "a was ${{ steps.a?.status }}, ${{ steps.end.status }}")},
		)
	}
	return []*Case{
		{
			Name:     "rule 25: on_success, then finally",
			Workflow: all(Do("a", "svc.read", nil)),
			Want: Want{
				Status: runs.RunSucceeded, Logs: []string{"good", "succeeded fine", "a was succeeded, succeeded"},
				Steps: map[string]runs.StepStatus{"on_success:good": runs.StepSucceeded, "finally:end": runs.StepSucceeded},
			},
		},
		{
			Name:     "rule 25: on_failure, then finally",
			Workflow: all(Do("a", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindNotFound)}},
			Want: Want{Status: runs.RunFailed, Logs: []string{
				"a failed: not_found", "failed not_found", "a was failed, succeeded",
			}},
		},
		{
			Name: "rule 25: a handler's failure is shown and changes nothing",
			Workflow: Handlers(Workflow(Do("a", "svc.read", nil)), []plan.Step{Do("tell", "svc.read", nil)}, nil,
				[]plan.Step{say("end", "${{ run.status }}")}),
			Answers: map[string][]Answer{"on_success:tell": {Fail(plan.KindAuthRequired)}},
			Want: Want{
				Status: runs.RunSucceeded, NoError: true, Logs: []string{"succeeded"},
				Steps: map[string]runs.StepStatus{"on_success:tell": runs.StepFailed},
			},
		},
		{
			Name: "rule 25: handlers run again at the new end after a resume",
			Workflow: Handlers(Workflow(Do("a", "svc.read", nil)), nil, nil,
				[]plan.Step{say("end", "attempt ${{ run.attempt }}: ${{ run.status }}")}),
			Answers: map[string][]Answer{"a": {Fail(plan.KindNotFound), OK(`{}`)}}, Acts: []Act{Resume(time.Hour)},
			Want: Want{
				Status: runs.RunSucceeded, Attempt: 2, Logs: []string{"attempt 1: failed", "attempt 2: succeeded"},
				Steps: map[string]runs.StepStatus{"finally@2:end": runs.StepSucceeded},
			},
		},
	}
}

// warned says that the run has one line in its log, a warning.
func warned(t testing.TB, got Result) {
	t.Helper()
	if len(got.Logs) != 1 || got.Logs[0].Level != "warn" {
		t.Errorf("logs %v", got.Logs)
	}
}

// sameAttempt says that the second call was the first attempt still.
func sameAttempt(t testing.TB, got Result) {
	t.Helper()
	if got.Calls[1].Attempt != 1 {
		t.Errorf("attempt %d", got.Calls[1].Attempt)
	}
}

func cancelCases() []*Case {
	two := func() *plan.Workflow {
		return Handlers(Workflow(Do("a", "svc.read", nil), Do("b", "svc.read", nil)), nil,
			[]plan.Step{say("bad", "bad")}, []plan.Step{say("end", "${{ run.status }}")})
	}
	one := func(uses string) *plan.Workflow { return Workflow(Do("a", uses, nil)) }
	return []*Case{
		{
			Name:     "rule 25: a cancel starts no new step, cancels calls, then runs finally alone",
			Workflow: two(),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(30 * time.Second)}}, Acts: []Act{Cancel(5 * time.Second)},
			Want: Want{
				Status: runs.RunCanceled, Count: 1, Took: 5 * time.Second, Logs: []string{"canceled"},
				Error: &WantError{Kind: plan.KindCanceled},
				Steps: map[string]runs.StepStatus{"a": runs.StepCanceled, "b": runs.StepCanceled},
			},
		},
		{
			Name:     "rule 25: an answer within the grace counts",
			Workflow: two(),
			Answers:  map[string][]Answer{"a": {func() Answer { a := OK(`{}`).In(10 * time.Second); a.Deaf = true; return a }()}},
			Acts:     []Act{Cancel(5 * time.Second)},
			Want: Want{
				Status: runs.RunCanceled, Count: 1, Took: 10 * time.Second,
				Steps: map[string]runs.StepStatus{"a": runs.StepSucceeded, "b": runs.StepCanceled},
			},
		},
		{
			Name:     "rule 25: an effect without an answer after the grace is unknown, and said so",
			Workflow: one("svc.send"),
			Answers:  map[string][]Answer{"a": {{Never: true}}}, Acts: []Act{Cancel(5 * time.Second)},
			Want: Want{
				Status: runs.RunCanceled, Took: 15 * time.Second, Steps: map[string]runs.StepStatus{"a": runs.StepUnknown},
				Check: warned,
			},
		},
		{
			Name:     "rule 25: a read without an answer after the grace is canceled",
			Workflow: one("svc.read"),
			Answers:  map[string][]Answer{"a": {{Never: true}}}, Acts: []Act{Cancel(5 * time.Second)},
			Want: Want{Status: runs.RunCanceled, Took: 15 * time.Second, Steps: map[string]runs.StepStatus{"a": runs.StepCanceled}},
		},
		{
			Name:     "a cancel ends waits at once, inside loops too",
			Workflow: Workflow(Each("each", []any{1, 2, 3}, []plan.Step{Do("get", "svc.read", nil, Retry(9, time.Hour))}, Parallel(2))),
			Answers:  inEach(3, Fail(plan.KindUnavailable)), Acts: []Act{Cancel(time.Minute)},
			Want: Want{
				Status: runs.RunCanceled, Count: 2, Took: time.Minute,
				Steps: map[string]runs.StepStatus{"each": runs.StepCanceled, "each[1].get": runs.StepCanceled},
			},
		},
		{
			Name:     "a cancel after the end changes nothing",
			Workflow: one("svc.read"),
			Acts:     []Act{Cancel(time.Hour)},
			Want:     Want{Status: runs.RunSucceeded},
		},
		{
			Name:     "a canceled run resumes where it stopped",
			Workflow: Output(two(), "v", "${{ steps.b.outputs.value }}"),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(30 * time.Second), OK(`{}`)}, "b": {OK(`{"value":4}`)}},
			Acts:     []Act{Cancel(5 * time.Second), Resume(time.Hour)},
			Want: Want{
				Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"a", "a", "b"}, Outputs: map[string]string{"v": "4"},
				Logs: []string{"canceled", "succeeded"},
			},
		},
		{
			Name:     "rule 25: a canceled once call with an unknown outcome is not sent again by a resume",
			Workflow: one("svc.send"),
			Answers:  map[string][]Answer{"a": {{Never: true}}}, Acts: []Act{Cancel(time.Second), Resume(time.Hour)},
			Want: Want{Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Count: 1, Attempt: 2},
		},
	}
}

func pauseCases() []*Case {
	return []*Case{
		{
			Name:     "rule 9: auth_required pauses the run by default; a resume tries again",
			Workflow: Workflow(Do("a", "svc.read", nil), Do("b", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindAuthRequired), OK(`{}`)}}, Acts: []Act{Resume(time.Hour)},
			Want: Want{Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"a", "a", "b"}, NoError: true},
		},
		{
			Name: "rule 25: a paused run runs no handler, other branches go on first",
			Workflow: Handlers(Workflow(Do("a", "svc.read", nil), Do("b", "svc.read", nil), Do("c", "svc.read", nil, Needs())),
				nil, []plan.Step{say("bad", "bad")}, []plan.Step{say("end", "end")}),
			Answers: map[string][]Answer{"a": {Fail(plan.KindAuthRequired)}, "c": {OK(`{}`).In(time.Second)}},
			Want: Want{
				Status: runs.RunPaused, Paused: runs.PausedAuthRequired, Took: time.Second, Error: &WantError{Kind: plan.KindAuthRequired, Step: "a"},
				Steps: map[string]runs.StepStatus{"a": runs.StepFailed, "b": runs.StepPending, "c": runs.StepSucceeded},
				Check: func(t testing.TB, got Result) {
					if len(got.Logs) > 0 {
						t.Errorf("a handler ran: %v", got.Logs)
					}
				},
			},
		},
		{
			Name:     "rule 9: on_error pause parks the run, with reason error",
			Workflow: Workflow(Do("a", "svc.read", nil, OnError(plan.KindConflict, plan.ReactPause))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindConflict)}},
			Want:     Want{Status: runs.RunPaused, Paused: runs.PausedError, Error: &WantError{Kind: plan.KindConflict, Step: "a"}},
		},
		{
			Name:     "rule 9: on_error fail keeps auth_required from pausing",
			Workflow: Workflow(Do("a", "svc.read", nil, OnError("", plan.ReactFail))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindAuthRequired)}},
			Want:     Want{Status: runs.RunFailed, Error: &WantError{Kind: plan.KindAuthRequired, Step: "a"}},
		},
		{
			Name:     "a paused item keeps its place in the loop's window",
			Workflow: Workflow(Each("each", []any{1, 2, 3}, body(), Parallel(2))),
			Answers:  map[string][]Answer{"each[0].get": {Fail(plan.KindAuthRequired), OK(`{}`)}},
			Acts:     []Act{Resume(time.Hour)},
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"each[0].get", "each[1].get", "each[2].get", "each[0].get"}},
		},
		{
			Name:     "a paused run can be canceled",
			Workflow: Handlers(Workflow(Do("a", "svc.read", nil)), nil, nil, []plan.Step{say("end", "${{ run.status }}")}),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindAuthRequired)}}, Acts: []Act{Cancel(time.Hour)},
			Want: Want{Status: runs.RunCanceled, Logs: []string{"canceled"}, Steps: map[string]runs.StepStatus{"a": runs.StepFailed}},
		},
	}
}

func resumeCases() []*Case {
	return []*Case{
		{
			Name: "rule 25: a resume keeps what ended and gives failed and blocked steps fresh attempts",
			Workflow: Workflow(Do("a", "svc.read", nil), Do("b", "svc.read", nil, Retry(2, time.Second)), Do("c", "svc.read", nil),
				Do("d", "svc.read", nil, Needs("a"), If("false"))),
			Answers: map[string][]Answer{"b": {Fail(plan.KindUnavailable), Fail(plan.KindUnavailable), Fail(plan.KindUnavailable), OK(`{}`)}},
			Acts:    []Act{Resume(time.Hour)},
			Want: Want{
				Status: runs.RunSucceeded, Attempt: 2, Calls: []string{"a", "b", "b", "b", "b", "c"}, NoError: true,
				Steps: map[string]runs.StepStatus{"c": runs.StepSucceeded, "d": runs.StepSkipped},
			},
		},
		{
			Name:     "rule 25: a failure that on_error continued stays on a resume",
			Workflow: Workflow(Do("a", "svc.read", nil, OnError("", plan.ReactContinue)), Do("b", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindNotFound)}, "b": {Fail(plan.KindNotFound), OK(`{}`)}},
			Acts:     []Act{Resume(time.Hour)},
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"a", "b", "b"}},
		},
		{
			Name:     "a resume of a run that succeeded changes nothing",
			Workflow: Workflow(Do("a", "svc.read", nil)),
			Acts:     []Act{Resume(time.Hour)},
			Want:     Want{Status: runs.RunSucceeded, Attempt: 1, Count: 1},
		},
	}
}

func crashCases() []*Case {
	return []*Case{
		{
			Name:     "P6: after a crash a call in flight is sent again as the same attempt",
			Workflow: Workflow(Do("a", "svc.post", nil), Do("b", "svc.read", nil)),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(10 * time.Second), OK(`{}`)}},
			Acts:     []Act{Crash(5 * time.Second)},
			Want:     Want{Status: runs.RunSucceeded, Calls: []string{"a", "a", "b"}, Check: sameAttempt},
		},
		{
			Name:     "P3: a once call in flight at a crash is never sent again",
			Workflow: Workflow(Do("a", "svc.send", nil)),
			Answers:  map[string][]Answer{"a": {OK(`{}`).In(10 * time.Second)}}, Acts: []Act{Crash(5 * time.Second)},
			Want: Want{Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Count: 1, Steps: map[string]runs.StepStatus{"a": runs.StepUnknown}},
		},
		{
			Name:     "P9: a timer that was open at a crash fires when it is due",
			Workflow: Workflow(Do("a", "svc.read", nil, Retry(2, time.Hour))),
			Answers:  map[string][]Answer{"a": {Fail(plan.KindUnavailable), OK(`{}`)}}, Acts: []Act{Crash(time.Minute)},
			Want: Want{Status: runs.RunSucceeded, Took: time.Hour, Count: 2},
		},
	}
}
