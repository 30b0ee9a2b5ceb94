package sdk

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"time"
)

// Call is one call of an action: a context that ends with the call, the
// connection's config, and what the host offers. It is safe for concurrent use
// until the action returns and must not be used after that.
type Call[C any] struct {
	context.Context
	Config C
	Run    RunInfo

	core *core
}

// RunInfo says which call this is.
type RunInfo struct {
	Workflow       string
	RunID          string
	Step           string // with the item: domains[example.com].whois
	Attempt        int    // from 1
	IdempotencyKey string // stable across attempts and restarts of the host
	ScheduledAt    time.Time
	Traceparent    string // W3C trace context, "" = not traced; the HTTP client sends it on
}

// core is the part of a call that does not depend on the config's type.
type core struct {
	ctx        context.Context
	plugin     *Plugin
	action     *action // nil in CheckConnection
	conn       *connection
	run        RunInfo
	callID     string // the host's name of this call, "" = it gave none
	hostSocket string // where the service of the host that makes the call is, "" = the process has one host
	services   hostServices
	now        func() time.Time
	events     *eventStream
	masks      masks       // what is never shown
	wrote      atomic.Bool // a request that is no read was sent

	credentials masks // the secrets of the connection, and its tokens

	checkpoint []byte
	pageCursor string
	watermark  []byte
	pageNote   []byte
	allPages   bool
	blobs      bool

	mu           sync.Mutex
	next         string
	newWatermark []byte
	newPageNote  []byte
	sensitive    []string // JSON Pointers into the output
	notTried     bool     // of CheckConnection
	testNote     string   // why not
	meta         map[string]json.RawMessage
}

func newCall[C any](c *core, config any) *Call[C] {
	return &Call[C]{Context: c.ctx, Config: *config.(*C), Run: c.run, core: c}
}

// HTTP returns the connection's HTTP client, bound to this call.
func (c *Call[C]) HTTP() *HTTPClient { return c.core.httpClient() }

// NotTried says of a CheckConnection without an error that nothing was asked of the
// service, and in a few words why: "no request is harmless". It is shown in the place
// of "it answers". "" = the plugin has no test.
func (c *Call[C]) NotTried(why string) {
	c.core.notTried, c.core.testNote = true, why
}

// Log returns the log of the step.
func (c *Call[C]) Log() *Log { return &Log{core: c.core} }

// Progress tells how far the call is: fraction is 0 to 1.
func (c *Call[C]) Progress(fraction float64, message string) {
	c.core.events.progress(fraction, c.core.masks.now().text(message))
}

// PageCursor returns the cursor of the page to read; "" is the first page, or
// the input's own cursor.
func (c *Call[C]) PageCursor() string { return c.core.pageCursor }

// Next sets the cursor of the next page; "" says that this is the last one.
func (c *Call[C]) Next(cursor string) {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	c.core.next = cursor
}

// AllPages reports whether the engine reads on to the last page: of the output
// only the items are kept then, and the rest need not be sent.
func (c *Call[C]) AllPages() bool { return c.core.allPages }

// PageNote returns what the page before left with LeaveNote; empty on the first.
func (c *Call[C]) PageNote() []byte { return c.core.pageNote }

// LeaveNote leaves something for the call of the next page, at most 4 KiB and no
// secrets: it is as durable as the page's items, and every attempt of the next
// page gets it. ReadPage leaves one of its own.
func (c *Call[C]) LeaveNote(note []byte) { c.core.leaveNote(note) }

func (c *core) leaveNote(note []byte) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.newPageNote = append([]byte(nil), note...)
}

// Watermark returns the stored watermark, the same on every page; empty means
// read everything.
func (c *Call[C]) Watermark() []byte { return c.core.watermark }

// SetWatermark sets the watermark to store when the run has succeeded. The
// last non-empty one of a reading is kept.
func (c *Call[C]) SetWatermark(mark []byte) {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	c.core.newWatermark = append([]byte(nil), mark...)
}

// Checkpoint returns the checkpoint of the pending answer before, or nil.
func (c *Call[C]) Checkpoint() []byte { return c.core.checkpoint }

// Connection returns the name of the connection, "" for the plugin's default.
func (c *Call[C]) Connection() string { return c.core.conn.name }

// Meta adds a fact about the call for people: expressions cannot read it. The
// HTTP client adds status, request_id, duration_ms and rate by itself.
func (c *Call[C]) Meta(key string, value any) { c.core.setMeta(key, value) }

// Sensitive marks parts of the output, by JSON Pointers, that are secrets besides those
// that its schema says: they are masked everywhere. A pointer at nothing is passed over.
func (c *Call[C]) Sensitive(pointers ...string) {
	c.core.mu.Lock()
	defer c.core.mu.Unlock()
	c.core.sensitive = append(c.core.sensitive, pointers...)
}

// State returns the connection's durable state in the host.
func (c *Call[C]) State() *State { return c.core.state() }

// Token returns a valid access token of the connection; see TokenRequest.
func (c *Call[C]) Token(request TokenRequest) (*Token, error) { return c.core.token(request) }

func (c *core) setMeta(key string, value any) {
	encoded, err := marshalJSON(value)
	if err != nil {
		return // a fact that is no JSON is not worth a failed call
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.meta == nil {
		c.meta = map[string]json.RawMessage{}
	}
	c.meta[key] = encoded
}
