package sdktest

import pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"

// Option changes the request of a Call.
type Option func(*request)

// request is what a Call sends besides its action and input.
type request struct {
	connection  string
	cursor      string
	note        []byte
	allPages    bool
	checkpoint  []byte
	watermark   []byte
	attempt     int
	key         string
	traceparent string
	noBlobs     bool
}

func newRequest(options []Option) request {
	r := request{connection: Connection, attempt: 1, key: "key"}
	for _, option := range options {
		option(&r)
	}
	return r
}

func (r request) run() *pluginv1.RunContext {
	return &pluginv1.RunContext{
		Workflow: "test", RunId: "run", StepId: "step", Attempt: uint32(max(r.attempt, 0)), IdempotencyKey: r.key, Traceparent: r.traceparent, //nolint:gosec // a small number
	}
}

// OnConnection uses another connection than the one of Open.
func OnConnection(name string) Option { return func(r *request) { r.connection = name } }

// Page asks for the page of a cursor.
func Page(cursor string) Option { return func(r *request) { r.cursor = cursor } }

// Note gives what the page before left: Result.Note.
func Note(note []byte) Option { return func(r *request) { r.note = note } }

// AllPages says that the engine reads on to the last page.
func AllPages() Option { return func(r *request) { r.allPages = true } }

// Checkpoint goes on after a pending answer.
func Checkpoint(checkpoint []byte) Option { return func(r *request) { r.checkpoint = checkpoint } }

// Watermark gives the stored watermark.
func Watermark(mark []byte) Option { return func(r *request) { r.watermark = mark } }

// Attempt sets the number of the attempt; the first is 1.
func Attempt(n int) Option { return func(r *request) { r.attempt = n } }

// Key sets the idempotency key.
func Key(key string) Option { return func(r *request) { r.key = key } }

// WithoutBlobs is a call whose host keeps no large values.
func WithoutBlobs() Option { return func(r *request) { r.noBlobs = true } }

// Traceparent sets the W3C trace context of the call.
func Traceparent(context string) Option { return func(r *request) { r.traceparent = context } }
