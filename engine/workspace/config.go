package workspace

import (
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

// StoreFile is the name of the store inside the state directory.
const StoreFile = "flowrun.db"

// Config is everything that the engine takes from its surroundings.
type Config struct {
	StateDir    string // holds flowrun.db, the socket, plugin copies; created with mode 0700
	ProjectFile string // flowrun.yaml; "" = no project file
	Dir         string // the project's root: workflow paths in messages are relative to it
	WorkDir     string // what relative file names of Check start from; "" = Dir
	Environ     []string
	Executable  string   // re-executed as `Executable plugins serve NAME` for the bundled plugins
	Bundled     []string // their names
	Version     string   // of flowrun
	Sandbox     *Sandbox // nil = calls go where the project says
	Lock        LockMode // what flowrun.lock decides
	// Instead names paths that stand for the sources of plugins, whatever flowrun.lock has
	// of them: to look at what is not taken over yet.
	Instead map[string]string

	// Attach has the sockets of plugins that a person started with --debug, by the
	// plugin's name: calls go there, and no plugin of that name is started (ADR 54).
	Attach map[string]string
	// AttachTimeouts keeps the timeouts of steps of attached plugins, which have none else.
	AttachTimeouts bool

	Now            func() time.Time
	Entropy        io.Reader
	Log            *slog.Logger
	AllowNetworkFS bool
	// Ignored hears, once for each executable of a plugin, which words of its schemas
	// exclude values and are not read. nil = nobody does.
	Ignored func(plugin string, words []string)
	// Told hears, once for each revision, what a plugin has against what flowrun.yaml tells
	// it, and takes all the same: warnings with their places. nil = nobody does.
	Told func(plugin string, warnings diag.List)
	// ControlGroup is the folder of this process's own control group (OwnControlGroup).
	// Where it was handed to this process (systemd: Delegate=), the process moves into a
	// group below it, and each plugin gets one of its own. "" = they get none.
	ControlGroup string
	// StoredRows gives the rows of a store file that nobody has open, for the secrets of
	// a sandbox's live connections; LoadProject sets it.
	StoredRows func(path string) secret.Rows

	// AcceptRollback takes a store that was put back to an older copy: what was open
	// then is paused (ADR 30).
	AcceptRollback bool
	// KeepPlugins begins with the revisions of the project's own plugins that the process
	// before had in force, whatever their files are now, and keeps those of this one: a
	// server does, and follows the files (ADR 42).
	KeepPlugins bool
	// Observer hears what the engine does, for metrics, traces and logs. nil =
	// nobody does, and nothing is gathered.
	Observer *runs.Observer
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

// PluginInfo describes one plugin for lists.
type PluginInfo struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	Source  string `json:"source"` // "bundled" or the path
	Digest  string `json:"digest,omitempty"`
	Doc     string `json:"doc,omitempty"`
	Actions int    `json:"actions"`
	// Bare says that it has no actions before a project tells it which (`with`).
	Bare  bool   `json:"bare,omitempty"`
	Error string `json:"error,omitempty"` // why it can't be described
	// Stderr is what it wrote last where it died instead, by lines.
	Stderr []string `json:"stderr,omitempty"`
	// Locked says whether flowrun.lock has it: what it holds alone runs then.
	Locked bool `json:"locked"`
	// Missing is what it asks for and was not given: it runs without.
	Missing Grants `json:"missing,omitzero"`
	// Waiting is the plugin as its file is now, where that is not in force.
	Waiting *WaitingPlugin `json:"waiting,omitempty"`
}

// WaitingPlugin is a revision of a plugin that a server has not put in force, and why.
type WaitingPlugin struct {
	Version  string    `json:"version,omitempty"` // "" = it can't be described
	Digest   string    `json:"digest,omitempty"`
	Since    time.Time `json:"since"`
	Reason   string    `json:"reason"`
	Problems diag.List `json:"problems,omitempty"` // that workflows would have with it
}

// LockMode says what flowrun.lock decides.
type LockMode string

// The modes.
const (
	LockHeld    LockMode = ""        // what it has runs as it has it alone; what it has not runs
	LockStrict  LockMode = "strict"  // what it has not does not run, nor what was granted since
	LockIgnored LockMode = "ignored" // it is not looked at: it is being written
)
