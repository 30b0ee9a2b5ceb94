package notify_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/notify"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func message() notify.Message {
	return notify.Message{
		Text: "3 domains expire", To: "ops", Workflow: "watch", Run: "01j", Step: "tell", At: time.Date(2026, 3, 2, 9, 30, 0, 0, time.UTC),
	}
}

func TestAWebhookGetsTheMessageAndItsKey(t *testing.T) {
	var got *http.Request
	var body string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got, body = r, string(data)
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	sender := &notify.Sender{Version: "1.2.3"}
	if failed := sender.Send(t.Context(), notify.Target{Name: "ops", Webhook: server.URL + "/hook"}, message(), "key-1"); failed != nil {
		t.Fatal(failed)
	}
	want := `{"text":"3 domains expire","to":"ops","workflow":"watch","run":"01j","step":"tell","at":"2026-03-02T09:30:00Z"}`
	if body != want || got.Method != http.MethodPost || got.URL.Path != "/hook" {
		t.Errorf("%s %s %s", got.Method, got.URL, body)
	}
	for name, value := range map[string]string{"Idempotency-Key": "key-1", "Content-Type": "application/json", "User-Agent": "flowrun/1.2.3"} {
		if got.Header.Get(name) != value {
			t.Errorf("header %s is %q, want %q", name, got.Header.Get(name), value)
		}
	}
}

func TestAnAnswerThatIsNoSuccess(t *testing.T) {
	for status, want := range map[int]runs.Error{
		http.StatusBadRequest:         {Kind: plan.KindInvalid, Applied: runs.NotApplied},
		http.StatusUnauthorized:       {Kind: plan.KindUnauthorized, Applied: runs.NotApplied},
		http.StatusForbidden:          {Kind: plan.KindForbidden, Applied: runs.NotApplied},
		http.StatusNotFound:           {Kind: plan.KindNotFound, Applied: runs.NotApplied},
		http.StatusTooManyRequests:    {Kind: plan.KindRateLimited, Applied: runs.NotApplied, RetryAfterS: 7},
		http.StatusServiceUnavailable: {Kind: plan.KindUnavailable, Applied: runs.AppliedUnknown, RetryAfterS: 7},
		http.StatusFound:              {Kind: plan.KindInvalid, Applied: runs.NotApplied},
	} {
		asked := 0
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Retry-After", "7")
			w.Header().Set("Location", "/elsewhere")
			w.WriteHeader(status)
		}))
		failed := (&notify.Sender{}).Send(t.Context(), notify.Target{Name: "ops", Webhook: server.URL + "/T0p-s3cret"}, message(), "k")
		server.Close()
		if failed == nil || failed.Kind != want.Kind || failed.Applied != want.Applied || failed.RetryAfterS != want.RetryAfterS || failed.HTTPStatus != status {
			t.Errorf("status %d gives %+v", status, failed)
			continue
		}
		if asked != 1 || strings.Contains(failed.Error(), "s3cret") {
			t.Errorf("status %d: asked %d times, says %s", status, asked, failed)
		}
	}
}

func TestAnAddressStandsInNoError(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	address := server.URL
	server.Close()
	late := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // else the server does not see that the client left
		<-r.Context().Done()
	}))
	defer late.Close()
	for name, c := range map[string]struct {
		webhook string
		want    runs.Error
	}{
		"nobody listens": {address + "/T0p-s3cret", runs.Error{Kind: plan.KindUnavailable, Applied: runs.NotApplied}},
		"no answer":      {late.URL + "/T0p-s3cret", runs.Error{Kind: plan.KindTimeout, Applied: runs.AppliedUnknown}},
		"no address":     {"T0p-s3cret", runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied}},
		"other scheme":   {"file:///T0p-s3cret", runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied}},
		"control sign":   {"http://a\x00T0p-s3cret", runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		failed := (&notify.Sender{}).Send(ctx, notify.Target{Name: "ops", Webhook: c.webhook}, message(), "k")
		cancel()
		if failed == nil || failed.Kind != c.want.Kind || failed.Applied != c.want.Applied || strings.Contains(failed.Error()+failed.Hint.Text, "s3cret") {
			t.Errorf("%s: %+v", name, failed)
		}
	}
}

func TestACommandGetsTheMessageAndNoSecrets(t *testing.T) {
	dir := t.TempDir()
	sender := &notify.Sender{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH"), "FLOWRUN_SECRET_X=s3cret", "AWS_KEY=s3cret"}}
	target := notify.Target{Name: "ops", Command: []string{"sh", "-c", "cat > message.json; env > env.txt"}}
	if failed := sender.Send(t.Context(), target, message(), "key-1"); failed != nil {
		t.Fatal(failed)
	}
	data, err := os.ReadFile(filepath.Join(dir, "message.json"))
	if err != nil {
		t.Fatal(err)
	}
	var got notify.Message
	if err := json.Unmarshal(data, &got); err != nil || got != message() {
		t.Errorf("the command got %s (%v)", data, err)
	}
	environ, err := os.ReadFile(filepath.Join(dir, "env.txt"))
	if err != nil || strings.Contains(string(environ), "s3cret") || !strings.Contains(string(environ), "FLOWRUN_IDEMPOTENCY_KEY=key-1") {
		t.Errorf("the command's environment: %s (%v)", environ, err)
	}
}

func TestACommandThatDoesNotEndWell(t *testing.T) {
	for name, c := range map[string]struct {
		command []string
		want    runs.Error
	}{
		"exit status":  {[]string{"sh", "-c", "exit 3"}, runs.Error{Kind: plan.KindUnavailable, Applied: runs.AppliedUnknown}},
		"not there":    {[]string{"./nowhere"}, runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied}},
		"does not end": {[]string{"sh", "-c", "sleep 60 & sleep 60"}, runs.Error{Kind: plan.KindTimeout, Applied: runs.AppliedUnknown}},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		began := time.Now()
		sender := &notify.Sender{Dir: t.TempDir(), Environ: os.Environ()}
		failed := sender.Send(ctx, notify.Target{Name: "ops", Command: c.command}, message(), "k")
		cancel()
		if failed == nil || failed.Kind != c.want.Kind || failed.Applied != c.want.Applied || time.Since(began) > 50*time.Second { // the command sleeps for 60
			t.Errorf("%s: %+v after %s", name, failed, time.Since(began))
		}
	}
}

// What a command leaves behind ends with it: here a process that holds a pipe open.
func TestWhatACommandLeavesBehindEnds(t *testing.T) {
	dir := t.TempDir()
	pipe := filepath.Join(dir, "pipe")
	if err := syscall.Mkfifo(pipe, 0o600); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() {
		_, err := os.ReadFile(pipe) // until nobody holds it open for writing
		ended <- err
	}()
	script := "(exec 9>pipe; touch there; exec sleep 60) >/dev/null 2>&1 & while [ ! -e there ]; do :; done"
	sender := &notify.Sender{Dir: dir, Environ: []string{"PATH=" + os.Getenv("PATH")}}
	if failed := sender.Send(t.Context(), notify.Target{Name: "ops", Command: []string{"sh", "-c", script}}, message(), "k"); failed != nil {
		t.Fatal(failed)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Fatal(err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("a process that the command began lives on")
	}
}
