package local_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

// smallJournal is the bound of these tests, so that they need not write 64 MiB.
const smallJournal = 1 << 20

func newBoundedBench(t *testing.T) *bench {
	b := newBench(t)
	b.close()
	b.bounds.JournalBytes = smallJournal
	b.open()
	return b
}

// handled adds a handler to a workflow: a run that is full still runs it.
func handled(w *plan.Workflow) *plan.Workflow {
	handler := w.Steps[0]
	handler.ID, handler.Needs, handler.Paginate, handler.Retry = "tell", nil, nil, nil
	w.OnFailure = []plan.Step{handler}
	return w
}

func paged(w *plan.Workflow) *plan.Workflow {
	w.Steps[0].Paginate = &plan.Paginate{MaxPages: 10_000, MaxItems: 100_000}
	action := *w.Actions[w.Steps[0].Uses]
	action.Input = json.RawMessage(`{"type":"object","properties":{"cursor":{"type":"string"}}}`)
	action.Output = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"},"items":{"type":"array","items":{"type":"integer"}}}}`)
	action.Paging = &plan.Paging{CursorField: "cursor", ItemsField: "items"}
	w.Actions[w.Steps[0].Uses] = &action
	return w
}

// growing are the parts of an answer that a plugin fills, each with the answer
// that brings 50,000 bytes of it and lets the step go on.
func growing() map[string]func(n int) runs.Answer {
	page := func(fill func(c *runs.Completed, text string)) func(int) runs.Answer {
		return func(n int) runs.Answer {
			c := &runs.Completed{Output: json.RawMessage(fmt.Sprintf(`{"items":[%d]}`, n)), NextCursor: strconv.Itoa(n)}
			fill(c, strings.Repeat("x", 50_000))
			return runs.Answer{Completed: c}
		}
	}
	pending := func(fill func(p *runs.Pending, text string)) func(int) runs.Answer {
		return func(int) runs.Answer {
			p := &runs.Pending{RetryAfter: time.Millisecond}
			fill(p, strings.Repeat("x", 500_000))
			return runs.Answer{Pending: p}
		}
	}
	return map[string]func(int) runs.Answer{
		"output": page(func(c *runs.Completed, text string) {
			c.Output = append(c.Output[:len(c.Output)-1], `,"more":"`+text+`"}`...)
		}),
		"next_cursor": page(func(c *runs.Completed, text string) { c.NextCursor += text }),
		"watermark":   page(func(c *runs.Completed, text string) { c.Watermark = []byte(text) }),
		"meta":        page(func(c *runs.Completed, text string) { c.Meta = json.RawMessage(`"` + text + `"`) }),
		"page_note":   page(func(c *runs.Completed, text string) { c.PageNote = []byte(text) }),
		"checkpoint":  pending(func(p *runs.Pending, text string) { p.Checkpoint = []byte(text) }),
		"message":     pending(func(p *runs.Pending, text string) { p.Message = text }),
		"prompt":      pending(func(p *runs.Pending, text string) { p.Prompt = &runs.Prompt{Title: "log in", Message: text} }),
		"error.message": func(int) runs.Answer {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: strings.Repeat("x", 200_000)}}
		},
		"error.details": func(int) runs.Answer {
			return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: "m", Details: json.RawMessage(`"` + strings.Repeat("x", 200_000) + `"`)}}
		},
	}
}

// TestIssue13_02AJournalIsBoundedByAllThatItHolds: whatever part of its answers
// grows, the step ends for the limit and names it, the handler runs, and the
// journal that came of it leads to the same end again.
func TestIssue13_02AJournalIsBoundedByAllThatItHolds(t *testing.T) {
	for field, answer := range growing() {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			b := newBoundedBench(t)
			n := 0
			b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
				n++
				return answer(n)
			}
			w := handled(paged(workflow("a read")))
			w.Steps[0].Retry.Attempts = 100
			id := b.start(w)
			b.endsFull(id, field)
			if n := b.service.count("on_failure:tell"); n != 1 {
				t.Errorf("the handler was called %d times", n)
			}
			if told := b.wait(id).Steps["on_failure:tell"]; told.Status != runs.StepSucceeded {
				t.Errorf("the handler is %s: %v", told.Status, told.Error)
			}
			b.reopen() // a replay counts nothing and comes to the same
			b.endsFull(id, field)
		})
	}
}

