package runs

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"time"
)

// Request is one attempt of one page of one action: what a driver hands to the
// plugin host. Input holds secrets as references ({"$secret":"NAME"}); the host
// puts the clear values in when it sends.
type Request struct {
	Action         string // "netinfo.whois"
	PluginDigest   string // of the revision of its plugin that the call goes to; "" = the one in force
	Connection     string
	Workflow       string
	RunID          string
	Step           string // with the item: domains[example.com].whois
	Operation      string // the operation path: Step and what repeats it, "#page3"
	Attempt        int    // from 1
	IdempotencyKey string
	Input          json.RawMessage
	PageCursor     string // "" = first page, or the input's own cursor
	Checkpoint     []byte // of the pending answer before; sealed, like all that plugins leave for themselves
	PageNote       []byte // of the page before; empty on the first
	AllPages       bool   // read with `paginate`: of the output only the items are kept
	Watermark      []byte
	ScheduledAt    time.Time
	Timeout        time.Duration
	Traceparent    string // W3C trace context of the call; "" = it is not traced
}

// OpaquePrefix begins a cursor that the plugin host has sealed: a text that says
// nothing, and leads on as an input's cursor all the same.
const OpaquePrefix = "opaque:"

// Answer is the end of one Execute: exactly one of the first three is set.
type Answer struct {
	Completed *Completed
	Pending   *Pending
	Failed    *Error
	Waits     []Hold // before it was sent, in order; they are no part of the attempt's time
}

// Hold is a time in which a call was held back before it was sent.
type Hold struct {
	For   WaitKind  `json:"for"` // WaitRateLimit, or what the disk lacks
	From  time.Time `json:"from"`
	Until time.Time `json:"until"`
}

// Completed is one page, or one whole answer. Output is JSON as the plugin
// wrote it, with secret values replaced by references.
type Completed struct {
	Output     json.RawMessage `json:"output"`
	NextCursor string          `json:"next_cursor,omitempty"`
	Watermark  []byte          `json:"watermark,omitempty"`
	Meta       json.RawMessage `json:"meta,omitempty"`
	PageNote   []byte          `json:"page_note,omitempty"` // goes with the call of the next page
	Cached     bool            `json:"cached,omitempty"`
	Cursor     *CursorRead     `json:"cursor,omitempty"` // of a call with `incremental`: what it was given
}

// Pending is not a failure: call again after RetryAfter with the checkpoint.
type Pending struct {
	RetryAfter time.Duration `json:"retry_after"`
	Checkpoint []byte        `json:"checkpoint,omitempty"`
	Message    string        `json:"message,omitempty"`
	Prompt     *Prompt       `json:"prompt,omitempty"`
}

// Outcome is a plugin's word on a call whose answer was lost. Output is set when
// the effect happened and the plugin knows it. The empty Applied means unknown.
type Outcome struct {
	Applied Applied         `json:"applied,omitempty"`
	Output  json.RawMessage `json:"output,omitempty"`
	Note    string          `json:"note,omitempty"` // safe to show and store
}

// Prompt is something that a person must do, such as a device login.
type Prompt struct {
	Title     string    `json:"title"`
	URL       string    `json:"url,omitempty"`
	UserCode  string    `json:"user_code,omitempty"`
	ExpiresAt time.Time `json:"expires_at,omitzero"`
	Message   string    `json:"message,omitempty"`
}

// Log is one line that a plugin or core.log wrote while a step ran.
type Log struct {
	At      time.Time       `json:"at"`
	Level   string          `json:"level"` // debug, info, warn, error
	Step    string          `json:"step,omitempty"`
	Message string          `json:"message"`
	Fields  json.RawMessage `json:"fields,omitempty"`
}

// Progress is how far a running call says it is. Fraction is 0 to 1.
type Progress struct {
	Fraction float64 `json:"fraction"`
	Message  string  `json:"message,omitempty"`
}

// Sink takes what a call says before it ends. Safe for concurrent use.
type Sink interface {
	Log(Log)
	Progress(Progress)
}

// IdempotencyKey is the key of an operation: the same for every attempt and
// after every restart (docs/reliability.md, P2).
func IdempotencyKey(runID, operation string) string {
	sum := sha256.Sum256([]byte(runID + "\x00" + operation))
	return hex.EncodeToString(sum[:])[:32]
}
