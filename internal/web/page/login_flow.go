package page

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// keptLogin is how long the end of a login is shown.
const keptLogin = 10 * time.Minute

// keptLines bounds what a login says of itself.
const keptLines = 20

// logins are the device logins that were begun on the page, at most one of a
// connection. They go on while nobody looks. Safe for concurrent use.
type logins struct {
	engine Connections
	now    func() time.Time
	start  func(func(ctx context.Context))

	mu    sync.Mutex
	flows map[string]*loginFlow
}

func newLogins(o Options) *logins { return &logins{engine: o.Engine, now: o.Now, start: o.Go} }

// loginFlow is one login. It belongs to its logins' lock; a page gets a copy.
type loginFlow struct {
	Prompt *runs.Prompt
	Lines  []runs.Log
	Failed *runs.Error

	ended time.Time // zero = it goes on
	stop  context.CancelFunc
}

// Running reports whether the login goes on.
func (f *loginFlow) Running() bool { return f.ended.IsZero() }

// view returns what is known of the newest login of a connection; nil where
// there was none of late.
func (l *logins) view(connection string) *loginFlow {
	l.mu.Lock()
	defer l.mu.Unlock()
	flow := l.flows[connection]
	if flow == nil || !flow.Running() && l.now().Sub(flow.ended) > keptLogin {
		return nil
	}
	shown := *flow
	shown.Lines = slices.Clone(flow.Lines)
	if flow.Prompt != nil {
		shown.Prompt = new(*flow.Prompt)
	}
	return &shown
}

// begin starts a login unless one is under way.
func (l *logins) begin(connection string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if flow := l.flows[connection]; flow != nil && flow.Running() {
		return
	}
	flow := &loginFlow{stop: func() {}}
	if l.flows == nil {
		l.flows = map[string]*loginFlow{}
	}
	l.flows[connection] = flow
	l.start(func(ctx context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		l.mu.Lock()
		flow.stop = stop
		stopped := !flow.Running()
		l.mu.Unlock()
		if stopped {
			return
		}
		result, err := l.engine.Login(ctx, connection, connections.LoginRequest{}, &loginSink{l, flow})
		l.finish(flow, result, err)
	})
}

// finish notes how a login ended, unless it was stopped before.
func (l *logins) finish(flow *loginFlow, result calls.Result, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !flow.Running() {
		return
	}
	flow.ended = l.now()
	switch {
	case errors.Is(err, context.Canceled):
		flow.Failed = &runs.Error{Kind: plan.KindCanceled, Message: "it was stopped"}
	case err != nil:
		flow.Failed = &runs.Error{Kind: plan.KindInternal, Message: err.Error()}
	default:
		flow.Failed = result.Error
	}
}

// end stops the login of a connection. Nothing happens where there is none.
func (l *logins) end(connection string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	flow := l.flows[connection]
	if flow == nil || !flow.Running() {
		return
	}
	flow.ended, flow.Failed = l.now(), &runs.Error{Kind: plan.KindCanceled, Message: "it was stopped here; the code may still be confirmed, and the next login goes on with it"}
	flow.stop()
}

// loginSink keeps what a login says.
type loginSink struct {
	logins *logins
	flow   *loginFlow
}

var _ runs.Sink = (*loginSink)(nil)

// Log keeps the newest lines.
func (s *loginSink) Log(line runs.Log) {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	if line.Level == "debug" {
		return
	}
	line.Fields = json.RawMessage(nil)
	s.flow.Lines = append(s.flow.Lines, line)
	s.flow.Lines = s.flow.Lines[max(len(s.flow.Lines)-keptLines, 0):]
}

// Progress says nothing that the page shows.
func (s *loginSink) Progress(runs.Progress) {}

// Prompt is the code that the person confirms.
func (s *loginSink) Prompt(prompt runs.Prompt) {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	s.flow.Prompt = &prompt
}