// endsFull looks at a run that ended for want of room.
func (b *bench) endsFull(id, field string) {
	b.t.Helper()
	result := b.wait(id)
	failure := result.Steps["a"].Error
	if result.Run.Status != runs.RunFailed || !result.Run.Closed || failure == nil || failure.Reason != quota.ReasonLimit ||
		!strings.Contains(failure.Message, "`"+field+"`") || !bytes.Contains(failure.Details, []byte(`"field":"`+field+`"`)) {
		b.t.Errorf("the run is %s (closed: %v); the step is %s: %.300v", result.Run.Status, result.Run.Closed, result.Steps["a"].Status, failure)
	}
	records, logs, err := b.store.JournalBytes(id)
	if err != nil || records+logs > smallJournal+smallJournal/4 {
		b.t.Errorf("the journal holds %d bytes (%v)", records+logs, err)
	}
}

func TestIssue13_02TheLogOfARunIsPartOfItsJournal(t *testing.T) {
	b := newBoundedBench(t)
	line := runs.Log{Level: "info", Message: strings.Repeat("\x01", 10_000)} // six bytes each, as they are stored
	b.service.says = map[string][]runs.Log{"a": {line, line, line, line, line, line, line, line, line, line}}
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: "busy"}}
	}
	w := workflow("a read")
	w.Steps[0].Retry.Attempts = 100
	id := b.start(w)
	result := b.wait(id)
	if result.Run.Status != runs.RunFailed || result.Error.Reason != quota.ReasonLimit || !strings.Contains(result.Error.Message, "`log`") {
		t.Errorf("the run is %s: %+v", result.Run.Status, result.Error)
	}
	records, logs, err := b.store.JournalBytes(id)
	if err != nil || records+logs > smallJournal+smallJournal/4 || logs < smallJournal/2 {
		t.Errorf("the journal holds %d bytes, the log %d (%v)", records, logs, err)
	}
}

// TestIssue13_02ASuccessThatFindsNoRoomIsAFailure: what the workflow puts out is
// a part of its journal's last record.
func TestIssue13_02ASuccessThatFindsNoRoomIsAFailure(t *testing.T) {
	b := newBoundedBench(t)
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{"text":"` + strings.Repeat("x", 600_000) + `"}`)}}
	}
	w := handled(workflow("a read"))
	w.Actions["fake.read"].Output = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"}}}`)
	w.Outputs = []plan.Output{{Name: "all", Value: plan.Value{Kind: plan.ValueExpr, Expr: &plan.Expr{Source: "steps.a.outputs.text"}}}}
	id := b.start(w)
	for range 2 {
		result := b.wait(id)
		if result.Run.Status != runs.RunFailed || result.Error == nil || result.Error.Reason != quota.ReasonLimit || !result.Run.Closed {
			t.Errorf("the run is %s: %+v", result.Run.Status, result.Error)
		}
		b.reopen()
	}
	if n := b.service.count("on_failure:tell"); n != 1 {
		t.Errorf("the handler was called %d times", n)
	}
}

