// Package engine is the embedding API of flowrun: it loads a project, checks
// its workflows and runs them durably. It only joins the packages below it.
package engine

import (
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/store"
)

// Config is everything that the engine takes from its surroundings.
type Config struct {
	StateDir       string // holds flowrun.db, the socket, plugin copies; created with mode 0700
	ProjectFile    string // flowrun.yaml; "" = no project file
	Dir            string // the project's root: workflow paths in messages are relative to it
	WorkDir        string // what relative file names of Check start from; "" = Dir
	Environ        []string
	Executable     string   // re-executed as `Executable plugins serve NAME` for the bundled plugins
	Bundled        []string // their names
	Version        string   // of flowrun
	Sandbox        *Sandbox // nil = calls go where the project says
	Now            func() time.Time
	Entropy        io.Reader
	Log            *slog.Logger
	AllowNetworkFS bool
	// ControlGroup is the folder of this process's own control group (OwnControlGroup).
	// Where it was handed to this process (systemd: Delegate=), the process moves into a
	// group below it, and each plugin gets one of its own. "" = they get none.
	ControlGroup string

	// AcceptRollback takes a store that was put back to an older copy: what was open
	// then is paused (ADR 30).
	AcceptRollback bool
	// Observer hears what the engine does, for metrics, traces and logs. nil =
	// nobody does, and nothing is gathered.
	Observer *plan.Observer
	// OpenStore opens the store in place of the file in StateDir; nil = that file. What
	// only a file can do is refused for a store that is none (store.FileOf).
	OpenStore func(hooks store.Hooks) (store.Store, error)
	// OnCommit is called around each transaction of the store, with "before" and
	// "after": fault suites end the process there. nil = none.
	OnCommit func(stage string)
	// FreeSpace returns the free and total bytes of a folder's file system. nil =
	// asks the system.
	FreeSpace func(dir string) (free, total uint64, err error)
}

// Input is one input of a run as it was given: text is converted by the
// input's type as a plain YAML scalar would be, JSON is taken as it is.
type Input struct {
	Text string          `json:"text,omitempty"`
	JSON json.RawMessage `json:"json,omitempty"`
}

// StartRequest asks for a run of a workflow's bytes.
type StartRequest struct {
	File        string           `json:"file"` // for messages and relative sub-workflows
	Source      []byte           `json:"source"`
	Dir         string           `json:"dir,omitempty"` // absolute; what a relative File starts from; "" = the owner's WorkDir
	Inputs      map[string]Input `json:"inputs,omitempty"`
	ScheduledAt time.Time        `json:"scheduled_at,omitzero"` // zero = the time of acceptance
	RequestID   string           `json:"request_id,omitempty"`  // a second request with it returns the first's run
	By          string           `json:"by,omitempty"`
}

// ResumeRequest asks to go on with a run where it stopped.
type ResumeRequest struct {
	// Latest asks for the workflow's file as it is now, in place of the pinned
	// definition; Dir is where a relative name of it starts from, "" = the project's
	// root. WithLatest are its bytes where the caller has them.
	Latest        bool   `json:"latest,omitempty"`
	Dir           string `json:"dir,omitempty"`
	WithLatest    []byte `json:"with_latest,omitempty"`
	DiscardWrites bool   `json:"discard_writes,omitempty"`
	By            string `json:"by,omitempty"`
}

// RerunRequest asks for a new run that is linked to an old one.
type RerunRequest struct {
	From   string           `json:"from,omitempty"` // step: the results before it are taken over
	Inputs map[string]Input `json:"inputs,omitempty"`
	By     string           `json:"by,omitempty"`

	RequestID string `json:"request_id,omitempty"` // the same one again returns the first run
	Digest    string `json:"-"`                    // as of NamedStart
	Replayed  *bool  `json:"-"`
}

// RunFilter selects runs; the newest come first. Query is an expression that must
// be true of a run's row (docs/commands.md, "Find runs").
type RunFilter struct {
	Workflow string         `json:"workflow,omitempty"`
	Status   plan.RunStatus `json:"status,omitempty"`
	// Attention selects the runs that need somebody (see RunsSummary).
	Attention bool              `json:"attention,omitempty"`
	Labels    map[string]string `json:"labels,omitempty"`
	Since     time.Time         `json:"since,omitzero"`
	Query     string            `json:"query,omitempty"`
	Limit     int               `json:"limit,omitempty"` // 0 = 50
	Cursor    string            `json:"cursor,omitempty"`
}

// Update is one message of a run's feed.
type Update = local.Update

// UpdateKind names what an Update tells.
type UpdateKind = local.UpdateKind

// The kinds of updates.
const (
	UpdateRun      = local.UpdateRun
	UpdateStep     = local.UpdateStep
	UpdateRecord   = local.UpdateRecord
	UpdateLog      = local.UpdateLog
	UpdateProgress = local.UpdateProgress
	UpdateWait     = local.UpdateWait
	UpdateEnd      = local.UpdateEnd
)

// CallRequest asks for one action, outside a workflow. Input may hold
// `${{ secrets.NAME }}` texts; clear values in secret fields are accepted only
// when LiteralSecrets is set.
type CallRequest struct {
	Action         string          `json:"action"`
	Connection     string          `json:"connection,omitempty"`
	Input          json.RawMessage `json:"input,omitempty"`
	LiteralSecrets bool            `json:"literal_secrets,omitempty"`
	Attempts       int             `json:"attempts,omitempty"` // 0 = 1
	// IdempotencyKey, where it is set, stands for the key that each call has of its
	// own: the same request under the same key is the same request once more.
	IdempotencyKey string `json:"idempotency_key,omitempty"`
}

// CallResult is what `flowrun call -o json` prints: outputs and meta, or error.
type CallResult struct {
	Outputs json.RawMessage `json:"outputs,omitempty"`
	Meta    json.RawMessage `json:"meta,omitempty"`
	Error   *plan.Error     `json:"error,omitempty"`
}

// PluginInfo describes one plugin for lists.
type PluginInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"` // "bundled" or the path
	Digest  string `json:"digest,omitempty"`
	Doc     string `json:"doc,omitempty"`
	Actions int    `json:"actions"`
	Error   string `json:"error,omitempty"` // why it can't be described
}

// StoreStats counts the store's work since it was opened. Bytes are those of
// written pages.
type StoreStats struct {
	Commits  uint64 `json:"commits"`
	Fsyncs   uint64 `json:"fsyncs"`
	Bytes    uint64 `json:"bytes"`
	FileSize int64  `json:"file_size"`
}

// JSONFault says what is wrong with a JSON text in words for people.
func JSONFault(err error) string { return schema.JSONFault(err) }

// WhyNoJSON says why a text that a person gave is not one JSON value: the line and
// column, what stands there and what was expected; "" = it is one.
func WhyNoJSON(text []byte) string { return schema.WhyNoJSON(text) }
