package runs

import "time"

// Observer hears what the engine does, for metrics, traces and logs. A nil
// observer, and a field that is nil, hears nothing and costs nothing. Its
// functions are called by many goroutines at once and must return at once; what
// they are given must be neither changed nor kept.
type Observer struct {
	// Run is told of a run's row that is durable now: that of a new run, or one
	// whose status, attempt or place has changed. Those of one run come in order.
	Run func(*Run)
	// Step is told of a step's state that is durable now.
	Step func(*Run, *Step)
	// Call is told of a call that is about to be sent. It may set the request's
	// Traceparent, and returns what is told the answer; nil = nothing is.
	Call func(*Request) func(Answer)
	// Wait is told of a call that had to wait for a limiter of its plugin, and for
	// how long; it is called when the wait ends.
	Wait func(plugin, limiter string, took time.Duration)
	// Fire is told of a fire of a trigger that was decided, with a run or without.
	Fire func(*Fire)
	// Commit is told of a transaction of the store that is durable now.
	Commit func(took time.Duration)
}

// RunStored tells of a run's row.
func (o *Observer) RunStored(run *Run) {
	if o != nil && o.Run != nil {
		o.Run(run)
	}
}

// WantsSteps reports whether it hears of steps.
func (o *Observer) WantsSteps() bool { return o != nil && o.Step != nil }

// StepStored tells of a step of a run.
func (o *Observer) StepStored(run *Run, step *Step) {
	if o != nil && o.Step != nil {
		o.Step(run, step)
	}
}

// CallSent tells of a call that is about to be sent, and returns what must be
// told its answer.
func (o *Observer) CallSent(request *Request) func(Answer) {
	if o != nil && o.Call != nil {
		if ended := o.Call(request); ended != nil {
			return ended
		}
	}
	return func(Answer) {}
}

// Waited tells of a wait for a limiter.
func (o *Observer) Waited(plugin, limiter string, took time.Duration) {
	if o != nil && o.Wait != nil {
		o.Wait(plugin, limiter, took)
	}
}

// Fired tells of a fire that was decided.
func (o *Observer) Fired(fire *Fire) {
	if o != nil && o.Fire != nil {
		o.Fire(fire)
	}
}

// Committed tells of a transaction of the store.
func (o *Observer) Committed(took time.Duration) {
	if o != nil && o.Commit != nil {
		o.Commit(took)
	}
}
