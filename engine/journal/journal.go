// Package journal holds the events and commands of a run: plain data with a
// versioned codec. A run's journal is the list of its records; applying their
// events to the pinned plan gives the run's state again.
package journal

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// EventKind names what happened.
type EventKind string

// The events that a Machine takes.
const (
	Started    EventKind = "started"     // the run begins; Start is set
	Completed  EventKind = "completed"   // a call ended well; Completed is set
	Pending    EventKind = "pending"     // a call wants to be asked again; Pending is set
	Failed     EventKind = "failed"      // an attempt failed; Failed is set
	TimerFired EventKind = "timer"       // a timer is due
	Signaled   EventKind = "signal"      // approve, reject or a signal for core.wait; Signal is set
	Resolved   EventKind = "resolved"    // a person closed an unknown outcome; Resolution is set
	CancelRun  EventKind = "cancel"      // a person, or the grace of a cancel, ends the run; Cancel is set
	Resumed    EventKind = "resumed"     // failed and blocked steps go back to pending
	ChildEnded EventKind = "child_ended" // a sub-workflow ended or is paused; Child is set
	Queued     EventKind = "queued"      // the run is accepted and waits for its place or its state; Start is set
	Refused    EventKind = "refused"     // a queued run never begins; Failed says why
	Moved      EventKind = "moved"       // what the run's success would write was changed by another; Failed is set
	Driven     EventKind = "driven"      // a process drives the run again: what was recorded meanwhile takes effect; Interrupted may be set
	Stopped    EventKind = "stopped"     // the process that drove the run leaves it in good order; Unsent may be set
	Reconciled EventKind = "reconciled"  // the plugin said what became of a call whose outcome was not known; Outcome is set
	Replanned  EventKind = "replanned"   // a stopped run goes on by another plan from here on; Replan is set
	Limited    EventKind = "limited"     // the run's journal is full; Failed says so
)

// Event is one thing that happened to a run. Path is the operation path of the
// command that it answers ("" for events of the whole run). Time enters the
// Machine only as At.
type Event struct {
	Kind       EventKind       `json:"kind"`
	At         time.Time       `json:"at"`
	Path       string          `json:"path,omitempty"`
	Start      *Start          `json:"start,omitempty"`
	Completed  *runs.Completed `json:"completed,omitempty"`
	Pending    *runs.Pending   `json:"pending,omitempty"`
	Failed     *runs.Error     `json:"failed,omitempty"`
	Signal     *Signal         `json:"signal,omitempty"`
	Resolution *Resolution     `json:"resolution,omitempty"`
	Cancel     *Cancel         `json:"cancel,omitempty"`
	Child      *Child          `json:"child,omitempty"`
	Outcome    *runs.Outcome   `json:"outcome,omitempty"`
	Replan     *Replan         `json:"replan,omitempty"`
	Discard    bool            `json:"discard,omitempty"` // of resumed: the run's success writes no state and no cursors
	By         string          `json:"by,omitempty"`      // who acted, for events that a person causes
	// Interrupted, of driven, are the operation paths of the calls that were in
	// flight when the process before died (docs/reliability.md, P6).
	Interrupted []string `json:"interrupted,omitempty"`
	// Waits, of the answer to a call, are the times in which it was held back before
	// it was sent, for its rate limit above all. They stand in the record of the
	// answer, so that a wait costs none of its own, and no decision follows from them.
	Waits []runs.Hold `json:"waits,omitempty"`
	// Unsent, of stopped, are the operation paths of the open calls that were
	// certainly not sent; the others may have been.
	Unsent []string `json:"unsent,omitempty"`
}

// Replan is the plan that a stopped run goes on by (docs/language.md, rule 21). It
// stands in the record itself, so that a replay needs nothing else. Inputs are
// the run's, with the defaults that the new plan adds.
type Replan struct {
	PlanHash string           `json:"plan_hash"`
	Plan     json.RawMessage  `json:"plan"`
	Inputs   json.RawMessage  `json:"inputs"`
	Plugins  []plan.PluginPin `json:"plugins,omitempty"`
}

