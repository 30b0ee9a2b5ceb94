package pluginhost

import (
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
)

// Source says where the executable of one plugin comes from.
type Source struct {
	Name string // the plugin's name, as `uses` writes it
	// Command is the executable and its arguments. For a bundled plugin it is
	// run as it stands; else Command[1:] are the arguments of Path's copy.
	Command []string
	Path    string   // local executable, folder or archive with a manifest: a private copy of it runs, never itself
	Bundled bool     // part of Command[0], which is not copied
	Env     []string // names of the host's environment that were granted to the plugin

	// What else was granted, inside the sandbox.
	Paths    []Path
	Hosts    []string // "host", "host:port" or a URL that it may connect to; nil = any
	Commands []string // programs, by path or by their name in PATH, that alone it may start; nil = those of the system
	Memory   int64    // bytes that it may use in place of Limits.Memory; 0 = that

	Locked  string   // the digest, hex, that alone may run; "" = any. Not for bundled plugins
	Refused *Refusal // it is not run at all; nil = it is

	// Settings reads what the project tells the plugin (`with`), by the schema that the
	// plugin has of it. What is wrong with it is a diag.List. nil = it is told nothing.
	Settings func(schema json.RawMessage) (Settings, error)

	Attach string // the socket of a process that a person started with --debug: calls go there; "" = there is none
}

// Refusal says why a plugin is not run, and what to do.
type Refusal struct {
	Message string
	Hint    diag.Hint
}

func (r *Refusal) Error() string { return r.Message }

// Path is a file or folder that a plugin was granted.
type Path struct {
	Name     string // absolute
	ReadOnly bool
}

// Sandbox says what becomes of a plugin where the kernel can't hold it.
type Sandbox string

// The ways.
const (
	SandboxAuto    Sandbox = "auto"    // what the kernel holds is held; so is ""
	SandboxRequire Sandbox = "require" // a plugin is not started unless files, system calls, its group and privileges are held
	SandboxOff     Sandbox = "off"     // nothing is held
)

// Options is everything that a Host takes from its surroundings. StateDir,
// Now and Entropy are required.
type Options struct {
	StateDir string   // absolute; plugins/ below it is the host's
	Sources  []Source // their names must differ
	Environ  []string // "NAME=value"; the source of PATH, LANG, TZ, proxies and granted names
	Now      func() time.Time
	Entropy  io.Reader    // of launch tokens; safe for concurrent use
	Log      *slog.Logger // nil = nothing is logged
	Version  string       // of flowrun, told to plugins

	State    StateStore   // nil = plugins get Unimplemented
	Tokens   TokenStore   // nil = plugins get Unimplemented
	Secrets  SecretSource // nil = a secret reference is an error
	Vault    Vault        // nil = a secret output is an error
	Redactor Redactor     // nil = nothing is masked
	Opaque   Opaque       // nil = a plugin's own bytes are kept as they are
	Blobs    BlobStore    // nil = there are no large values

	// Ignored hears of a plugin that has described itself for the first time, and of the
	// words of JSON Schema in it that exclude values and are not read. nil = nobody does.
	Ignored func(plugin string, words []string)

	// Told hears of what a plugin has said against what it was told, and took all the same,
	// when it has described itself by it for the first time. nil = nobody does.
	Told func(plugin string, warnings []Diagnostic)

	// Learn tells the Redactor the secrets of a plugin's connections before a process of
	// it starts: what it has kept of them it may tell before one is opened. nil = nothing.
	Learn func(ctx context.Context, plugin string)

	Sandbox Sandbox
	Secret  []string // absolute paths that no plugin may see, besides StateDir, whatever it is granted: the key
	Private []string // absolute paths that a plugin may see where they were granted alone: the project

	// ProjectDir is the folder from which paths in the configs of connections are meant:
	// plugins are told it, and may open no more by that. "" = there is no project.
	ProjectDir string

	// ControlGroup is the folder of this process's own control group (cgroup.Own). Where
	// it was handed to this process, the process moves into a group below it, and each
	// plugin gets one. "" = resident memory and processes are watched.
	ControlGroup string

	// Named gives the files that the connections of a plugin name in their config, when
	// its process is started. nil = none.
	Named func(plugin string) []Path

	Gate Gate // asked before a connection is opened; nil = every one is

	// KeepInForce keeps which revision of each local plugin is in force in StateDir, and
	// begins with what the process before kept there: a server does.
	KeepInForce bool

	Limits Limits
}

// Gate decides whether a connection may be opened at all. It is asked at the one
// place that all calls, checks, questions and tokens pass, before a secret of the
// connection is revealed. plugin is the connection's own. nil lets it pass.
type Gate interface {
	Admit(plugin string, conn Connection) *runs.Error
}

