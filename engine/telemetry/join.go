package telemetry

import (
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

// Join returns an observer that tells all of the given ones, in their order. nil
// ones are left out; of none it is nil, so that the engine gathers nothing.
func Join(observers ...*plan.Observer) *plan.Observer {
	var kept []*plan.Observer
	for _, o := range observers {
		if o != nil {
			kept = append(kept, o)
		}
	}
	if len(kept) < 2 {
		for _, only := range kept {
			return only
		}
		return nil
	}
	return &plan.Observer{
		Run: func(run *plan.Run) { each(kept, func(o *plan.Observer) { o.RunStored(run) }) },
		Step: func(run *plan.Run, step *plan.RunStep) {
			each(kept, func(o *plan.Observer) { o.StepStored(run, step) })
		},
		Call:   func(request *plan.Request) func(plan.Answer) { return callAll(kept, request) },
		Fire:   func(fire *plan.Fire) { each(kept, func(o *plan.Observer) { o.Fired(fire) }) },
		Commit: func(took time.Duration) { each(kept, func(o *plan.Observer) { o.Committed(took) }) },
		Wait: func(plugin, limiter string, took time.Duration) {
			each(kept, func(o *plan.Observer) { o.Waited(plugin, limiter, took) })
		},
	}
}

func each(observers []*plan.Observer, tell func(*plan.Observer)) {
	for _, o := range observers {
		tell(o)
	}
}

func callAll(observers []*plan.Observer, request *plan.Request) func(plan.Answer) {
	ended := make([]func(plan.Answer), len(observers))
	for i, o := range observers {
		ended[i] = o.CallSent(request)
	}
	return func(answer plan.Answer) {
		for _, end := range ended {
			end(answer)
		}
	}
}
