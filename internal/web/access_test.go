package web

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/connections"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// promptSink keeps the prompts that it is shown.
type promptSink struct{ prompts chan runs.Prompt }

func (s *promptSink) Log(runs.Log)           {}
func (s *promptSink) Progress(runs.Progress) {}
func (s *promptSink) Prompt(p runs.Prompt)   { s.prompts <- p }

func accessClient(t *testing.T, access *fakeAccess) *Client {
	t.Helper()
	handler, _ := newAccessHandler(t, new(fakeRuns), access)
	return NewClient(InProcess(handler))
}

func TestALoginShowsItsPromptAndEnds(t *testing.T) {
	access, sink := new(fakeAccess), &promptSink{make(chan runs.Prompt, 1)}
	result, err := accessClient(t, access).Login(t.Context(), "work", connections.LoginRequest{Scopes: []string{"a", "b"}}, sink)
	if err != nil || string(result.Outputs) != `{"state":"granted"}` {
		t.Fatalf("%s, %v", result.Outputs, err)
	}
	if got := <-sink.prompts; got.UserCode != "WDJB-MJHT" || strings.Join(access.scopes, " ") != "a b" {
		t.Errorf("prompt %+v, scopes %v", got, access.scopes)
	}
}

// TestACanceledLoginEndsInTheOwner: nothing is polled any more.
func TestACanceledLoginEndsInTheOwner(t *testing.T) {
	access := &fakeAccess{loggedIn: make(chan struct{}), ended: make(chan error, 1)}
	sink := &promptSink{make(chan runs.Prompt, 1)}
	client := accessClient(t, access)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() {
		_, err := client.Login(ctx, "work", connections.LoginRequest{}, sink)
		done <- err
	}()
	<-sink.prompts
	cancel()
	if err := <-done; !errors.Is(err, context.Canceled) {
		t.Errorf("the client got %v", err)
	}
	if err := <-access.ended; !errors.Is(err, context.Canceled) {
		t.Errorf("the owner's login ended with %v", err)
	}
}

func TestAnUnknownConnectionIsNotFoundWithANearMatch(t *testing.T) {
	client := accessClient(t, new(fakeAccess))
	_, testErr := client.TestConnection(t.Context(), "wrok")
	_, loginErr := client.Login(t.Context(), "wrok", connections.LoginRequest{}, &promptSink{})
	_, logoutErr := client.Logout(t.Context(), "wrok")
	for name, err := range map[string]error{"test": testErr, "login": loginErr, "logout": logoutErr, "rm": client.RemoveSecret(t.Context(), "S")} {
		var problem *Problem
		if !errors.As(err, &problem) || problem.Code != wire.CodeNotFound || !strings.Contains(problem.Hint.Text, "did you mean") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestConnectionsAndSecretsGoThroughTheAPI(t *testing.T) {
	access := new(fakeAccess)
	client := accessClient(t, access)
	if list, err := client.Connections(t.Context()); err != nil || len(list) != 1 || list[0].Login.State != "valid" {
		t.Errorf("connections: %+v, %v", list, err)
	}
	if test, err := client.TestConnection(t.Context(), "work"); err != nil || !test.OK || test.Account != "ann" {
		t.Errorf("test: %+v, %v", test, err)
	}
	if result, err := client.Logout(t.Context(), "work"); err != nil || !result.Revoked {
		t.Errorf("logout: %+v, %v", result, err)
	}
	if info, err := client.SetSecret(t.Context(), "T", "a\nb\x00<&>"); err != nil || info.Name != "T" || access.secrets["T"] != "a\nb\x00<&>" {
		t.Errorf("set: %+v, %v, %q", info, err, access.secrets["T"])
	}
	if err := client.RemoveSecret(t.Context(), "T"); err != nil {
		t.Errorf("rm: %v", err)
	}
}

// TestARefusedSecretIsNotTold: a body or a path that is wrong may be the secret.
func TestARefusedSecretIsNotTold(t *testing.T) {
	handler, _ := newAccessHandler(t, new(fakeRuns), new(fakeAccess))
	const canary = "canary-7d1f"
	for name, r := range map[string]struct{ path, body string }{
		"an unknown field": {"/local/secrets/T", `{"` + canary + `":1}`},
		"bare text":        {"/local/secrets/T", canary},
		"in the path":      {"/local/secrets/" + canary, `{"value":"x"}`},
	} {
		w := request(handler, http.MethodPut, Prefix+r.path, "application/json", r.body)
		if w.Code != http.StatusBadRequest || strings.Contains(w.Body.String(), canary) {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
	}
	for _, path := range []string{"/connections/a%2fb/test", "/connections/../runs", "/connections/" + strings.Repeat("a", 80) + "/test"} {
		if w := request(handler, http.MethodPost, Prefix+path, "application/json", `{}`); w.Code < 400 {
			t.Errorf("%s: %d", path, w.Code)
		}
	}
}
