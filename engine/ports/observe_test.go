package ports

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/google/go-cmp/cmp"
)

func TestTheObserverSetsTheTraceContextOfACallAndHearsItsAnswer(t *testing.T) {
	var said []string
	caller := &answering{}
	observer := &runs.Observer{Call: func(r *runs.Request) func(runs.Answer) {
		r.Traceparent = "00-1-2-01"
		said = append(said, fmt.Sprintf("call %s attempt %d", r.Action, r.Attempt))
		return func(a runs.Answer) { said = append(said, fmt.Sprintf("answer %s", a.Failed.Kind)) }
	}}
	observedCaller{Caller: caller, observer: observer}.Call(t.Context(), runs.Request{Action: "tasks.list", Attempt: 2}, nil)
	if caller.request.Traceparent != "00-1-2-01" {
		t.Errorf("the plugin was sent the trace context %q", caller.request.Traceparent)
	}
	if diff := cmp.Diff([]string{"call tasks.list attempt 2", "answer timeout"}, said); diff != "" {
		t.Errorf("told (-want +got):\n%s", diff)
	}
}

// silent is a caller that answers at once.
type silent struct{}

func (silent) Call(context.Context, runs.Request, runs.Sink) runs.Answer { return runs.Answer{} }

func TestACallThatNobodyObservesCostsNothingMore(t *testing.T) {
	caller, ctx := observedCaller{Caller: silent{}}, t.Context()
	if allocations := testing.AllocsPerRun(100, func() { caller.Call(ctx, runs.Request{Action: "tasks.list"}, nil) }); allocations > 0 {
		t.Errorf("%g allocations", allocations)
	}
}

func TestAWaitForALimiterIsMeasuredFromItsFirstWord(t *testing.T) {
	var told []string
	now := time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)
	config := Surroundings{Now: func() time.Time { return now }, Observer: &runs.Observer{
		Wait: func(plugin, limiter string, took time.Duration) {
			told = append(told, plugin+" "+limiter+" "+took.String())
		},
	}}
	passed := 0
	onWait := func(time.Time) { passed++ }
	begins, ended := observedWait(config, "tasks", "api", onWait)
	begins(now.Add(time.Minute))
	now = now.Add(2 * time.Second)
	begins(now.Add(time.Minute)) // it takes longer than it seemed
	now = now.Add(3 * time.Second)
	ended()
	_, endedAtOnce := observedWait(config, "tasks", "api", onWait)
	endedAtOnce()
	if diff := cmp.Diff([]string{"tasks api 5s"}, told); diff != "" || passed != 2 {
		t.Errorf("told (-want +got):\n%s\npassed on %d times", diff, passed)
	}
	if begins, _ := observedWait(Surroundings{}, "tasks", "api", nil); begins != nil {
		t.Error("without an observer something is measured")
	}
}

// answering is a caller that keeps the request and answers with a failure.
type answering struct{ request runs.Request }

func (a *answering) Call(_ context.Context, request runs.Request, _ runs.Sink) runs.Answer {
	a.request = request
	return runs.Answer{Failed: &runs.Error{Kind: plan.KindTimeout}}
}