// Start is the payload of the started event. Inputs are complete: defaults are
// filled in.
type Start struct {
	RunID       string          `json:"run_id"`
	Inputs      json.RawMessage `json:"inputs"`
	Trigger     string          `json:"trigger"`
	ScheduledAt time.Time       `json:"scheduled_at"`
	Interpreter int             `json:"interpreter"` // interp.Version
	PlanHash    string          `json:"plan_hash"`
	LockHash    string          `json:"lock_hash,omitempty"`
	RerunOf     string          `json:"rerun_of,omitempty"`
	// State holds the stored values of the workflow's state, StateVersions their
	// versions: 0 for a declared one that is not stored.
	State         map[string]json.RawMessage `json:"state,omitempty"`
	StateVersions map[string]uint64          `json:"state_versions,omitempty"`
	// Plugins are those that the plan calls, as they were when the run was accepted.
	Plugins []plan.PluginPin `json:"plugins,omitempty"`
	// Of a rerun: the inputs that differ from those of RerunOf, the step that it
	// begins at, and the results that it takes over, by step id.
	EditedInputs []string          `json:"edited_inputs,omitempty"`
	From         string            `json:"from,omitempty"`
	Taken        map[string]*Taken `json:"taken,omitempty"`
	// What `trigger` holds in a run that a trigger started: Trigger is its name.
	// TriggerKind "" stands for one that is named like its kind: manual, workflow;
	// a zero TriggerAt for ScheduledAt. TriggerItem and TriggerOutputs are in
	// interp's notation of values, empty where the kind brings none.
	TriggerKind    plan.TriggerKind `json:"trigger_kind,omitempty"`
	TriggerAt      time.Time        `json:"trigger_at,omitzero"`
	TriggerItem    json.RawMessage  `json:"trigger_item,omitempty"`
	TriggerOutputs json.RawMessage  `json:"trigger_outputs,omitempty"`
	// RequestDigest is of what the request asked for that has an id of its own: the
	// same id with another digest is another request.
	RequestDigest string `json:"request_digest,omitempty"`
}

// Taken is the result of a step of another run. Result is the same as Outputs
// with the types that JSON has no form for (interp's own notation); empty where
// nothing is lost without it.
type Taken struct {
	Status    runs.StepStatus `json:"status"`
	Outputs   json.RawMessage `json:"outputs,omitempty"`
	Result    json.RawMessage `json:"result,omitempty"`
	Error     *runs.Error     `json:"error,omitempty"`
	Attempts  int             `json:"attempts,omitempty"`
	Continued bool            `json:"continued,omitempty"` // it failed, and on_error says continue
	// Items, of a long reading by pages, say by which types the items in Outputs are
	// read: they stay text, and Result is empty.
	Items []TakenItems `json:"items,omitempty"`
}

// TakenItems are so many items one behind the other whose type is that of a JSON
// Schema.
type TakenItems struct {
	Count  int             `json:"count"`
	Schema json.RawMessage `json:"schema"`
}

