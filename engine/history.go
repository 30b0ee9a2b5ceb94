package engine

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// RunHistory is what a run did, in time: the calls and waits of its steps, and
// what was done to it. Times are UTC.
type RunHistory struct {
	Spans []Span `json:"spans"` // in the order of their beginnings
	Gaps  []Gap  `json:"gaps,omitempty"`
	Marks []Mark `json:"marks,omitempty"`
	Last  uint64 `json:"last"` // the sequence number of the newest record
	// Truncated says that the journal is longer than what was read.
	Truncated bool `json:"truncated,omitempty"`
}

// SpanKind says what a span of a step is.
type SpanKind string

// The kinds of spans.
const (
	SpanCall   SpanKind = "call"   // one attempt of one page
	SpanAsk    SpanKind = "ask"    // the question what became of a lost call
	SpanChild  SpanKind = "child"  // the run of a sub-workflow
	SpanRetry  SpanKind = "retry"  // the wait before the next attempt
	SpanPoll   SpanKind = "poll"   // the wait before a pending answer is asked for again
	SpanRepeat SpanKind = "repeat" // the wait before the next round of `repeat`
	SpanSleep  SpanKind = "sleep"  // core.wait
	SpanLimit  SpanKind = "limit"  // a call was held back before it was sent, for its rate limit above all
)

// Waits reports whether nothing is done in the span but waiting.
func (k SpanKind) Waits() bool {
	return k == SpanRetry || k == SpanPoll || k == SpanRepeat || k == SpanSleep || k == SpanLimit
}

// SpanEnd says how a span ended.
type SpanEnd string

// The ends of spans. The empty one stands for a span that is open.
const (
	EndOK       SpanEnd = "ok"
	EndFailed   SpanEnd = "failed"
	EndPending  SpanEnd = "pending"  // the answer was that it is not done yet
	EndCanceled SpanEnd = "canceled" // by the run's end, or by the step's bound
	EndLost     SpanEnd = "lost"     // the process died, and the answer with it
)

// Span is a call or a wait of a step. Input, with secrets as references, and what
// it led to are set when the history of one step was asked for.
type Span struct {
	Step       string          `json:"step"`      // RunStep.Path
	Operation  string          `json:"operation"` // the operation path: with page, window or round
	Kind       SpanKind        `json:"kind"`
	From       time.Time       `json:"from"`
	To         time.Time       `json:"to,omitzero"` // zero = open
	End        SpanEnd         `json:"end,omitempty"`
	Due        time.Time       `json:"due,omitzero"` // of a wait: when it shall end
	Attempt    int             `json:"attempt,omitempty"`
	Error      *runs.Error     `json:"error,omitempty"`
	Message    string          `json:"message,omitempty"` // of a pending answer
	Cached     bool            `json:"cached,omitempty"`
	Action     string          `json:"action,omitempty"`
	Connection string          `json:"connection,omitempty"`
	Effect     plan.Effect     `json:"effect,omitempty"`
	Timeout    time.Duration   `json:"timeout,omitempty"`
	PageCursor string          `json:"page_cursor,omitempty"`
	Input      json.RawMessage `json:"input,omitempty"`
	Output     json.RawMessage `json:"output,omitempty"`
	Meta       json.RawMessage `json:"meta,omitempty"`
}

// Gap is a time in which nothing could go on: the run was paused or had ended, or
// no process drove it.
type Gap struct {
	Why  string    `json:"why"` // "paused", "ended", "stopped", "died"
	From time.Time `json:"from"`
	To   time.Time `json:"to"`
}

// Mark is something that was done to a run: resumed, canceled, answered.
type Mark struct {
	At   time.Time         `json:"at"`
	Kind journal.EventKind `json:"kind"`
	Path string            `json:"path,omitempty"`
	By   string            `json:"by,omitempty"`
}

// The bounds of a history: how many records it is made of, and what its spans hold
// of them, but for those of the last record.
const (
	maxHistory      = 20_000
	maxHistoryBytes = 16 << 20
)

// History returns what a run did so far, of all its steps or of one of them.
// *RunNotFoundError, or ErrRunNotFound.
func (e *Engine) History(ctx context.Context, id, step string) (*RunHistory, error) {
	return e.FollowHistory(id, step).Read(ctx)
}

// FollowHistory returns the history of a run for who reads it again and again: each
// Read reads what came after the one before.
func (e *Engine) FollowHistory(id, step string) *HistoryReader {
	return &HistoryReader{engine: e, id: id, historian: historian{only: step, open: map[string]int{}, steps: map[string]string{}}}
}

// HistoryReader reads the history of a run. Safe for concurrent use.
type HistoryReader struct {
	engine *Engine
	id     string

	mu        sync.Mutex
	historian historian
	count     int // of the records that it is made of
}

// Read returns what the run did so far, as Engine.History.
func (r *HistoryReader) Read(ctx context.Context) (*RunHistory, error) { return r.ReadWith(ctx, nil) }

