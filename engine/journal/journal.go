// Package journal holds the events and commands of a run: plain data with a
// versioned codec. A run's journal is the list of its records; applying their
// events to the pinned plan gives the run's state again.
package journal

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
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
	ChildEnded EventKind = "child_ended" // a sub-workflow ended; Child is set
)

// Event is one thing that happened to a run. Path is the operation path of the
// command that it answers ("" for events of the whole run). Time enters the
// Machine only as At.
type Event struct {
	Kind       EventKind       `json:"kind"`
	At         time.Time       `json:"at"`
	Path       string          `json:"path,omitempty"`
	Start      *Start          `json:"start,omitempty"`
	Completed  *plan.Completed `json:"completed,omitempty"`
	Pending    *plan.Pending   `json:"pending,omitempty"`
	Failed     *plan.Error     `json:"failed,omitempty"`
	Signal     *Signal         `json:"signal,omitempty"`
	Resolution *Resolution     `json:"resolution,omitempty"`
	Cancel     *Cancel         `json:"cancel,omitempty"`
	Child      *Child          `json:"child,omitempty"`
	By         string          `json:"by,omitempty"` // who acted, for events that a person causes
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
}

// Signal is a message for a waiting step.
type Signal struct {
	Name     string          `json:"name"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Rejected bool            `json:"rejected,omitempty"`
	Comment  string          `json:"comment,omitempty"`
}

// Resolution says how an unknown outcome ended: happened, did_not or skip.
type Resolution struct {
	Outcome string          `json:"outcome"`
	Output  json.RawMessage `json:"output,omitempty"`
}

// Cancel ends a run early. Grace is set by the driver when the grace of a
// canceled run's calls is over.
type Cancel struct {
	TimedOut bool   `json:"timed_out,omitempty"`
	Grace    bool   `json:"grace,omitempty"`
	Reason   string `json:"reason,omitempty"`
}

// Child is the end of a sub-workflow.
type Child struct {
	RunID   string          `json:"run_id"`
	Outputs json.RawMessage `json:"outputs,omitempty"`
	Failed  *plan.Error     `json:"failed,omitempty"`
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
	Log    *plan.Log   `json:"log,omitempty"`
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
	Cursor     string          `json:"cursor,omitempty"` // name of the incremental cursor whose watermark goes along
	Timeout    time.Duration   `json:"timeout"`
	Cache      time.Duration   `json:"cache,omitempty"`
}

// Timer fires at or after At, once.
type Timer struct {
	At     time.Time `json:"at"`
	Reason string    `json:"reason"` // retry, poll, within, timeout, run_timeout, sleep, repeat
}

// Finish gives the run its status. A paused run may be resumed; the state and
// cursor writes belong to success alone.
type Finish struct {
	Status  plan.RunStatus             `json:"status"`
	Paused  string                     `json:"paused,omitempty"`
	Outputs map[string]json.RawMessage `json:"outputs,omitempty"`
	Error   *plan.Error                `json:"error,omitempty"`
	State   map[string]json.RawMessage `json:"state,omitempty"`
	Cursors map[string][]byte          `json:"cursors,omitempty"`
}

// Record is an event with the commands that it led to: the unit of a run's
// journal. Seq counts from 1 in the run.
type Record struct {
	Seq      uint64    `json:"seq"`
	Event    Event     `json:"event"`
	Commands []Command `json:"commands,omitempty"`
}
