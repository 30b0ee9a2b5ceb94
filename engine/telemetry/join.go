package telemetry

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Join returns an observer that tells all of the given ones, in their order. nil
// ones are left out; of none it is nil, so that the engine gathers nothing.
func Join(observers ...*runs.Observer) *runs.Observer {
	var present []*runs.Observer
	for _, o := range observers {
		if o != nil {
			present = append(present, o)
		}
	}
	switch len(present) {
	case 0:
		return nil
	case 1:
		return present[0]
	}
	return &runs.Observer{
		Run: func(run *runs.Run) { each(present, func(o *runs.Observer) { o.RunStored(run) }) },
		Step: func(run *runs.Run, step *runs.Step) {
			each(present, func(o *runs.Observer) { o.StepStored(run, step) })
		},
		Call:   func(request *runs.Request) func(runs.Answer) { return callAll(present, request) },
		Fire:   func(fire *runs.Fire) { each(present, func(o *runs.Observer) { o.Fired(fire) }) },
		Commit: func(took time.Duration) { each(present, func(o *runs.Observer) { o.Committed(took) }) },
		Wait: func(plugin, limiter string, took time.Duration) {
			each(present, func(o *runs.Observer) { o.Waited(plugin, limiter, took) })
		},
	}
}

func each(observers []*runs.Observer, tell func(*runs.Observer)) {
	for _, o := range observers {
		tell(o)
	}
}

func callAll(observers []*runs.Observer, request *runs.Request) func(runs.Answer) {
	ended := make([]func(runs.Answer), len(observers))
	for i, o := range observers {
		ended[i] = o.CallSent(request)
	}
	return func(answer runs.Answer) {
		for _, end := range ended {
			end(answer)
		}
	}
}
