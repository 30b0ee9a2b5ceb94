package telemetry

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowrun/flowrun/engine/runs"
)

// Traces makes a trace of each run: the run, its steps, the pages of a step, the
// attempts of a page. Ids follow from the run's id and the step's path, so that
// one trace holds what several processes did for a run. Safe for concurrent use.
type Traces struct {
	options  TracesOptions
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	counts   *countedExporter

	mu   sync.Mutex
	open map[string]*tracedRun
	row  func(runID string) (*runs.Run, error)
}

// TracesOptions are what Traces need. Now, Exporter and Version are required.
type TracesOptions struct {
	Now      func() time.Time
	Version  string
	Exporter sdktrace.SpanExporter
	// Host and PID say which process this is. What OTEL_RESOURCE_ATTRIBUTES and
	// OTEL_SERVICE_NAME say wins.
	Host string
	PID  int
}

// tracedRun is a run that is not closed.
type tracedRun struct {
	trace   trace.TraceID
	sampled trace.TraceFlags
	parent  trace.SpanID // of a sub-workflow's run: the step; zero = none
	attempt int
	begun   time.Time // this attempt
	told    int       // how often the span of this attempt was sent
	ledger  *ledger   // of its steps
	pages   map[string]tracedPage
}

// tracedPage is a page that has begun and not been answered.
type tracedPage struct {
	step  string
	begun time.Time
}

// NewTraces starts what sends spans; Close ends it.
func NewTraces(o TracesOptions) *Traces {
	own := []attribute.KeyValue{
		attribute.String("service.name", "flowrun"), attribute.String("service.version", o.Version),
		attribute.String("host.name", o.Host), attribute.Int("process.pid", o.PID),
	}
	named, err := resource.New(context.Background(), resource.WithAttributes(own...), resource.WithFromEnv())
	if err != nil && named == nil {
		named = resource.NewSchemaless(own...)
	}
	counts := &countedExporter{SpanExporter: o.Exporter}
	t := &Traces{options: o, counts: counts, open: map[string]*tracedRun{}}
	t.provider = sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(counts, sdktrace.WithMaxQueueSize(8192), sdktrace.WithBatchTimeout(2*time.Second)),
		sdktrace.WithResource(named), sdktrace.WithIDGenerator(givenIDs{}),
	)
	t.tracer = t.provider.Tracer("github.com/flowrun/flowrun/engine")
	return t
}

// Close sends what is left, and gives up when ctx ends.
func (t *Traces) Close(ctx context.Context) error { return t.provider.Shutdown(ctx) }

// Spans counts the spans that were sent, and those that could not be.
func (t *Traces) Spans() (sent, lost uint64) { return t.counts.sent.Load(), t.counts.lost.Load() }

// LookUp lets the rows of runs be read that this process has not begun: the
// parents of sub-workflows, and runs that go on after a restart.
func (t *Traces) LookUp(row func(runID string) (*runs.Run, error)) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.row = row
}

// Observer is what makes the spans when the engine tells it.
func (t *Traces) Observer() *runs.Observer {
	return &runs.Observer{Run: t.runStored, Step: t.stepStored, Call: t.callSent}
}

// spanIDs are the ids that the next span gets.
type spanIDs struct {
	trace trace.TraceID
	span  trace.SpanID
}

type spanIDsKey struct{}

// givenIDs gives each span the ids that its context holds.
type givenIDs struct{}

// NewIDs returns the ids of a root span.
func (givenIDs) NewIDs(ctx context.Context) (trace.TraceID, trace.SpanID) {
	ids, _ := ctx.Value(spanIDsKey{}).(spanIDs)
	return ids.trace, ids.span
}

// NewSpanID returns the id of a span below another.
func (givenIDs) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	ids, _ := ctx.Value(spanIDsKey{}).(spanIDs)
	return ids.span
}

// start begins a span with known ids. A zero parent makes it a root.
func (t *Traces) start(r *tracedRun, id, parent trace.SpanID, name string, at time.Time, attributes ...attribute.KeyValue) trace.Span {
	ctx := context.WithValue(context.Background(), spanIDsKey{}, spanIDs{r.trace, id})
	if parent.IsValid() {
		ctx = trace.ContextWithSpanContext(ctx, trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: r.trace, SpanID: parent, TraceFlags: r.sampled,
		}))
	}
	_, span := t.tracer.Start(ctx, name, trace.WithTimestamp(at), trace.WithAttributes(attributes...))
	return span
}

