package telemetry_test

import (
	"context"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/telemetry"
)

// traced is a tracer whose spans are kept.
type traced struct {
	t      *testing.T
	wall   *clock
	kept   *tracetest.InMemoryExporter
	traces *telemetry.Traces
}

func newTraced(t *testing.T) *traced {
	t.Helper()
	c := &traced{t: t, wall: newClock(), kept: tracetest.NewInMemoryExporter()}
	c.traces = telemetry.NewTraces(telemetry.TracesOptions{Now: c.wall.now, Version: "test", Exporter: keeping{c.kept}})
	t.Cleanup(func() { _ = c.traces.Close(context.Background()) })
	return c
}

// keeping is an exporter that keeps its spans when it is closed.
type keeping struct{ *tracetest.InMemoryExporter }

func (keeping) Shutdown(context.Context) error { return nil }

// tree closes the tracer and draws what it sent: each span below its parent,
// with its seconds and its status.
func (c *traced) tree() string {
	c.t.Helper()
	if err := c.traces.Close(context.Background()); err != nil {
		c.t.Fatal(err)
	}
	spans := c.kept.GetSpans()
	slices.SortStableFunc(spans, func(a, b tracetest.SpanStub) int { return a.StartTime.Compare(b.StartTime) })
	known := map[string]bool{}
	for _, s := range spans {
		known[s.SpanContext.SpanID().String()] = true
	}
	var out strings.Builder
	var draw func(parent, indent string)
	draw = func(parent, indent string) {
		for _, s := range spans {
			above := s.Parent.SpanID().String()
			if !s.Parent.IsValid() {
				above = ""
			} else if !known[above] {
				c.t.Errorf("span %s has a parent that was not sent", s.Name)
			}
			if above == parent {
				out.WriteString(indent + s.Name + " " + s.EndTime.Sub(s.StartTime).String() + " " + s.Status.Code.String() + "\n")
				draw(s.SpanContext.SpanID().String(), indent+"  ")
			}
		}
	}
	draw("", "")
	return out.String()
}

func (c *traced) compare(want string) {
	c.t.Helper()
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), c.tree()); diff != "" {
		c.t.Errorf("spans (-want +got):\n%s", diff)
	}
}

func (c *traced) begin(workflow string, n byte) *runs.Run {
	row := &runs.Run{ID: runID(c.wall.at, n), Workflow: workflow, Status: runs.RunRunning, StartedAt: c.wall.at, Attempt: 1}
	c.traces.Observer().RunStored(row)
	return row
}

func (c *traced) end(row *runs.Run, status runs.Status, failure *runs.Error) {
	at := c.wall.at
	row.Status, row.Closed, row.FinishedAt, row.Error = status, true, &at, failure
	c.traces.Observer().RunStored(row)
}

// step tells of a step that began a time ago and ends now.
func (c *traced) step(row *runs.Run, path string, ago time.Duration, status runs.StepStatus, failure *runs.Error) {
	began, ended := c.wall.at.Add(-ago), c.wall.at
	c.traces.Observer().StepStored(row, &runs.Step{Path: path, Uses: "tasks.list", Status: status, StartedAt: &began, FinishedAt: &ended, Error: failure})
}

// call makes a call that takes a second and returns its trace context.
func (c *traced) call(row *runs.Run, operation string, attempt int, answer runs.Answer) string {
	step, _, _ := strings.Cut(operation, "#")
	request := &runs.Request{Action: "tasks.list", RunID: row.ID, Step: step, Operation: operation, Attempt: attempt}
	ended := c.traces.Observer().CallSent(request)
	c.wall.pass(time.Second)
	ended(answer)
	return request.Traceparent
}

var (
	done   = runs.Answer{Completed: &runs.Completed{}}
	broken = runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: "no answer"}}
)

