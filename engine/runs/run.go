package runs

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
)

// Status is the status of a run.
type Status string

// The run statuses (docs/commands.md).
const (
	RunQueued    Status = "queued"
	RunRunning   Status = "running"
	RunWaiting   Status = "waiting" // goes on by itself, or by an approval or a signal
	RunPaused    Status = "paused"  // needs resume, resolve or a login
	RunSucceeded Status = "succeeded"
	RunFailed    Status = "failed"
	RunCanceled  Status = "canceled"
	RunTimedOut  Status = "timed_out"
)

// Statuses returns every status of a run, in the order in which a run may have
// them.
func Statuses() []Status {
	return []Status{RunQueued, RunRunning, RunWaiting, RunPaused, RunSucceeded, RunFailed, RunCanceled, RunTimedOut}
}

// Ended reports whether the status is final.
func (s Status) Ended() bool {
	return s == RunSucceeded || s == RunFailed || s == RunCanceled || s == RunTimedOut
}

// StepStatus is the status of a step or of one item's step.
type StepStatus string

// The step statuses (docs/commands.md).
const (
	StepPending   StepStatus = "pending"
	StepRunning   StepStatus = "running"
	StepWaiting   StepStatus = "waiting"
	StepRetrying  StepStatus = "retrying"
	StepSucceeded StepStatus = "succeeded"
	StepFailed    StepStatus = "failed"
	StepSkipped   StepStatus = "skipped"
	StepBlocked   StepStatus = "blocked"
	StepCanceled  StepStatus = "canceled"
	StepUnknown   StepStatus = "unknown"
)

// Ended reports whether the step will not change without a resume.
func (s StepStatus) Ended() bool {
	switch s {
	case StepPending, StepRunning, StepWaiting, StepRetrying:
		return false
	}
	return true
}

// The reasons of a paused run (run.paused).
const (
	PausedAuthRequired   = "auth_required"
	PausedUnknownOutcome = "unknown_outcome"
	PausedError          = "error"
	PausedCrashLoop      = "crash_loop"
	PausedReplayMismatch = "replay_mismatch"
	PausedTooLarge       = "too_large"
)

// PausedReasons returns every reason of a paused run.
func PausedReasons() []string {
	return []string{PausedAuthRequired, PausedUnknownOutcome, PausedError, PausedCrashLoop, PausedReplayMismatch, PausedTooLarge}
}

// Run is the row of a run: what lists show. Times are UTC.
type Run struct {
	ID          string            `json:"id"` // lower-case ULID
	Workflow    string            `json:"workflow"`
	Status      Status            `json:"status"`
	Paused      string            `json:"paused,omitempty"` // why, when Status is paused
	Attempt     int               `json:"attempt"`          // 1, and one more for every resume
	Trigger     string            `json:"trigger"`          // the trigger's name; "manual", "workflow" for a sub-workflow
	Labels      map[string]string `json:"labels,omitempty"`
	RerunOf     string            `json:"rerun_of,omitempty"`
	RerunFrom   string            `json:"rerun_from,omitempty"`    // of a rerun: the step that it begins at; the results before it are taken over
	Edited      []string          `json:"edited_inputs,omitempty"` // of a rerun: the inputs that differ from those of RerunOf
	ScheduledAt time.Time         `json:"scheduled_at"`
	StartedAt   time.Time         `json:"started_at"`
	FinishedAt  *time.Time        `json:"finished_at,omitempty"`
	DurationMS  int64             `json:"duration_ms"`
	Error       *Error            `json:"error,omitempty"`
	PlanHash    string            `json:"plan_hash,omitempty"`
	Slot        *Slot             `json:"concurrency,omitempty"`      // under the workflow's `concurrency`
	Closed      bool              `json:"closed,omitempty"`           // ended, and its handlers too
	Parent      *ParentStep       `json:"parent,omitempty"`           // of a sub-workflow's run: whose step it is
	LatestPlan  string            `json:"latest_plan_hash,omitempty"` // of a run that was resumed with an edited file: the hash of its newest plan
	Fire        *Fire             `json:"fire,omitempty"`             // of a run that a trigger started: the fire that it is the run of
	// Asks is how many of its steps ask a person for a decision.
	Asks int `json:"asks,omitempty"`
	// Undriven says that the run is open and that no process drives it: `runs
	// resume` goes on with it. It is never stored.
	Undriven bool `json:"undriven,omitempty"`
}

// Step is the state of one step, or of one step of a loop's item, for views.
type Step struct {
	Path     string          `json:"path"` // domains[example.com].whois; handlers: finally:log
	Status   StepStatus      `json:"status"`
	Attempts int             `json:"attempts"`
	Outputs  json.RawMessage `json:"outputs,omitempty"`
	// OutputsBytes is about how long outputs are that are left out for it, as updates
	// of a watched run do.
	OutputsBytes int64           `json:"outputs_bytes,omitempty"`
	Error        *Error          `json:"error,omitempty"`
	Uses         string          `json:"uses,omitempty"`
	Wait         string          `json:"wait,omitempty"` // why it waits: the text of a Wait, such as "retry 2 of 4"
	Until        *time.Time      `json:"until,omitempty"`
	WaitSince    *time.Time      `json:"wait_since,omitempty"` // of a wait for the rate limit: when it began
	WaitedMS     int64           `json:"waited_ms,omitempty"`  // how long its calls waited for the rate limit before they were sent: no part of their attempts
	Message      string          `json:"message,omitempty"`
	Prompt       *Prompt         `json:"prompt,omitempty"`
	Pages        int             `json:"pages,omitempty"`
	Items        int             `json:"items,omitempty"` // a loop: how many it has
	Done         int             `json:"done,omitempty"`  // a loop: how many have ended
	ItemErrors   int             `json:"item_errors,omitempty"`
	StartedAt    *time.Time      `json:"started_at,omitempty"`
	FinishedAt   *time.Time      `json:"finished_at,omitempty"`
	Cached       bool            `json:"cached,omitempty"`
	Form         json.RawMessage `json:"form,omitempty"`       // of a step that waits for a person or a signal: the JSON Schema of the answer
	Decision     *Decision       `json:"decision,omitempty"`   // who answered it
	Run          string          `json:"run,omitempty"`        // of a sub-workflow: the run's id
	Crashes      int             `json:"crashes,omitempty"`    // how often the engine died while its call at hand was in flight
	TakenFrom    string          `json:"taken_from,omitempty"` // of a rerun: the run whose result this is
}

// Result is a run with its steps and outputs: what `run -o json` prints.
type Result struct {
	Run     Run                        `json:"run"`
	Outputs map[string]json.RawMessage `json:"outputs"`
	Steps   map[string]Step            `json:"steps"`
	Error   *Error                     `json:"error"`
	Plugins []plan.PluginPin           `json:"plugins,omitempty"` // that the run was accepted with

	// Deliveries are the outputs on their way to where they go, once the run has succeeded.
	Deliveries []Delivery `json:"deliveries,omitempty"`
}
