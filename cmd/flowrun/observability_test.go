package main_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/telemetry"
	"github.com/flowrun/flowrun/internal/testcommand"
)

// canary is a secret that must be seen by the service alone.
const canary = "canary-token-7c1e04b9a2"

// fakeCollector takes traces over OTLP and keeps all that it was sent.
type fakeCollector struct {
	*httptest.Server
	mu    sync.Mutex
	spans []*tracepb.Span
	raw   bytes.Buffer
}

func newFakeCollector(t *testing.T) *fakeCollector {
	t.Helper()
	c := &fakeCollector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := io.Reader(r.Body)
		if r.Header.Get("Content-Encoding") == "gzip" {
			unpacked, err := gzip.NewReader(r.Body)
			if err != nil {
				t.Errorf("collector: %v", err)
				return
			}
			body = unpacked
		}
		data, err := io.ReadAll(body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(data, &request)
		}
		if err != nil {
			t.Errorf("collector: %v", err)
		}
		c.mu.Lock()
		defer c.mu.Unlock()
		c.raw.Write(data)
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				c.spans = append(c.spans, scope.GetSpans()...)
			}
		}
	}))
	t.Cleanup(c.Close)
	return c
}

// fakeService answers a GET with statistics, the first time with a failure that
// shows the token it was sent.
type fakeService struct {
	*httptest.Server
	mu     sync.Mutex
	traces []string
	tokens []string
}

func newFakeService(t *testing.T) *fakeService {
	t.Helper()
	s := &fakeService{}
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.traces = append(s.traces, r.Header.Get("Traceparent"))
		s.tokens = append(s.tokens, r.Header.Get("Authorization"))
		if len(s.traces) == 1 {
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(http.StatusServiceUnavailable)
			fmt.Fprintf(w, `{"error":"no backend for %s"}`, r.Header.Get("Authorization"))
			return
		}
		w.WriteHeader(http.StatusForbidden)
		fmt.Fprintf(w, `{"error":"%s may not"}`, canary)
	}))
	t.Cleanup(s.Close)
	return s
}

// observedServer is a `flowrun serve` of its own.
type observedServer struct {
	t       *testing.T
	command *exec.Cmd
	stderr  *testcommand.Buffer
	url     string
	token   string
}

var runIDOf = regexp.MustCompile(`"run":\{"id":"([0-9a-z]{26})"`)

var servesAt = regexp.MustCompile(`flowrun serves (http://\S+)`)

func startObserved(t *testing.T, binary, dir string, environ []string, args ...string) *observedServer {
	t.Helper()
	s := &observedServer{t: t, command: exec.Command(binary, append([]string{"serve", "--listen", "127.0.0.1:0"}, args...)...), stderr: &testcommand.Buffer{}}
	s.command.Dir, s.command.Stderr = dir, s.stderr
	s.command.Env = append(append(os.Environ(), "XDG_STATE_HOME="+dir, "XDG_CONFIG_HOME="+dir), environ...)
	if err := s.command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = s.command.Process.Kill()
		_ = s.command.Wait() // ended before, or killed
	})
	for deadline := time.Now().Add(2 * time.Minute); s.url == ""; time.Sleep(20 * time.Millisecond) {
		if match := servesAt.FindStringSubmatch(s.stderr.String()); match != nil {
			s.url = match[1]
		} else if time.Now().After(deadline) {
			t.Fatalf("the server did not start:\n%s", s.stderr)
		}
	}
	out, stderr, err := flowrun(t, binary, dir, "tokens", "create", "test", "--scope", "viewer")
	if err != nil {
		t.Fatalf("tokens create: %v\n%s", err, stderr)
	}
	s.token = strings.TrimSpace(out)
	return s
}

// get asks with the viewer's token.
func (s *observedServer) get(path string) string {
	s.t.Helper()
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, s.url+path, nil)
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		s.t.Fatal(err)
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		s.t.Fatalf("GET %s: status %d, %v: %s", path, answer.StatusCode, err, body)
	}
	return string(body)
}

// end drains the server.
func (s *observedServer) end() {
	s.t.Helper()
	if err := s.command.Process.Signal(syscall.SIGTERM); err != nil {
		s.t.Fatal(err)
	}
	_ = s.command.Wait() // 143
}

// shapesOf are the forms in which a secret may hide.
func shapesOf(secret string) map[string]string {
	return map[string]string{
		"as it is": secret, "in hex": hex.EncodeToString([]byte(secret)), "in base64": base64.StdEncoding.EncodeToString([]byte(secret))[:20],
		"in URL base64": base64.RawURLEncoding.EncodeToString([]byte(secret))[:20],
	}
}

const observedWorkflow = `flowrun: v1
name: watched
steps:
  - id: look
    uses: tasks.stats
    retry: {attempts: 2, delay: 10ms}
    on_error: continue
  - id: never
    if: "false"
    uses: core.log
    with: {text: hello}
`