func TestATraceHoldsTheRunItsStepsPagesAndAttempts(t *testing.T) {
	c := newTraced(t)
	row := c.begin("report", 1)
	c.call(row, "read#page1", 1, done)
	c.call(row, "read#page2", 1, broken)
	c.call(row, "read#page2", 2, done)
	c.step(row, "read", 3*time.Second, runs.StepSucceeded, nil)
	c.call(row, "sites[a].ping", 1, done)
	c.step(row, "sites[a].ping", time.Second, runs.StepSucceeded, nil)
	c.step(row, "sites", time.Second, runs.StepSucceeded, nil)
	c.end(row, runs.RunSucceeded, nil)
	c.compare(`
report 4s Ok
  read 3s Unset
    page1 1s Unset
      tasks.list 1s Unset
    page2 2s Unset
      tasks.list 1s Error
      tasks.list 1s Unset
  sites 1s Unset
    sites[a].ping 1s Unset
      tasks.list 1s Unset
`)
}

func TestAPageThatIsNeverAnsweredEndsWithItsStep(t *testing.T) {
	c := newTraced(t)
	row := c.begin("report", 1)
	c.call(row, "read#page1", 1, broken)
	c.step(row, "read", time.Second, runs.StepFailed, broken.Failed)
	c.end(row, runs.RunFailed, broken.Failed)
	c.compare(`
report 1s Error
  read 1s Error
    page1 1s Error
      tasks.list 1s Error
`)
}

func TestEachAttemptOfARunIsASpanOfTheSameTrace(t *testing.T) {
	c := newTraced(t)
	row := c.begin("report", 1)
	c.call(row, "read", 1, broken)
	c.step(row, "read", time.Second, runs.StepFailed, broken.Failed)
	c.end(row, runs.RunFailed, broken.Failed)
	c.wall.pass(time.Hour)
	row.Status, row.Closed, row.FinishedAt, row.Error, row.Attempt = runs.RunRunning, false, nil, nil, 2
	c.traces.Observer().RunStored(row)
	c.call(row, "read", 1, done)
	c.step(row, "read", time.Second, runs.StepSucceeded, nil)
	c.end(row, runs.RunSucceeded, nil)
	c.compare(`
report 1s Error
  read 1s Error
    tasks.list 1s Error
report 1s Ok
  read 1s Unset
    tasks.list 1s Unset
`)
	for _, span := range c.kept.GetSpans() {
		if span.SpanContext.TraceID() != telemetry.TraceID(row.ID) {
			t.Errorf("span %s stands in another trace", span.Name)
		}
	}
}

func TestAnotherProcessGoesOnWithTheSameTrace(t *testing.T) {
	before, after := newTraced(t), newTraced(t)
	row := before.begin("report", 1)
	before.call(row, "read", 1, done)
	before.step(row, "read", time.Second, runs.StepSucceeded, nil)
	// The process is killed; the next one replays and tells of what comes then.
	after.traces.LookUp(func(string) (*runs.Run, error) { return row, nil })
	after.wall.pass(time.Second)
	after.call(row, "write", 1, done)
	after.step(row, "write", time.Second, runs.StepSucceeded, nil)
	after.end(row, runs.RunSucceeded, nil)
	after.compare(`
report 2s Ok
  write 1s Unset
    tasks.list 1s Unset
`)
	if err := before.traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	root := map[string]bool{}
	for _, span := range after.kept.GetSpans() {
		root[span.SpanContext.SpanID().String()] = true
	}
	for _, span := range before.kept.GetSpans() {
		if span.Name == "read" && (!root[span.Parent.SpanID().String()] || span.SpanContext.TraceID() != telemetry.TraceID(row.ID)) {
			t.Error("the step of the first process does not hang below the run's span of the second")
		}
	}
}

