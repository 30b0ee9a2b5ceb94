package page

import (
	"context"
	"encoding/json"
	"errors"
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

// loginFlow is one login. It belongs to its logins' lock.
type loginFlow struct {
	began  time.Time
	ended  time.Time // zero = it goes on
	prompt *runs.Prompt
	lines  []runs.Log
	failed *runs.Error
	stop   context.CancelFunc
}

// loginView is a login as a page shows it.
type loginView struct {
	Running bool
	Began   time.Time
	Ended   time.Time
	Prompt  *runs.Prompt
	Lines   []runs.Log
	Failed  *runs.Error
}

// view returns what is known of the newest login of a connection; nil where
// there was none of late.
func (l *logins) view(connection string) *loginView {
	l.mu.Lock()
	defer l.mu.Unlock()
	flow := l.flows[connection]
	if flow == nil || !flow.ended.IsZero() && l.now().Sub(flow.ended) > keptLogin {
		return nil
	}
	shown := &loginView{
		Running: flow.ended.IsZero(), Began: flow.began, Ended: flow.ended, Lines: append([]runs.Log{}, flow.lines...), Failed: flow.failed,
	}
	if flow.prompt != nil {
		prompt := *flow.prompt
		shown.Prompt = &prompt
	}
	return shown
}

// begin starts a login unless one is under way.
func (l *logins) begin(connection string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if flow := l.flows[connection]; flow != nil && flow.ended.IsZero() {
		return
	}
	flow := &loginFlow{began: l.now(), stop: func() {}}
	if l.flows == nil {
		l.flows = map[string]*loginFlow{}
	}
	l.flows[connection] = flow
	l.start(func(ctx context.Context) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		l.mu.Lock()
		flow.stop = stop
		stopped := !flow.ended.IsZero()
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
	if !flow.ended.IsZero() {
		return
	}
	flow.ended = l.now()
	switch {
	case errors.Is(err, context.Canceled):
		flow.failed = &runs.Error{Kind: plan.KindCanceled, Message: "it was stopped"}
	case err != nil:
		flow.failed = &runs.Error{Kind: plan.KindInternal, Message: err.Error()}
	default:
		flow.failed = result.Error
	}
}

// end stops the login of a connection. Nothing happens where there is none.
func (l *logins) end(connection string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	flow := l.flows[connection]
	if flow == nil || !flow.ended.IsZero() {
		return
	}
	flow.ended, flow.failed = l.now(), &runs.Error{Kind: plan.KindCanceled, Message: "it was stopped here; the code may still be confirmed, and the next login goes on with it"}
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
	s.flow.lines = append(s.flow.lines, line)
	if extra := len(s.flow.lines) - keptLines; extra > 0 {
		s.flow.lines = s.flow.lines[extra:]
	}
}

// Progress says nothing that the page shows.
func (s *loginSink) Progress(runs.Progress) {}

// Prompt is the code that the person confirms.
func (s *loginSink) Prompt(prompt runs.Prompt) {
	s.logins.mu.Lock()
	defer s.logins.mu.Unlock()
	s.flow.prompt = &prompt
}
