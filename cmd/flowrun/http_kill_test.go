//go:build linux

package main_test

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"
)

// held is a service that does what it is asked, and keeps its first answer back until it
// is told to go on.
type held struct {
	*httptest.Server
	arrived chan struct{}
	goOn    chan struct{}

	mu   sync.Mutex
	sent []string // method, path, body and key of each request
}

func holdFirst(t *testing.T) *held {
	t.Helper()
	h := &held{arrived: make(chan struct{}), goOn: make(chan struct{})}
	h.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		h.mu.Lock()
		h.sent = append(h.sent, strings.Join([]string{r.Method, r.URL.Path, string(body), r.Header.Get("Idempotency-Key"), r.Header.Get("X-Request-Token")}, " "))
		first := len(h.sent) == 1
		h.mu.Unlock()
		if first {
			close(h.arrived)
			<-h.goOn
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"id":1}`)
	}))
	t.Cleanup(func() {
		select {
		case <-h.goOn:
		default:
			close(h.goOn)
		}
		h.Close()
	})
	return h
}

func (h *held) requests() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return append([]string(nil), h.sent...)
}

// TestHttpUnderKill kills engine and plugins in the middle of a request that the service
// has got. What follows is the action's effect: a post parks the run, a put is made again,
// and post_keyed with the same key. post without the kill is the control: it succeeds.
func TestHttpUnderKill(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	for name, c := range map[string]struct {
		action   string
		kill     bool
		status   string
		requests int
	}{
		"post":             {"post", true, "paused", 1},
		"patch":            {"patch", true, "paused", 1},
		"put":              {"put", true, "succeeded", 2},
		"delete":           {"delete", true, "succeeded", 2},
		"get":              {"get", true, "succeeded", 2},
		"post_keyed":       {"post_keyed", true, "succeeded", 2},
		"post, not killed": {"post", false, "succeeded", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := holdFirst(t), t.TempDir()
			write(t, dir, "flowrun.yaml", "connections:\n  shop: {plugin: http, config: {base_url: \""+h.URL+"\", private: true, key_header: X-Request-Token}}\n")
			body := "      json: {amount: 3}\n"
			if c.action == "get" {
				body = ""
			}
			write(t, dir, "pay.yaml", "flowrun: v1\nname: pay\nsteps:\n  - id: pay\n    uses: http."+c.action+"\n    with:\n      path: /orders\n"+body)
			output := runUnderKill(t, binary, dir, "pay.yaml", h.arrived, h.goOn, c.kill)
			judgeKilled(t, h, output, c.status, c.requests)
			for _, sent := range h.requests() {
				parts := strings.Split(sent, " ")
				if key := parts[len(parts)-1]; (key != "") != (c.action == "post_keyed") || parts[len(parts)-2] != "" {
					t.Errorf("sent %q", sent)
				}
			}
		})
	}
}

// runUnderKill runs a workflow, waits until a service has got something of it, kills engine
// and plugins where it shall, lets the service go on, and resumes. It returns what the last
// command prints.
func runUnderKill(t *testing.T, binary, dir, workflow string, arrived <-chan struct{}, goOn chan<- struct{}, kill bool) string {
	t.Helper()
	run := exec.Command(binary, "run", workflow, "-o", "json")
	run.Dir, run.Env = dir, append(run.Environ(), "XDG_STATE_HOME="+dir)
	var output strings.Builder
	run.Stdout = &output
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-arrived:
	case <-time.After(2 * time.Minute): // a machine that does nothing else is sooner
		t.Fatal("nothing arrives")
	}
	if !kill {
		close(goOn)
		_ = run.Wait() // the output tells
		return output.String()
	}
	if err := run.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = run.Wait() // killed: its error is expected
	close(goOn)    // its plugins have died with it: none of them hears the answer
	list, _ := flowrunIn(t, binary, dir, "runs", "list", "--limit", "1", "-o", "json")
	resumed, _ := flowrunIn(t, binary, dir, "runs", "resume", firstID(list), "-o", "json")
	return resumed
}

// judgeKilled holds the end of a run against what is due; all requests are the same, with
// the same key.
func judgeKilled(t *testing.T, h *held, output, status string, requests int) {
	t.Helper()
	var result struct {
		Run struct{ Status, Paused string }
	}
	at := strings.Index(output, `{"run"`)
	if at < 0 || json.NewDecoder(strings.NewReader(output[at:])).Decode(&result) != nil || result.Run.Status != status {
		t.Fatalf("the run is %q, want %q:\n%s", result.Run.Status, status, output)
	}
	if status == "paused" && result.Run.Paused != "unknown_outcome" {
		t.Errorf("the run waits for %q", result.Run.Paused)
	}
	sent := h.requests()
	if len(sent) != requests {
		t.Errorf("%d requests, want %d: %q", len(sent), requests, sent)
	}
	for _, again := range sent {
		if again != sent[0] {
			t.Errorf("the second request differs: %q and %q", sent[0], again)
		}
	}
}
