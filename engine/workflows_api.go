package engine

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
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
	Triggers    []trigger.Info    `json:"triggers"`
	Steps       int               `json:"steps"`
	LastRun     *runs.Run         `json:"last_run,omitempty"`
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
