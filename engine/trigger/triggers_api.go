package trigger

import (
	"net/http"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Info is one trigger of a workflow in a list.
type Info struct {
	ID   string           `json:"id"` // WORKFLOW/TRIGGER
	Name string           `json:"name"`
	Kind plan.TriggerKind `json:"kind"`
	Text string           `json:"text"` // "0 9 * * 1-5 Europe/Berlin", "every 15m", "POST /hooks/w/t", "after nightly: succeeded"
	// Secret is the name of the one by which a webhook knows its senders.
	Secret string `json:"secret,omitempty"`
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

// PauseRequest pauses or resumes a schedule.
type PauseRequest struct {
	Reason string `json:"reason,omitempty"`
	By     string `json:"by,omitempty"`
}

// Request starts a run of a schedule now, or for a slot.
type Request struct {
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
