package page

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// loginScript is a service whose login shows a code and then does what it is
// told.
type loginScript struct {
	Connections
	shown  chan struct{}
	answer chan calls.Result
	calls  int
}

func (l *loginScript) Login(ctx context.Context, connection string, _ connections.LoginRequest, sink runs.Sink) (calls.Result, error) {
	l.calls++
	sink.Log(runs.Log{Level: "debug", Message: "noise"})
	sink.Log(runs.Log{Level: "info", Message: "asking " + connection})
	sink.Progress(runs.Progress{Fraction: 0.5})
	if shows, ok := sink.(interface{ Prompt(runs.Prompt) }); ok {
		shows.Prompt(runs.Prompt{UserCode: "ABCD-EFGH", URL: "https://login.example/device", ExpiresAt: noon.Add(time.Minute)})
	}
	close(l.shown)
	select {
	case result := <-l.answer:
		return result, nil
	case <-ctx.Done():
		return calls.Result{}, ctx.Err()
	}
}

// newScriptedLogins returns logins and what waits for their goroutines.
func newScriptedLogins(t *testing.T) (*logins, *loginScript, func()) {
	t.Helper()
	script := &loginScript{shown: make(chan struct{}), answer: make(chan calls.Result, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	l := &logins{engine: script, now: func() time.Time { return noon }, start: func(work func(context.Context)) { running.Go(func() { work(ctx) }) }}
	t.Cleanup(func() { cancel(); running.Wait() })
	return l, script, running.Wait
}

func TestALoginGoesOnWhileNobodyLooks(t *testing.T) {
	l, script, wait := newScriptedLogins(t)
	if l.view("auth") != nil {
		t.Error("there is a login before one began")
	}
	l.begin("auth")
	l.begin("auth") // a second click joins it
	<-script.shown
	view := l.view("auth")
	if view == nil || !view.Running() || view.Prompt.UserCode != "ABCD-EFGH" || len(view.Lines) != 1 || view.Lines[0].Message != "asking auth" {
		t.Fatalf("%+v", view)
	}
	view.Prompt.UserCode = "changed"
	script.answer <- calls.Result{}
	wait()
	if view = l.view("auth"); view.Running() || view.Failed != nil || view.Prompt.UserCode != "ABCD-EFGH" || script.calls != 1 {
		t.Errorf("%+v, %d calls", view, script.calls)
	}
	l.now = func() time.Time { return noon.Add(keptLogin + time.Second) }
	if l.view("auth") != nil {
		t.Error("an old login is shown for ever")
	}
}

func TestALoginTellsWhyItFailed(t *testing.T) {
	l, script, wait := newScriptedLogins(t)
	l.begin("auth")
	<-script.shown
	script.answer <- calls.Result{Error: &runs.Error{Kind: plan.KindDenied, Message: "refused"}}
	wait()
	if view := l.view("auth"); view.Running() || view.Failed == nil || view.Failed.Kind != plan.KindDenied {
		t.Errorf("%+v", view)
	}
}

func TestALoginIsStoppedByHandAndByTheEnd(t *testing.T) {
	l, script, wait := newScriptedLogins(t)
	l.end("auth") // nothing to stop
	l.begin("auth")
	<-script.shown
	l.end("auth")
	wait()
	if view := l.view("auth"); view.Running() || view.Failed.Kind != plan.KindCanceled {
		t.Errorf("%+v", view)
	}

	l, script, _ = newScriptedLogins(t)
	flow := &loginFlow{}
	l.finish(flow, calls.Result{}, context.Canceled)
	if flow.Failed.Kind != plan.KindCanceled {
		t.Errorf("%+v", flow.Failed)
	}
	flow = &loginFlow{}
	l.finish(flow, calls.Result{}, errors.New("no such service"))
	if flow.Failed.Message != "no such service" || script.calls != 0 {
		t.Errorf("%+v", flow.Failed)
	}
}