// Signal is a message for a waiting step: the event's Path names it, or Path is
// empty and the step is found by Name, now or within 24 hours. Held says that no
// process drives the run: nothing follows from it until one does.
type Signal struct {
	Name     string          `json:"name"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Rejected bool            `json:"rejected,omitempty"`
	Comment  string          `json:"comment,omitempty"`
	Held     bool            `json:"held,omitempty"`
}

// Resolution says how an unknown outcome ended: happened, did_not or skip.
// Held is that of Signal.
type Resolution struct {
	Outcome string          `json:"outcome"`
	Output  json.RawMessage `json:"output,omitempty"`
	Held    bool            `json:"held,omitempty"`
}

// Cancel ends a run early. Grace is set by the driver when the grace of a
// canceled run's calls is over.
type Cancel struct {
	TimedOut bool   `json:"timed_out,omitempty"`
	Grace    bool   `json:"grace,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Child is the end of a sub-workflow's run. Paused, where it is set, says why it
// waits for a person instead.
type Child struct {
	RunID   string          `json:"run_id"`
	Attempt int             `json:"attempt,omitempty"` // of the run
	Outputs json.RawMessage `json:"outputs,omitempty"`
	Failed  *runs.Error     `json:"failed,omitempty"`
	Paused  string          `json:"paused,omitempty"`
}

// ChildStart asks for the run of a sub-workflow, or for going on with it: the
// run's id and its operation path make the start the same however often it is
// asked for.
type ChildStart struct {
	Step     string          `json:"step"`     // RunStep.Path of the step
	Workflow string          `json:"workflow"` // among the plan's Workflows
	RunID    string          `json:"run_id"`
	Inputs   json.RawMessage `json:"inputs"`
	After    int             `json:"after,omitempty"` // the last attempt of the run whose end the step has seen; 0 = none
}

// CommandKind names what the driver shall do.
type CommandKind string

// The commands that a Machine gives.
const (
	CommandCall   CommandKind = "call"
	CommandTimer  CommandKind = "timer"
	CommandChild  CommandKind = "child"
	CommandCancel CommandKind = "cancel" // stop the call or timer of this path
	CommandLog    CommandKind = "log"    // core.log, and what the engine has to say of a step
	CommandFinish CommandKind = "finish" // the run has its status; its handlers may follow
)

// Command is one thing for the driver to do. Path is unique in the run: a late
// or second answer for it changes nothing.
type Command struct {
	Kind   CommandKind `json:"kind"`
	Path   string      `json:"path,omitempty"`
	Call   *Call       `json:"call,omitempty"`
	Timer  *Timer      `json:"timer,omitempty"`
	Child  *ChildStart `json:"child,omitempty"`
	Log    *runs.Log   `json:"log,omitempty"`
	Finish *Finish     `json:"finish,omitempty"`
}

// Call asks for one attempt of one page. Its record is the intent of an effect:
// it is durable before the call is sent. The same operation path is used by
// every attempt, so that the idempotency key stays.
type Call struct {
	Step       string          `json:"step"` // RunStep.Path of the step it belongs to
	Action     string          `json:"action"`
	Effect     plan.Effect     `json:"effect"`
	Connection string          `json:"connection,omitempty"`
	Input      json.RawMessage `json:"input"` // secrets as references
	Attempt    int             `json:"attempt"`
	PageCursor string          `json:"page_cursor,omitempty"`
	Checkpoint []byte          `json:"checkpoint,omitempty"`
	PageNote   []byte          `json:"page_note,omitempty"` // of the page before
	AllPages   bool            `json:"all_pages,omitempty"`
	Cursor     string          `json:"cursor,omitempty"` // name of the incremental cursor whose watermark goes along
	Timeout    time.Duration   `json:"timeout"`
	Cache      time.Duration   `json:"cache,omitempty"`
	// Reconcile, where it is set, makes the call a question: what became of the
	// call of this operation path, which is the one with the same input. It has no
	// effect of its own, and its answer is a reconciled event.
	Reconcile string `json:"reconcile,omitempty"`
}

// Timer fires at or after At, once.
type Timer struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"`
}

// The reasons of timers.
const (
	TimerRetry   = "retry"
	TimerPoll    = "poll"
	TimerRepeat  = "repeat"
	TimerSleep   = "sleep"
	TimerWithin  = "within"
	TimerRun     = "run_timeout"
	TimerGrace   = "grace"
	TimerTimeout = "timeout" // of a step that waits for an answer, and of a sub-workflow
)

// Guards reports whether the timer only watches over others: nothing goes on by it. A
// command without a timer has none that does.
func (t *Timer) Guards() bool {
	if t == nil {
		return false
	}
	switch t.Reason {
	case TimerWithin, TimerRun, TimerGrace, TimerTimeout:
		return true
	}
	return false
}

// Finish gives the run its status. A paused run may be resumed; the state and
// cursor writes belong to success alone.
type Finish struct {
	Status  runs.Status                `json:"status"`
	Paused  string                     `json:"paused,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	Error   *runs.Error                `json:"error,omitempty"`
	State   map[string]json.RawMessage `json:"state,omitempty"`
	Cursors map[string][]byte          `json:"cursors,omitempty"` // watermarks by the cursors' keys
	// The versions that State and Cursors must still have: those that the run read.
	StateVersions  map[string]uint64 `json:"state_versions,omitempty"`
	CursorVersions map[string]uint64 `json:"cursor_versions,omitempty"`
}

// Writes reports whether the run's success changes what is kept between runs.
func (f *Finish) Writes() bool {
	return f.Status == runs.RunSucceeded && len(f.State)+len(f.Cursors) > 0
}

// Record is an event with the commands that it led to: the unit of a run's
// journal. Seq counts from 1 in the run.
type Record struct {
	Seq      uint64    `json:"seq"`
	Event    Event     `json:"event"`
	Commands []Command `json:"commands,omitempty"`

	encoded []byte // its stored form, of one that a Draft made; nil = not encoded yet
}