func TestASubWorkflowStandsInTheTraceOfItsParent(t *testing.T) {
	c := newTraced(t)
	parent := c.begin("parent", 1)
	child := &runs.Run{
		ID: runID(c.wall.at, 2), Workflow: "child", Status: runs.RunRunning, StartedAt: c.wall.at, Attempt: 1,
		Parent: &runs.ParentStep{Run: parent.ID, Step: "sub", Path: "sub"},
	}
	c.traces.LookUp(func(string) (*runs.Run, error) { return parent, nil })
	c.traces.Observer().RunStored(child)
	c.call(child, "read", 1, done)
	c.step(child, "read", time.Second, runs.StepSucceeded, nil)
	c.end(child, runs.RunSucceeded, nil)
	c.step(parent, "sub", time.Second, runs.StepSucceeded, nil)
	c.end(parent, runs.RunSucceeded, nil)
	c.compare(`
parent 1s Ok
  sub 1s Unset
    child 1s Ok
      read 1s Unset
        tasks.list 1s Unset
`)
}

func TestTheTraceContextOfACallNamesItsSpan(t *testing.T) {
	c := newTraced(t)
	row := c.begin("report", 1)
	context := c.call(row, "read", 1, done)
	c.step(row, "read", time.Second, runs.StepSucceeded, nil)
	c.end(row, runs.RunSucceeded, nil)
	c.tree()
	for _, span := range c.kept.GetSpans() {
		if span.Name == "tasks.list" {
			if want := "00-" + span.SpanContext.TraceID().String() + "-" + span.SpanContext.SpanID().String() + "-01"; context != want {
				t.Errorf("the plugin got %s, want %s", context, want)
			}
		}
	}
}

func TestWhatIsNotSampledIsNotSentAndThePluginHearsOfIt(t *testing.T) {
	t.Setenv("OTEL_TRACES_SAMPLER", "always_off")
	c := newTraced(t)
	row := c.begin("report", 1)
	context := c.call(row, "read", 1, done)
	c.step(row, "read", time.Second, runs.StepSucceeded, nil)
	c.end(row, runs.RunSucceeded, nil)
	c.compare("")
	if !strings.HasSuffix(context, "-00") {
		t.Errorf("the plugin got %q, want a context that is not sampled", context)
	}
}

func TestACallOutsideOfARunIsNotTraced(t *testing.T) {
	c := newTraced(t)
	request := &runs.Request{Action: "tasks.list", RunID: runID(c.wall.at, 9)}
	c.traces.Observer().CallSent(request)(done)
	if request.Traceparent != "" {
		t.Errorf("the plugin got %q", request.Traceparent)
	}
	c.compare("")
}

