// Package enginetest says how every driver of the Machine must behave.
// Exercise runs scripted workflows on a driver and compares what came of them;
// Reference is the plainest driver there can be: one thread, a clock that only
// it moves, and a caller that answers from the script.
package enginetest

import (
	"encoding/json"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Driver runs workflows with scripted answers. Run returns when the run has
// ended with its handlers, or is paused, and no Act is left. Time is virtual: a
// run that sleeps for a day must not take one.
type Driver interface {
	Run(t testing.TB, workflow *plan.Workflow, inputs json.RawMessage, script *Script) Result
}

// Begin is when every scripted run is accepted.
func Begin() time.Time { return time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC) }

// RunID is the id of every scripted run.
const RunID = "01jzscr1pted0000000000000a"

// Script says what the services answer and what people do. Safe for concurrent
// use once the run has begun.
type Script struct {
	// Answers by operation path, in the order of the calls; the last one is
	// given again. A path without answers completes at once with {}.
	Answers map[string][]Answer
	// Outcomes by operation path, in the order of the questions: what a plugin says
	// of a lost call; the last one is given again. A path without any can't be told.
	Outcomes map[string][]Outcome
	// Acts in order of time.
	Acts []Act

	mu    sync.Mutex
	given map[string]int
}

// Outcome is a plugin's word on a lost call, given after a while.
type Outcome struct {
	runs.Outcome
	After time.Duration
}

// Answer is the end of one call. Never says that none comes, not even after a
// cancel; Deaf that a cancel does not end the call before its time.
type Answer struct {
	runs.Answer
	After time.Duration // since the call
	Never bool
	Deaf  bool
}

// Act is something that happens to the run from outside, After its beginning.
// Crash ends the engine without a word and starts it again; Stop ends it in good
// order and does. An Act that comes
// after the run's end or pause happens right then.
type Act struct {
	After time.Duration
	Event journal.Event // cancel, resumed or resolved
	Crash bool
	Stop  bool
}

// Call is a call that the driver made.
type Call struct {
	Path    string
	Attempt int
	After   time.Duration // since the run's beginning
	Command journal.Call
}

// Result is what a run came to.
type Result struct {
	Status  runs.Status
	Paused  string
	Attempt int
	Error   *runs.Error
	Outputs map[string]json.RawMessage
	Steps   map[string]runs.Step
	Calls   []Call
	Logs    []runs.Log
	Took    time.Duration     // in virtual time
	Records []*journal.Record // the journal; empty when the driver can't show it
}

// Next returns the answer to a call of an operation path.
func (s *Script) Next(path string) Answer { return next(s, s.Answers[path], path, OK(`{}`)) }

// Outcome returns the answer to a question about the call of an operation path.
func (s *Script) Outcome(path string) (outcome runs.Outcome, after time.Duration) {
	said := next(s, s.Outcomes[path], path+"#reconcile", Says(runs.AppliedUnknown, ""))
	return said.Outcome, said.After
}

// next returns what is due of a list, of which key counts; none where it is empty.
func next[T any](s *Script, list []T, key string, none T) T {
	if len(list) == 0 {
		return none
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.given == nil {
		s.given = map[string]int{}
	}
	i := min(s.given[key], len(list)-1)
	s.given[key]++
	return list[i]
}

// OK is a completed answer.
func OK(output string) Answer {
	return Answer{Answer: runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(output)}}}
}

// Page is a completed answer with the cursor of the next page.
func Page(output, next string) Answer {
	answer := OK(output)
	answer.Completed.NextCursor = next
	return answer
}

// Later is a pending answer.
func Later(after time.Duration, checkpoint string) Answer {
	return Answer{Answer: runs.Answer{Pending: &runs.Pending{RetryAfter: after, Checkpoint: []byte(checkpoint)}}}
}

// Fail is a failed answer.
func Fail(kind plan.ErrorKind) Answer {
	return Answer{Answer: runs.Answer{Failed: &runs.Error{Kind: kind, Message: "scripted"}}}
}

// FailWith is a failed answer with an error of one's own.
func FailWith(failure runs.Error) Answer { return Answer{Answer: runs.Answer{Failed: &failure}} }

// In returns the answer, given only after d.
func (a Answer) In(d time.Duration) Answer {
	a.After = d
	return a
}

// Cancel is a person's cancel.
func Cancel(after time.Duration) Act {
	return Act{After: after, Event: journal.Event{Kind: journal.CancelRun, Cancel: &journal.Cancel{}}}
}

// Resume is a person's resume.
func Resume(after time.Duration) Act {
	return Act{After: after, Event: journal.Event{Kind: journal.Resumed}}
}

// Resolve is a person's word on an unknown outcome: happened, did_not or skip.
func Resolve(after time.Duration, step, outcome, output string) Act {
	return Act{After: after, Event: journal.Event{Kind: journal.Resolved, Path: step, Resolution: &journal.Resolution{
		Outcome: outcome, Output: json.RawMessage(output),
	}}}
}

// Crash ends the engine and starts it again.
func Crash(after time.Duration) Act { return Act{After: after, Crash: true} }

// Stop ends the engine in good order, calls in flight are cut, and starts it
// again.
func Stop(after time.Duration) Act { return Act{After: after, Stop: true} }

// Says is a plugin's word on a lost call.
func Says(applied runs.Applied, output string) Outcome {
	return Outcome{Outcome: runs.Outcome{Applied: applied, Output: json.RawMessage(output), Note: "scripted"}}
}
