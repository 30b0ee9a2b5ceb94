package engine

import (
	"encoding/json"
	"net/http"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// WorkflowInfo is one workflow file of the project as it is in force.
type WorkflowInfo struct {
	Name        string            `json:"name"` // "" where the file never was good enough to say
	File        string            `json:"file"` // relative to the project's root
	Description string            `json:"description,omitempty"`
	Labels      map[string]string `json:"labels,omitempty"`
	Hash        string            `json:"hash,omitempty"` // of the plan in force
	LoadedAt    time.Time         `json:"loaded_at,omitzero"`
	Stale       bool              `json:"stale,omitempty"` // the file is broken: the last good revision is in force
	Problems    diag.List         `json:"problems"`        // of the file as it is now
	Triggers    []TriggerInfo     `json:"triggers"`
	Steps       int               `json:"steps"`
	LastRun     *runs.Run         `json:"last_run,omitempty"`
}

// TriggerInfo is one trigger of a workflow in a list.
type TriggerInfo struct {
	ID   string           `json:"id"` // WORKFLOW/TRIGGER
	Name string           `json:"name"`
	Kind plan.TriggerKind `json:"kind"`
	Text string           `json:"text"` // "0 9 * * 1-5 Europe/Berlin", "every 15m", "POST /hooks/w/t", "after nightly: succeeded"
}

// WorkflowDetail is one workflow with all that a page needs of it.
type WorkflowDetail struct {
	WorkflowInfo
	Inputs   json.RawMessage `json:"inputs"` // JSON Schema of type object
	Outputs  json.RawMessage `json:"outputs,omitempty"`
	Source   string          `json:"source"`
	Workflow *plan.Workflow  `json:"-"` // the plan in force; must not be changed
}

// NamedStart asks for a run of a workflow of the project by its name.
type NamedStart struct {
	Inputs      map[string]workspace.Input `json:"inputs,omitempty"`
	ScheduledAt time.Time                  `json:"scheduled_at,omitzero"`
	RequestID   string                     `json:"request_id,omitempty"` // the same one again returns the first run
	Digest      string                     `json:"-"`                    // of what is asked for: another one under the same RequestID is a *ReusedKeyError; "" = not compared
	Replayed    *bool                      `json:"-"`                    // set where the run is of an earlier request; nil = nobody asks
	By          string                     `json:"by,omitempty"`
}

// ScheduleItem is one cron or every trigger in a list; polls are among them.
type ScheduleItem struct {
	ID           string           `json:"id"` // WORKFLOW/TRIGGER
	Workflow     string           `json:"workflow"`
	Trigger      string           `json:"trigger"`
	Kind         plan.TriggerKind `json:"kind"`
	Cron         string           `json:"cron"` // "" for every and poll
	Every        string           `json:"every,omitempty"`
	Timezone     string           `json:"timezone"`
	Paused       bool             `json:"paused"`
	PausedBy     string           `json:"paused_by,omitempty"`
	PausedAt     *time.Time       `json:"paused_at,omitempty"`
	PausedReason string           `json:"paused_reason,omitempty"`
	Failures     int              `json:"failures,omitempty"` // in a row
	Next         *time.Time       `json:"next"`               // nil while it is paused
	Last         *runs.Fire       `json:"last"`               // the newest fire
	LastRun      *runs.Run        `json:"last_run,omitempty"`
	Running      bool             `json:"running"` // a scheduler acts on it now: `serve` runs
}

// NextFire is one coming slot.
type NextFire struct {
	At   time.Time `json:"at"`
	Note string    `json:"note,omitempty"` // what a change of the clock does to it
}

// NextFires are the coming slots of one schedule. Next holds the times alone, as
// scripts read them; Fires the same with their notes.
type NextFires struct {
	ID       string      `json:"id"`
	Workflow string      `json:"workflow"`
	Trigger  string      `json:"trigger"`
	Cron     string      `json:"cron"` // "" for every and poll
	Every    string      `json:"every,omitempty"`
	Timezone string      `json:"timezone"`
	Next     []time.Time `json:"next"`
	Fires    []NextFire  `json:"fires"`
	Paused   bool        `json:"paused,omitempty"`
}

// FireFilter selects fires, the newest first.
type FireFilter struct {
	Workflow string    `json:"workflow,omitempty"`
	Trigger  string    `json:"trigger,omitempty"`
	Since    time.Time `json:"since,omitzero"` // by slot
	Until    time.Time `json:"until,omitzero"`
	Limit    int       `json:"limit,omitempty"` // 0 = 50
	Cursor   string    `json:"cursor,omitempty"`
}

// PauseRequest pauses or resumes a schedule.
type PauseRequest struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// TriggerRequest starts a run of a schedule now, or for a slot.
type TriggerRequest struct {
	At        time.Time `json:"at,omitzero"` // the run's scheduled_at; zero = now
	RequestID string    `json:"request_id,omitempty"`
	By        string    `json:"by,omitempty"`
	Digest    string    `json:"-"` // as of NamedStart
	Replayed  *bool     `json:"-"`
}

// BackfillRequest asks for runs of the slots in [From, Until).
type BackfillRequest struct {
	From        time.Time `json:"from"`
	Until       time.Time `json:"until"`
	All         bool      `json:"all,omitempty"` // also slots that have a run; else only missing ones
	DryRun      bool      `json:"dry_run,omitempty"`
	MaxParallel int       `json:"max_parallel,omitempty"` // runs of this backfill at a time; 0 = 1
	By          string    `json:"by,omitempty"`
}

// BackfillResult says what a backfill starts, or would. With DryRun no run has
// an id. Runs of one that is bounded start later: `runs list` shows them.
type BackfillResult struct {
	ID      string      `json:"id"` // WORKFLOW/TRIGGER
	DryRun  bool        `json:"dry_run,omitempty"`
	Slots   []runs.Fire `json:"slots"`   // what is started, oldest first
	Skipped []runs.Fire `json:"skipped"` // slots that have a run already
}

// HookRequest is a request to POST /hooks/WORKFLOW/TRIGGER, as it came.
type HookRequest struct {
	Method string
	Header http.Header
	Query  map[string][]string
	Body   []byte
	Remote string
}

// HookAnswer is what the sender gets: 202 with the new run, 200 with the run
// that the same event has made before.
type HookAnswer struct {
	Run      string `json:"run"`
	Repeated bool   `json:"repeated,omitempty"`
}

// HookRefusedError says that a webhook's request was not taken. Status is that
// of HTTP: 401 for a wrong signature, 413, 415, 422 for a body that does not fit.
type HookRefusedError struct {
	Status  int
	Message string
}

func (e *HookRefusedError) Error() string { return e.Message }

// ReloadResult says what a reload of the workflows found.
type ReloadResult struct {
	At        time.Time      `json:"at"`
	Changed   []string       `json:"changed"` // files with a new revision in force
	Removed   []string       `json:"removed"`
	Broken    []string       `json:"broken"` // files whose last good revision stays in force
	Workflows []WorkflowInfo `json:"workflows,omitempty"`
}

// RunsUpdate is one message of the feed of all runs. Seq rises within a process;
// Reset says that the reader has missed something and must read the list again.
type RunsUpdate struct {
	Seq   uint64    `json:"seq"`
	Run   *runs.Run `json:"run,omitempty"`
	Reset bool      `json:"reset,omitempty"`

	Shared *runs.Shared `json:"-"` // the text of an update that many readers get; nil = one reader gets it
}

// Text returns the update as write writes it: once for all who got the same, so that
// write must make the same of it for everybody. Nobody may change the text.
func (u RunsUpdate) Text(write func(RunsUpdate) ([]byte, error)) ([]byte, error) {
	return u.Shared.Text(func() ([]byte, error) { return write(u) })
}