// ReadWith is Read for who has a view of the run already: what its steps wait for is
// taken from there. nil asks for it.
func (r *HistoryReader) ReadWith(ctx context.Context, view *RunView) (*RunHistory, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.readOn(ctx); err != nil {
		return nil, err
	}
	history := r.historian.history
	history.Spans, history.Gaps, history.Marks = slices.Clone(history.Spans), slices.Clone(history.Gaps), slices.Clone(history.Marks)
	for i := range history.Spans {
		history.Spans[i].PageCursor = r.engine.project.ShownCursor(history.Spans[i].PageCursor)
	}
	shown := historian{history: history, open: r.historian.open, holds: r.historian.holds}
	switch {
	case len(shown.open) == 0 || !r.engine.driver.Driven(r.id):
	case view != nil:
		shown.live(view.Steps)
	default:
		steps, err := r.engine.driver.Steps(ctx, r.id)
		if err != nil {
			return nil, r.engine.RunFault(r.id, err)
		}
		shown.live(steps)
	}
	shown.ordered()
	return &shown.history, nil
}

// errLongHistory ends the reading of a journal that is longer than a history.
var errLongHistory = errors.New("the history is too long")

// readOn takes the records that came after those that were read, up to the bounds.
func (r *HistoryReader) readOn(ctx context.Context) error {
	if r.historian.history.Truncated {
		return nil
	}
	err := r.engine.store.EachRecord(r.id, r.historian.history.Last+1, func(record *journal.Record) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if r.count >= maxHistory || r.historian.bytes >= maxHistoryBytes {
			return errLongHistory
		}
		r.historian.add(record)
		r.count++
		return nil
	})
	switch {
	case errors.Is(err, errLongHistory):
		r.historian.history.Truncated = true
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return r.engine.RunFault(r.id, err)
	}
	return nil
}

// historian makes a history of records. Used by one goroutine.
type historian struct {
	only    string // "" = all steps
	history RunHistory
	open    map[string]int    // indexes of open spans by command path
	steps   map[string]string // steps by operation path
	holds   []Span            // what calls waited for before they were sent
	stopped *Gap              // that has no end yet
	ended   bool              // the run has its status
	last    time.Time         // of the record before
	bytes   int               // of what the spans hold
}

func (h *historian) add(record *journal.Record) {
	ev := &record.Event
	h.whole(ev)
	if at, open := h.open[ev.Path]; open && ev.Path != "" {
		delete(h.open, ev.Path)
		h.close(&h.history.Spans[at], ev)
		h.waits(&h.history.Spans[at], ev.Waits)
		h.bytes += answerBytes(&h.history.Spans[at])
	}
	for i := range record.Commands {
		h.command(&record.Commands[i], ev.At)
	}
	h.history.Last, h.last = record.Seq, ev.At
}

// answerBytes is what a span holds of an answer.
func answerBytes(span *Span) int {
	size := len(span.Message) + len(span.Output) + len(span.Meta)
	if span.Error != nil {
		size += len(span.Error.Message) + len(span.Error.Details)
	}
	return size
}

// waits notes the times before a call that it was held back in: the attempt begins
// when the last one ends. A question that failed may have waited once more: it begins
// when the first wait ends.
func (h *historian) waits(call *Span, waits []runs.Hold) {
	for i, wait := range waits {
		h.holds = append(h.holds, Span{
			Step: call.Step, Operation: call.Operation, Kind: SpanLimit, From: wait.From, To: wait.Until, End: EndOK, Due: wait.Until,
			Message: string(wait.For), Action: call.Action, Connection: call.Connection,
		})
		if wait.Until.After(call.From) && (call.Kind != SpanAsk || i == 0) {
			call.From = wait.Until
		}
	}
	if call.To.Before(call.From) {
		call.To = call.From
	}
}

// ordered puts what held calls back among the spans.
func (h *historian) ordered() {
	if len(h.holds) == 0 {
		return
	}
	h.history.Spans = slices.Concat(h.holds, h.history.Spans)
	order.Sort(h.history.Spans, func(a, b Span) int { return a.From.Compare(b.From) })
}

// live shows what holds calls back now, which no record tells yet.
func (h *historian) live(steps []runs.Step) {
	waiting := map[string]*runs.Step{}
	for i := range steps {
		if steps[i].WaitSince != nil {
			waiting[steps[i].Path] = &steps[i]
		}
	}
	for _, at := range h.open {
		span := &h.history.Spans[at]
		step := waiting[span.Step]
		if step == nil || span.Kind != SpanCall && span.Kind != SpanAsk {
			continue
		}
		span.Kind, span.Attempt, span.Message = SpanLimit, 0, step.Wait
		if step.Until != nil {
			span.Due = *step.Until
		}
		if span.From.Before(*step.WaitSince) {
			span.From = *step.WaitSince
		}
	}
}