// Limits bounds what plugins may take (docs/reliability.md, "Limits"). A zero field
// means its default.
type Limits struct {
	Start     time.Duration // from exec to the first RPC; 10 s, at most 60 s
	Grace     time.Duration // between asking a process to end and killing its group; 5 s, at most 60 s
	IdleStop  time.Duration // a process without calls ends after it; 5 min; negative = never
	Message   int           // bytes of one gRPC message; 8 MiB, at most 64 MiB
	LogLine   int           // bytes of one log line; 64 KiB
	LogRate   int           // bytes of logs in a second, for a process and for a call; 1 MiB
	LogTotal  int           // bytes of logs of one call; 16 MiB
	Quotas    quota.Values  // of what answers and states bring to be stored; that of the log is LogTotal where it is set
	Events    int           // log and progress events of one call in a second; 1000
	Files     uint64        // RLIMIT_NOFILE of a process (Linux); 256
	FileSize  uint64        // RLIMIT_FSIZE: bytes of a file that a process may write (Linux); 1 GiB
	Processes int           // that a plugin's process and what it starts may be at a time (Linux, see procs_linux.go); 64; negative = no limit
	Memory    int64         // bytes that a plugin's processes may use together, not reserve (Linux); 2 GiB; negative = no limit
}

// SecretSource gives the clear value of a named secret.
type SecretSource interface {
	Reveal(ctx context.Context, name string) (string, error)
}

// Vault keeps the secret parts of outputs. The reference that Seal returns
// stands in journals as {"$secret":"sealed:REF"}; it should be the same for the
// same SealRequest, so that a repeated call gives equal outputs.
type Vault interface {
	Seal(ctx context.Context, r SealRequest) (ref string, err error)
	// Open returns the JSON value that was sealed.
	Open(ctx context.Context, ref string) (json.RawMessage, error)
}

// SealRequest is one secret value inside an output.
type SealRequest struct {
	RunID     string // "" outside a run
	Operation string // operation path of the call
	Pointer   string // JSON Pointer inside the output
	Value     json.RawMessage
}

// Opaque seals what plugins leave for themselves - checkpoints, watermarks, page
// notes, cursors with a secret - for everywhere but the plugin that it came from.
// place names whose it is: what was sealed for one place opens for no other. Safe for
// concurrent use.
type Opaque interface {
	// Seal gives equal bytes for equal bytes at the same place.
	Seal(place string, clear []byte) ([]byte, error)
	// Open returns what was sealed; bytes that never were sealed as they are.
	Open(place string, stored []byte) ([]byte, error)
	// Digest is keyed, and the same for a text for good.
	Digest(text string) (string, error)
}

// Redactor masks secret values in texts. Safe for concurrent use.
type Redactor interface {
	Add(value string)
	Redact(text string) string
}

// StateKey names one value of a plugin's state. Scope is "plugin",
// "connection/NAME" or "run/ID"; the host has checked that the plugin may use it.
type StateKey struct {
	Plugin string
	Scope  string
	Key    string
}

// StateStore keeps the state of plugins, sealed at rest. Versions count from 1;
// 0 stands for a key that does not exist.
type StateStore interface {
	GetState(ctx context.Context, key StateKey) (value []byte, version uint64, found bool, err error)
	// PutState writes only when the stored version is ifVersion; ok tells.
	// A nil value deletes. A ttl of 0 keeps the value for good. *StateQuotaError:
	// the state has no room for it.
	PutState(ctx context.Context, key StateKey, value []byte, ifVersion uint64, ttl time.Duration) (version uint64, ok bool, err error)
}

// TokenRequest asks for a token that is good for at least MinTTL. Reject is the
// id of a token that the service refused.
type TokenRequest struct {
	Plugin     string
	Connection string
	Key        string
	MinTTL     time.Duration
	Reject     string
}

// TokenStore keeps tokens and hands out ONE refresh lease at a time
// (docs/reliability.md, P11). Exactly one result of Acquire is not nil.
type TokenStore interface {
	Acquire(ctx context.Context, r TokenRequest) (*secret.Token, *secret.Lease, error)
	// Commit ends a lease. It is durable before it returns. failure is set
	// when there is no new token; with kind auth_required the token is forgotten,
	// unless its reason is ReasonTokenRefused. After any other failure usable is
	// the stored token where the caller may go on with it. A *runs.Error says more
	// exactly than failure why there is no token.
	Commit(ctx context.Context, plugin, lease string, token *secret.Token, failure *runs.Error) (usable *secret.Token, err error)
	// Stored tells what is known of a token without using or renewing it.
	Stored(ctx context.Context, r TokenRequest) (secret.Status, error)
}

// ReasonTokenRefused is the reason of an auth_required failure after which the
// token is kept: a service has refused it, and nothing can renew it, but nobody
// has said that the grant is gone.
const ReasonTokenRefused = "token_refused"

// Connection is one configured instance of a plugin.
type Connection struct {
	Name   string          // "" = the plugin's own name
	Plugin string          // "" = the plugin of the action
	Config json.RawMessage // secrets as {"$secret":"NAME"}; nil = {}
	// TokenFrom is the connection whose plugin gives this one its access token
	// (token_from): the host calls that plugin's token action. nil = the plugin has
	// its own.
	TokenFrom *Connection
	// Secrets gives the secrets of the connection's config and of what is sent
	// through it. nil = the host's.
	Secrets SecretSource
}