func TestOnlyOTLPOverHTTPIsTraced(t *testing.T) {
	for name, test := range map[string]struct {
		environ []string
		want    bool
	}{
		"nothing is set":            {nil, false},
		"an endpoint":               {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://localhost:4318"}, true},
		"an endpoint of traces":     {[]string{"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=http://localhost:4318/v1/traces"}, true},
		"an empty endpoint":         {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT="}, false},
		"the library is turned off": {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://x", "OTEL_SDK_DISABLED=TRUE"}, false},
		"another exporter":          {[]string{"OTEL_EXPORTER_OTLP_ENDPOINT=http://x", "OTEL_TRACES_EXPORTER=none"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := telemetry.Traced(test.environ); got != test.want {
				t.Errorf("Traced: %v, want %v", got, test.want)
			}
		})
	}
	if _, err := telemetry.NewOTLP(t.Context(), []string{"OTEL_EXPORTER_OTLP_PROTOCOL=grpc"}, slog.New(slog.DiscardHandler)); err == nil {
		t.Error("gRPC was accepted")
	}
}

func TestSpansReachACollectorOverHTTP(t *testing.T) {
	var lock sync.Mutex
	var names []string
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		var request collector.ExportTraceServiceRequest
		if err == nil {
			err = proto.Unmarshal(body, &request)
		}
		if err != nil || r.URL.Path != "/v1/traces" {
			t.Errorf("%s %s: %v", r.Method, r.URL.Path, err)
		}
		lock.Lock()
		defer lock.Unlock()
		for _, resource := range request.GetResourceSpans() {
			for _, scope := range resource.GetScopeSpans() {
				for _, span := range scope.GetSpans() {
					names = append(names, span.GetName())
				}
			}
		}
	}))
	defer server.Close()
	t.Setenv("OTEL_EXPORTER_OTLP_ENDPOINT", server.URL)
	exporter, err := telemetry.NewOTLP(t.Context(), []string{"OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	wall := newClock()
	traces := telemetry.NewTraces(telemetry.TracesOptions{Now: wall.now, Version: "test", Exporter: exporter})
	row := &runs.Run{ID: runID(wall.at, 1), Workflow: "report", Status: runs.RunSucceeded, StartedAt: wall.at, Attempt: 1, Closed: true}
	traces.Observer().RunStored(row)
	if err := traces.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	lock.Lock()
	defer lock.Unlock()
	if diff := cmp.Diff([]string{"report"}, names); diff != "" {
		t.Errorf("spans (-want +got):\n%s", diff)
	}
	if sent, lost := traces.Spans(); sent != 1 || lost != 0 {
		t.Errorf("%d sent, %d lost", sent, lost)
	}
}

func TestATraceIsFoundFromTheRun(t *testing.T) {
	if got, want := telemetry.TraceID("01arz3ndektsv4rrffq69g5fav").String(), "01563e3ab5d3d6764c61efb99302bd5b"; got != want {
		t.Errorf("trace %s, want %s", got, want)
	}
}

func TestARunThatHasEndedLeavesNothingInMemory(t *testing.T) {
	c := newTraced(t)
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: c.wall.now, Version: "test"})
	both := telemetry.Join(metrics.Observer(), c.traces.Observer())
	for n := range byte(50) {
		at := c.wall.at
		row := &runs.Run{ID: runID(at, n), Workflow: "short", Status: runs.RunRunning, StartedAt: at, Attempt: 1}
		step := &runs.Step{Path: "one", Status: runs.StepSucceeded, StartedAt: &at, FinishedAt: &at}
		if n%2 == 0 {
			both.RunStored(row)
			both.StepStored(row, step)
		}
		row.Status, row.Closed, row.FinishedAt = runs.RunSucceeded, true, &at
		both.RunStored(row)
		both.StepStored(row, step) // a run that ends with its first record: its steps come after it
	}
	if c.traces.Open() != 0 || metrics.Open() != 0 {
		t.Errorf("%d and %d runs are kept", c.traces.Open(), metrics.Open())
	}
}

func TestManyRunsMayBeToldAtOnce(t *testing.T) {
	c := newTraced(t)
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: c.wall.now, Version: "test", Spans: c.traces.Spans})
	both := telemetry.Join(metrics.Observer(), c.traces.Observer())
	c.traces.LookUp(func(id string) (*runs.Run, error) { return &runs.Run{ID: id, Workflow: "parent", Attempt: 1}, nil })
	var workers sync.WaitGroup
	for n := range byte(16) {
		workers.Go(func() {
			at := c.wall.now()
			row := &runs.Run{ID: runID(at, n), Workflow: "report", Status: runs.RunRunning, StartedAt: at, Attempt: 1}
			if n%4 == 3 {
				row.Parent = &runs.ParentStep{Run: runID(at, 100+n), Step: "sub"}
			}
			both.RunStored(row)
			for range 20 {
				request := &runs.Request{Action: "tasks.list", RunID: row.ID, Step: "read", Operation: "read#page1", Attempt: 1}
				both.CallSent(request)(done)
				both.StepStored(row, &runs.Step{Path: "read", Status: runs.StepSucceeded, StartedAt: &at, FinishedAt: &at})
			}
			row.Status, row.Closed, row.FinishedAt = runs.RunSucceeded, true, &at
			both.RunStored(row)
			fetch(t, metrics)
		})
	}
	workers.Wait()
	wants(t, fetch(t, metrics), `flowrun_calls_total{action="tasks.list",outcome="completed"} 320`, `flowrun_runs_finished_total{status="succeeded",workflow="report"} 16`)
}