// whole takes the events that concern the run and not one operation.
func (h *historian) whole(ev *journal.Event) {
	if h.stopped != nil && ev.Kind != journal.Signaled && ev.Kind != journal.Resolved && ev.Kind != journal.Replanned {
		h.stopped.To = ev.At
		h.history.Gaps = append(h.history.Gaps, *h.stopped)
		h.stopped = nil
	}
	switch ev.Kind {
	case journal.Driven:
		if len(ev.Interrupted) > 0 && h.last.Before(ev.At) {
			h.history.Gaps = append(h.history.Gaps, Gap{Why: "died", From: h.last, To: ev.At})
		}
		h.mark(ev)
	case journal.Stopped:
		h.stopped = &Gap{Why: "stopped", From: ev.At}
		h.mark(ev)
	case journal.Resumed:
		if h.ended {
			h.history.Gaps = append(h.history.Gaps, Gap{Why: "ended", From: h.last, To: ev.At})
		}
		h.ended = false
		h.mark(ev)
	case journal.CancelRun, journal.Signaled, journal.Resolved, journal.Replanned:
		if ev.Cancel == nil || !ev.Cancel.Grace {
			h.mark(ev)
		}
	}
}

func (h *historian) mark(ev *journal.Event) {
	h.history.Marks = append(h.history.Marks, Mark{At: ev.At, Kind: ev.Kind, Path: ev.Path, By: ev.By})
}

// close ends a span by the event that answers it.
func (h *historian) close(span *Span, ev *journal.Event) {
	span.To, span.End = ev.At, EndOK
	switch ev.Kind {
	case journal.Failed:
		span.End, span.Error = EndFailed, ev.Failed
		if ev.Failed != nil && ev.Failed.Kind == plan.KindCanceled {
			span.End = EndCanceled
		}
	case journal.Pending:
		span.End = EndPending
		if ev.Pending != nil {
			span.Message = ev.Pending.Message
		}
	case journal.Completed:
		if ev.Completed != nil {
			span.Cached = ev.Completed.Cached
			if h.only != "" {
				span.Output, span.Meta = ev.Completed.Output, ev.Completed.Meta
			}
		}
	case journal.ChildEnded:
		if ev.Child != nil && ev.Child.Failed != nil {
			span.End, span.Error = EndFailed, ev.Child.Failed
		}
	}
}

func (h *historian) command(command *journal.Command, at time.Time) {
	switch command.Kind {
	case journal.CommandCall:
		h.call(command, at)
	case journal.CommandTimer:
		h.timer(command, at)
	case journal.CommandChild:
		h.begin(command.Path, Span{Step: command.Child.Step, Kind: SpanChild, From: at})
	case journal.CommandCancel:
		if i, open := h.open[command.Path]; open {
			delete(h.open, command.Path)
			h.history.Spans[i].To, h.history.Spans[i].End = at, EndCanceled
		}
	case journal.CommandFinish:
		h.finish(command.Finish, at)
	}
}

func (h *historian) call(command *journal.Command, at time.Time) {
	call := command.Call
	span := Span{
		Step: call.Step, Kind: SpanCall, From: at, Attempt: call.Attempt, Action: call.Action, Connection: call.Connection,
		Effect: call.Effect, Timeout: call.Timeout, PageCursor: call.PageCursor,
	}
	if call.Reconcile != "" { // asked about after a crash, that call has no end of its own
		span.Kind = SpanAsk
		h.lose(call.Reconcile)
	}
	if h.only != "" {
		span.Input = call.Input
	}
	h.steps[command.Path] = call.Step
	h.lose(command.Path) // it is sent once more
	h.begin(command.Path, span)
}

// lose ends an open call whose answer was lost.
func (h *historian) lose(path string) {
	if at, open := h.open[path]; open {
		delete(h.open, path)
		h.history.Spans[at].To, h.history.Spans[at].End = h.last, EndLost
	}
}

func (h *historian) timer(command *journal.Command, at time.Time) {
	kind := SpanKind(command.Timer.Reason)
	if !kind.Waits() {
		return
	}
	operation := runs.OperationOf(command.Path)
	step, ok := h.steps[operation]
	if !ok {
		step = operation
	}
	h.begin(command.Path, Span{Step: step, Operation: operation, Kind: kind, From: at, Due: command.Timer.At})
}

func (h *historian) begin(path string, span Span) {
	if h.only != "" && span.Step != h.only {
		return
	}
	if span.Operation == "" {
		span.Operation = path
	}
	h.bytes += len(span.Input) + len(span.PageCursor)
	h.open[path] = len(h.history.Spans)
	h.history.Spans = append(h.history.Spans, span)
}

// finish ends what the run's status ends: a paused run waits, and so does one
// that has ended until somebody resumes it.
func (h *historian) finish(finish *journal.Finish, at time.Time) {
	switch {
	case finish == nil:
	case finish.Status == runs.RunPaused:
		h.stopped = &Gap{Why: "paused", From: at}
	case finish.Status.Ended():
		h.ended = true // its handlers may follow
	}
}
