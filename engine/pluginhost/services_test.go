package pluginhost

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/secret"
)

func TestStateKeepsToItsScopesAndToken(t *testing.T) {
	w := newWorld(t, "good", nil)
	const kept = "put true, again false, got v at 1"
	want := map[string]any{
		"plugin": kept, "connection/main": kept, "run": kept,
		"connection/other": "PermissionDenied", "all": "InvalidArgument", "another run": "PermissionDenied", "wrong token": "Unauthenticated",
	}
	if diff := cmp.Diff(want, w.ok("state", `{}`)); diff != "" {
		t.Errorf("state service (-want +got):\n%s", diff)
	}
	if _, _, found, _ := w.state.GetState(context.Background(), StateKey{Plugin: "evil", Scope: "run/run-1", Key: "k"}); !found {
		t.Errorf("the run's state is not under its id: %v", w.state.at)
	}
}

// oneToken hands out "old" until it is rejected, then the lease.
type oneToken struct {
	requests  []TokenRequest
	committed []*secret.Token
}

func (o *oneToken) Acquire(_ context.Context, r TokenRequest) (*secret.Token, *secret.Lease, error) {
	o.requests = append(o.requests, r)
	if r.Reject == "" {
		return &secret.Token{ID: "old", AccessToken: "old-t0ken"}, nil, nil
	}
	return nil, &secret.Lease{ID: "lease", Stale: &secret.Token{ID: r.Reject}, Until: time.Unix(2e9, 0)}, nil
}

func (o *oneToken) Commit(_ context.Context, _, _ string, token *secret.Token, _ *runs.Error) (*secret.Token, error) {
	o.committed = append(o.committed, token)
	return nil, nil
}

func TestPluginGetsTheLeaseAfterItsTokenWasRefused(t *testing.T) {
	tokens := &oneToken{}
	w := newWorld(t, "good", func(o *Options) { o.Tokens = tokens })
	answer := w.call("token", `{}`)
	if answer.Failed != nil || string(answer.Completed.Output) != `{"text":"used fresh"}` {
		t.Fatalf("answer = %+v %v", answer, answer.Failed)
	}
	want := []TokenRequest{{Plugin: "evil", Connection: "main"}, {Plugin: "evil", Connection: "main", Reject: "old"}}
	if diff := cmp.Diff(want, tokens.requests); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
	if len(tokens.committed) != 1 || tokens.committed[0].AccessToken != "new-t0ken" {
		t.Errorf("committed = %+v", tokens.committed)
	}
	if w.masks.Redact("old-t0ken new-t0ken") != "[redacted] [redacted]" {
		t.Error("tokens are not masked")
	}
}

func TestWrongLaunchTokenIsRefusedByThePlugin(t *testing.T) {
	w := newWorld(t, "good", nil)
	w.ok("echo", `{}`)
	u := w.host.plugins["evil"].inForce
	u.mu.Lock()
	u.process.token = "guessed"
	u.mu.Unlock()
	answer := w.host.Call(context.Background(), runs.Request{Action: "evil.echo", Input: json.RawMessage(`{}`)}, Connection{Name: "main"}, nil)
	if answer.Failed == nil || answer.Failed.Kind != plan.KindInternal || answer.Failed.Message != "plugin evil refused the launch token" {
		t.Errorf("answer = %+v", answer.Failed)
	}
}

func (o *oneToken) Stored(context.Context, TokenRequest) (secret.Status, error) {
	return secret.Status{State: "valid", Renewable: true}, nil
}
