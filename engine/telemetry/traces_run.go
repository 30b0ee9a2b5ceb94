package telemetry

import (
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/flowrun/flowrun/engine/runs"
)

// maxDepth is how many runs a sub-workflow's trace is looked for upwards.
const maxDepth = 32

// of returns the state of a run, which is made from its row where it is not
// known; nil without a row. t.mu is held, and released while a row is read.
func (t *Traces) of(runID string, row *runs.Run) *tracedRun {
	if run := t.open[runID]; run != nil || runID == "" {
		return run
	}
	row = t.rowOf(runID, row)
	if row == nil {
		return nil
	}
	r := &tracedRun{
		trace: TraceID(runID), attempt: max(1, row.Attempt), begun: row.StartedAt,
		ledger: newLedger(time.Time{}), pages: map[string]tracedPage{},
	}
	if row.Attempt > 1 || row.StartedAt.IsZero() {
		r.begun = t.options.Now()
	}
	if row.Parent != nil {
		root, attempt := t.rootOf(row)
		r.trace, r.parent = TraceID(root), stepSpan(row.Parent.Run, attempt, row.Parent.Step)
	}
	if raced := t.open[runID]; raced != nil {
		return raced
	}
	r.sampled = t.sampled(r.trace)
	if !row.Closed { // its steps may be told after it: nothing of it is kept
		t.open[runID] = r
	}
	return r
}

// rowOf reads a row where it is not at hand.
func (t *Traces) rowOf(runID string, row *runs.Run) *runs.Run {
	if row != nil || t.row == nil {
		return row
	}
	read := t.row
	t.mu.Unlock()
	defer t.mu.Lock()
	run, err := read(runID)
	if err != nil {
		return nil // a call outside of a run, or a run that is gone
	}
	return run
}

// rootOf finds the run whose trace a sub-workflow's run belongs to, and the
// attempt of its parent.
func (t *Traces) rootOf(row *runs.Run) (root string, parentAttempt int) {
	parentAttempt = 1
	for depth := 0; row.Parent != nil && depth < maxDepth; depth++ {
		root = row.Parent.Run
		above := t.rowOf(root, nil)
		if above == nil {
			break
		}
		if depth == 0 {
			parentAttempt = max(1, above.Attempt)
		}
		row = above
	}
	return root, parentAttempt
}

// sampled asks the sampler about a trace: whether it is kept depends on its id.
func (t *Traces) sampled(id trace.TraceID) trace.TraceFlags {
	probe := t.start(&tracedRun{trace: id}, trace.SpanID{1}, trace.SpanID{}, "probe", t.options.Now())
	return probe.SpanContext().TraceFlags() // it is never ended, so it is never sent
}

func (t *Traces) runStored(row *runs.Run) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(row.ID, row)
	if r == nil || row.Status == runs.RunQueued {
		return
	}
	if row.Attempt > r.attempt {
		r.attempt, r.begun, r.told = row.Attempt, t.options.Now(), 0
	}
	if r.told == 0 && r.attempt == 1 {
		r.begun = row.StartedAt // it may have waited for its place
	}
	news := r.ledger.run(row)
	if news.paused || news.closed {
		t.sendRun(row, r)
	}
	if news.closed {
		delete(t.open, row.ID)
	}
}

// sendRun sends the span of a run's attempt. One that was paused and goes on
// without a new attempt gets another span beside the first.
func (t *Traces) sendRun(row *runs.Run, r *tracedRun) {
	at := t.options.Now()
	if row.FinishedAt != nil && row.Closed {
		at = *row.FinishedAt
	}
	for operation := range r.pages {
		t.sendPage(row.ID, r, operation, row.Error, at)
	}
	id := runSpan(row.ID, r.attempt)
	if r.told++; r.told > 1 {
		id = spanID(row.ID, "run", strconv.Itoa(r.attempt), strconv.Itoa(r.told))
	}
	attributes := []attribute.KeyValue{
		attribute.String("flowrun.run_id", row.ID), attribute.String("flowrun.workflow", row.Workflow),
		attribute.String("flowrun.trigger", row.Trigger), attribute.String("flowrun.status", string(row.Status)),
		attribute.Int("flowrun.attempt", r.attempt), attribute.String("flowrun.plan_hash", row.PlanHash),
	}
	if row.Paused != "" {
		attributes = append(attributes, attribute.String("flowrun.paused", row.Paused))
	}
	span := t.start(r, id, r.parent, row.Workflow, r.begun, attributes...)
	if row.RerunOf != "" {
		span.AddLink(trace.Link{SpanContext: trace.NewSpanContext(trace.SpanContextConfig{
			TraceID: TraceID(row.RerunOf), SpanID: runSpan(row.RerunOf, 1), TraceFlags: r.sampled, Remote: true,
		})})
	}
	if row.Status == runs.RunSucceeded {
		span.SetStatus(codes.Ok, "")
	}
	end(span, row.Error, at)
	r.begun = at
}

func (t *Traces) stepStored(row *runs.Run, step *runs.Step) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.of(row.ID, row)
	if r == nil || !r.ledger.stepEnded(row.ID, step) || step.StartedAt == nil || step.FinishedAt == nil {
		return
	}
	if step.Status == runs.StepSkipped || step.Status == runs.StepBlocked {
		return // it took no time
	}
	for operation, page := range r.pages {
		if page.step == step.Path {
			t.sendPage(row.ID, r, operation, step.Error, *step.FinishedAt)
		}
	}
	parent := runSpan(row.ID, r.attempt)
	if loop, inLoop := runs.ParsePath(step.Path).Loop(); inLoop {
		parent = stepSpan(row.ID, r.attempt, loop.String())
	}
	attributes := []attribute.KeyValue{
		attribute.String("flowrun.run_id", row.ID), attribute.String("flowrun.step", step.Path),
		attribute.String("flowrun.status", string(step.Status)), attribute.String("flowrun.uses", step.Uses),
		attribute.Int("flowrun.attempts", step.Attempts),
	}
	if step.Pages > 0 {
		attributes = append(attributes, attribute.Int("flowrun.pages", step.Pages))
	}
	if step.Run != "" {
		attributes = append(attributes, attribute.String("flowrun.child_run_id", step.Run))
	}
	span := t.start(r, stepSpan(row.ID, r.attempt, step.Path), parent, step.Path, *step.StartedAt, attributes...)
	end(span, step.Error, *step.FinishedAt)
}