// end ends a span, with the error that ended what it stands for.
func end(span trace.Span, failure *runs.Error, at time.Time) {
	if failure != nil {
		span.SetAttributes(attribute.String("error.type", string(failure.Kind)))
		span.SetStatus(codes.Error, cut(string(failure.Kind)+": "+failure.Message))
	}
	span.End(trace.WithTimestamp(at))
}

// maxText bounds texts of services in spans, in bytes.
const maxText = 300

func cut(text string) string {
	if len(text) > maxText {
		text = text[:maxText]
	}
	return strings.ToValidUTF8(text, "")
}

// callSent begins the span of an attempt and names it to the plugin.
func (t *Traces) callSent(request *runs.Request) func(runs.Answer) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(request.RunID, nil)
	if r == nil {
		return nil // a call outside of a run
	}
	now := t.options.Now()
	parent := stepSpan(request.RunID, r.attempt, request.Step)
	page := runs.ParsePath(request.Operation).Part // an operation of a step with pages ends in it
	paged := page != ""
	if paged {
		if _, begun := r.pages[request.Operation]; !begun {
			r.pages[request.Operation] = tracedPage{step: request.Step, begun: now}
		}
		parent = pageSpan(request.RunID, r.attempt, request.Operation)
	}
	id := spanID(request.RunID, "call", request.Operation, strconv.Itoa(request.Attempt), strconv.FormatInt(now.UnixNano(), 10))
	attributes := []attribute.KeyValue{
		attribute.String("flowrun.run_id", request.RunID), attribute.String("flowrun.step", request.Step),
		attribute.String("flowrun.operation", request.Operation), attribute.String("flowrun.connection", request.Connection),
		attribute.Int("flowrun.attempt", request.Attempt),
	}
	if paged {
		attributes = append(attributes, attribute.String("flowrun.page", page))
	}
	span := t.start(r, id, parent, request.Action, now, attributes...)
	request.Traceparent = traceparent(span.SpanContext())
	return func(answer runs.Answer) {
		ended := t.options.Now()
		span.SetAttributes(attribute.String("flowrun.outcome", outcomeOf(answer)))
		end(span, answer.Failed, ended)
		if answer.Completed != nil && paged {
			t.endPage(request.RunID, request.Operation, ended)
		}
	}
}

func pageSpan(runID string, attempt int, operation string) trace.SpanID {
	return spanID(runID, "page", strconv.Itoa(attempt), operation)
}

// traceparent is the W3C form of a span's context.
func traceparent(c trace.SpanContext) string {
	if !c.IsValid() {
		return ""
	}
	return "00-" + c.TraceID().String() + "-" + c.SpanID().String() + "-" + c.TraceFlags().String()
}

// endPage sends the span of a page.
func (t *Traces) endPage(runID, operation string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if r := t.open[runID]; r != nil {
		t.sendPage(runID, r, operation, nil, at)
	}
}

// sendPage sends the span of a page that has begun. t.mu is held.
func (t *Traces) sendPage(runID string, r *tracedRun, operation string, failure *runs.Error, at time.Time) {
	begun, open := r.pages[operation]
	if !open {
		return
	}
	delete(r.pages, operation)
	name := runs.ParsePath(operation).Part
	span := t.start(r, pageSpan(runID, r.attempt, operation), stepSpan(runID, r.attempt, begun.step), name, begun.begun,
		attribute.String("flowrun.run_id", runID), attribute.String("flowrun.step", begun.step))
	end(span, failure, at)
}

// countedExporter counts what became of spans.
type countedExporter struct {
	sdktrace.SpanExporter
	sent, lost atomic.Uint64
}

// ExportSpans sends a batch.
func (e *countedExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err != nil && !errors.Is(err, context.Canceled) {
		e.lost.Add(uint64(len(spans)))
		return err
	}
	e.sent.Add(uint64(len(spans)))
	return err
}