// TestIssue13_02HandlersEndWhereTheReserveDoes: a handler that would fill the
// journal for ever is cut off, and the run is closed.
func TestIssue13_02HandlersEndWhereTheReserveDoes(t *testing.T) {
	b := newBoundedBench(t)
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindNotFound, Message: "gone"}}
	}
	n := 0
	b.service.script["on_failure:tell"] = func(context.Context, runs.Request) runs.Answer {
		n++
		return runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable, Message: strings.Repeat("x", 4000)}}
	}
	w := handled(workflow("a read"))
	w.OnFailure[0].Retry = &plan.Retry{Attempts: 100_000, Delay: time.Microsecond, Factor: 1, MaxDelay: time.Millisecond, On: plan.DefaultRetryKinds()}
	id := b.start(w)
	for range 2 {
		result := b.wait(id)
		if result.Run.Status != runs.RunFailed || !result.Run.Closed || result.Error.Kind != plan.KindNotFound {
			t.Errorf("the run is %s, closed: %v, %+v", result.Run.Status, result.Run.Closed, result.Error)
		}
		b.reopen()
	}
	records, logs, err := b.store.JournalBytes(id)
	if err != nil || records+logs > smallJournal+smallJournal/4 || n < 10 {
		t.Errorf("%d calls of the handler; the journal holds %d bytes (%v)", n, records+logs, err)
	}
}

// TestIssue13_02AnswersThatComeTogetherFindNoMoreRoom: many calls in flight answer
// when the journal is full already.
func TestIssue13_02AnswersThatComeTogetherFindNoMoreRoom(t *testing.T) {
	b := newBoundedBench(t)
	w := workflow("a read")
	all, release := make(chan struct{}, 40), make(chan struct{})
	for i := range 40 {
		step := w.Steps[0]
		step.ID = fmt.Sprintf("p%d", i)
		w.Steps = append(w.Steps, step)
		b.service.script[step.ID] = func(context.Context, runs.Request) runs.Answer { // deaf to its cancel
			all <- struct{}{}
			<-release
			return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{"ok":true}`), Meta: json.RawMessage(`"` + strings.Repeat("x", 100_000) + `"`)}}
		}
	}
	id := b.start(w)
	for range 40 {
		<-all
	}
	close(release)
	result := b.wait(id)
	if result.Run.Status != runs.RunFailed || result.Error.Reason != quota.ReasonLimit {
		t.Errorf("the run is %s: %+v", result.Run.Status, result.Error)
	}
	records, logs, err := b.store.JournalBytes(id)
	if err != nil || records+logs > smallJournal+smallJournal/4 {
		t.Errorf("the journal holds %d bytes (%v)", records+logs, err)
	}
}

// TestIssue13_02AJournalThatIsTooLargeIsParked: an older program let it grow. It
// is not read; the run waits with a reason and a way out.
func TestIssue13_02AJournalThatIsTooLargeIsParked(t *testing.T) {
	b := newBench(t)
	reached := make(chan struct{})
	b.service.script["b"] = func(ctx context.Context, r runs.Request) runs.Answer {
		close(reached)
		return hang(ctx, r)
	}
	b.service.script["a"] = func(context.Context, runs.Request) runs.Answer {
		return runs.Answer{Completed: &runs.Completed{Output: json.RawMessage(`{"ok":true}`), Meta: json.RawMessage(`"` + strings.Repeat("x", 200_000) + `"`)}}
	}
	id := b.start(workflow("a read", "b read"))
	<-reached
	b.close()
	b.bounds = local.Options{ReplayBytes: 100_000}
	b.open()
	if err := b.driver.Load(id, nil); err == nil || !strings.Contains(err.Error(), "too large") && !strings.Contains(err.Error(), "at most") {
		t.Errorf("it is taken up: %v", err)
	}
	result, err := b.driver.Snapshot(t.Context(), id)
	if err != nil || result.Run.Status != runs.RunPaused || result.Run.Paused != runs.PausedTooLarge || !strings.Contains(result.Run.Error.Hint.Text, "runs rerun "+id) {
		t.Fatalf("the run is %+v (%v)", result, err)
	}
	b.close()
	b.bounds, b.service.script["b"] = local.Options{}, nil
	b.open()
	if err := b.driver.LoadDurably(context.Background(), id, &journal.Event{Kind: journal.Resumed}); err != nil {
		t.Fatal(err)
	}
	if result := b.wait(id); result.Run.Status != runs.RunSucceeded {
		t.Errorf("with more room the run is %s: %+v", result.Run.Status, result.Error)
	}
}