func TestNoSecretReachesFiguresTracesOrTheLogAndATraceReachesTheService(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	traces, service := newFakeCollector(t), newFakeService(t)
	write(t, dir, "flowrun.yaml", "workflows: [watched.yaml]\nconnections:\n  tasks: {plugin: tasks, config: {base_url: \""+service.URL+"\", token: \"${{ secrets.TASKS_TOKEN }}\"}}\n")
	write(t, dir, "watched.yaml", observedWorkflow)
	server := startObserved(t, binary, dir, []string{
		"FLOWRUN_SECRET_TASKS_TOKEN=" + canary, "OTEL_EXPORTER_OTLP_ENDPOINT=" + traces.URL, "OTEL_BSP_SCHEDULE_DELAY=50",
	}, "--log-format", "json", "--log-level", "debug")
	out, stderr, err := flowrun(t, binary, dir, "run", "watched.yaml", "-o", "json")
	if err != nil {
		t.Fatalf("run: %v\n%s%s", err, out, stderr)
	}
	id := runIDOf.FindStringSubmatch(out)[1]
	figures := server.get("/metrics")
	server.end()
	log := server.stderr.String()

	for _, line := range []string{
		`flowrun_runs_finished_total{status="succeeded",workflow="watched"} 1`,
		`flowrun_calls_total{action="tasks.stats",outcome="unavailable"} 1`,
		`flowrun_calls_total{action="tasks.stats",outcome="forbidden"} 1`,
		`flowrun_call_retries_total{action="tasks.stats"} 1`,
		`flowrun_steps_finished_total{status="failed",workflow="watched"} 1`,
	} {
		if !strings.Contains(figures, line+"\n") {
			t.Errorf("the figures lack %s", line)
		}
	}
	for _, message := range []string{`"msg":"run accepted"`, `"msg":"step failed"`, `"msg":"run ended"`, `"run":"` + id + `"`, `"step":"look"`, `"trace_id":"` + telemetry.TraceID(id).String() + `"`} {
		if !strings.Contains(log, message) {
			t.Errorf("the log lacks %s:\n%s", message, log)
		}
	}
	traces.mu.Lock()
	defer traces.mu.Unlock()
	service.mu.Lock()
	defer service.mu.Unlock()
	if len(service.tokens) != 2 || !strings.Contains(service.tokens[0], canary) {
		t.Fatalf("the service was to see the secret twice, it saw %q: this test proves nothing", service.tokens)
	}
	for where, text := range map[string]string{"the figures": figures, "the log": log, "the traces": traces.raw.String()} {
		for how, shape := range shapesOf(canary) {
			if strings.Contains(text, shape) {
				t.Errorf("%s hold the secret %s", where, how)
			}
		}
	}
	known := map[string]*tracepb.Span{}
	for _, span := range traces.spans {
		if got := hex.EncodeToString(span.GetTraceId()); got != telemetry.TraceID(id).String() {
			t.Errorf("span %s stands in trace %s", span.GetName(), got)
		}
		known[hex.EncodeToString(span.GetSpanId())] = span
	}
	for _, span := range traces.spans {
		if parent := hex.EncodeToString(span.GetParentSpanId()); parent != "" && known[parent] == nil {
			t.Errorf("span %s has a parent that was not sent", span.GetName())
		}
	}
	for _, given := range service.traces {
		parts := strings.Split(given, "-")
		if len(parts) != 4 || known[parts[2]] == nil || known[parts[2]].GetName() != "tasks.stats" {
			t.Errorf("the service was sent the trace context %q, which is that of no call", given)
		}
	}
	if len(known) != 4 { // the run, its step, two attempts
		t.Errorf("%d spans, want 4: %v", len(known), traces.spans)
	}
}

func TestARunIsTracedWhereACollectorIsNamedAndADeadOneDoesNotFailIt(t *testing.T) {
	binary, dir := buildBinary(t), t.TempDir()
	service := newFakeService(t)
	write(t, dir, "flowrun.yaml", "workflows: [watched.yaml]\nconnections:\n  tasks: {plugin: tasks, config: {base_url: \""+service.URL+"\", token: t0ken-of-tests}}\n")
	write(t, dir, "watched.yaml", observedWorkflow)
	if out, stderr, err := flowrun(t, binary, dir, "run", "watched.yaml"); err != nil {
		t.Fatalf("run: %v\n%s%s", err, out, stderr)
	}
	for _, given := range service.traces {
		if given != "" {
			t.Errorf("the service was sent the trace context %q", given)
		}
	}
	traces := newFakeCollector(t)
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", traces.URL)
	if out, stderr, err := flowrun(t, binary, dir, "run", "watched.yaml"); err != nil {
		t.Fatalf("run with a collector: %v\n%s%s", err, out, stderr)
	}
	if len(traces.spans) != 3 { // the run, its step, one attempt: the service refuses at once now
		t.Errorf("a run sent %d spans, want 3", len(traces.spans))
	}
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:1")
	_, stderr, err := flowrun(t, binary, dir, "run", "watched.yaml")
	if err != nil {
		t.Fatalf("run with a dead collector: %v\n%s", err, stderr)
	}
	if strings.Contains(stderr, "127.0.0.1:1") {
		t.Errorf("the library of traces wrote on stderr: %s", stderr)
	}
}
