package testrun

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// notAnswered is how long a call without an answer is waited for where its step
// has no timeout of its own.
const notAnswered = 1000 * 24 * time.Hour

// notified is the answer to core.notify where a test has none: nobody is told, and
// the call can be looked at all the same.
var notified = &answer{answer: runs.Answer{Completed: &runs.Completed{Output: json.RawMessage("{}")}}}

// call answers a call with what the test says of its step.
func (d *driver) call(op *drive.Operation) {
	command := op.Command
	c := command.Call
	d.calls = append(d.calls, call{path: command.Path, command: *c, at: d.Now})
	entry := &d.calls[len(d.calls)-1]
	if refusal := d.refused(command); refusal != nil {
		entry.answer = "error"
		d.Answer(op, d.Now, op.Answer(runs.Answer{Failed: refusal}))
		return
	}
	switch unanswered := d.listFor(c.Step) == nil; {
	case c.Action == runs.CoreNotify && unanswered:
		d.deliver(op, notified, entry)
		return
	case c.Action == runs.CoreRead && unanswered:
		d.deliver(op, d.readBlob(c.Input, c.AllPages, c.PageCursor), entry)
		return
	}
	a, lack := d.answerFor(c.Step, c.PageCursor)
	if a == nil {
		entry.answer = "none"
		d.Answer(op, d.Now, failed(op, plan.KindInternal, runs.NotApplied, lack))
		return
	}
	d.deliver(op, a, entry)
}

func (d *driver) deliver(op *drive.Operation, a *answer, entry *call) {
	ev, timeout := op.Answer(a.answer), op.Command.Call.Timeout
	entry.answer = "error"
	switch {
	case a.answer.Completed != nil:
		entry.answer = "outputs"
	case a.answer.Pending != nil:
		entry.answer = "pending"
	}
	if a.never {
		op.Stop = nil
	}
	at := d.Now.Add(a.after)
	switch {
	case a.crash:
		entry.answer, d.crashing = "crash", true
		at = d.Now.Add(notAnswered)
	case a.never && timeout <= 0:
		entry.answer, at = "never", d.Now.Add(notAnswered)
	case a.never, timeout > 0 && a.after > timeout:
		entry.answer, at = "never", d.Now.Add(timeout)
		ev = failed(op, plan.KindTimeout, runs.AppliedUnknown, "no answer within "+schema.FormatDuration(timeout))
	}
	d.Answer(op, at, ev)
}

func failed(op *drive.Operation, kind plan.ErrorKind, applied runs.Applied, message string) journal.Event {
	return op.Answer(runs.Answer{Failed: &runs.Error{Kind: kind, Message: message, Applied: applied}})
}

// answerFor takes the answer of a call: that of the very item, else that of the
// step in every item. Where there is none that fits, the case fails, and lack says
// what the test lacks.
func (d *driver) answerFor(step, cursor string) (a *answer, lack string) {
	switch a = takeFrom(d.test.answers, step, cursor); {
	case a == nil:
		d.unanswered(step, cursor)
		return nil, "the test has no answer"
	case a.problem != nil:
		d.stale(a)
		return nil, "the recorded answer does not fit any more"
	}
	return a, ""
}

// take returns the next answer of a list. Pages are chosen by the call's cursor
// and used up with the last one.
func (l *answers) take(cursor string) *answer {
	if len(l.list) == 0 || l.used >= len(l.list) {
		return nil
	}
	a := l.list[l.used]
	if a.pages == nil {
		if !l.forever {
			l.used++
		}
		return a
	}
	at := 0
	for cursor != "" && at < len(a.pages) {
		if next := a.pages[at].answer.Completed; next != nil && next.NextCursor == cursor {
			break
		}
		at++
	}
	if cursor != "" {
		at++
	}
	if at >= len(a.pages) {
		return nil
	}
	if at == len(a.pages)-1 && !l.forever {
		l.used++
	}
	return a.pages[at]
}

// unanswered tells, once for each step, that the test lacks an answer, with one
// to paste.
func (d *driver) unanswered(step, cursor string) {
	template := templateOf(step)
	if d.asked[template] {
		return
	}
	d.asked[template] = true
	info := d.steps.byPath[template]
	pos, message, hint := d.test.pos, "the call of step `"+step+"` has no answer", "add an answer like this one to the case, or to the file:"
	if list := d.listFor(step); list != nil {
		pos = list.pos
		message = fmt.Sprintf("step `%s` makes one call more than its list has answers (%d)", step, len(list.list))
		if cursor != "" {
			message = fmt.Sprintf("step `%s` asks for the page `%s`, which no answer has", step, cursor)
		}
		hint = "add one more answer to the list, or write a single answer for all calls"
	}
	var lines []string
	if info != nil {
		lines = skeleton(template, info)
	}
	d.fail(pos, FailUnanswered, message, hint, lines...)
}

func (d *driver) listFor(step string) *answers {
	if list := d.test.answers[step]; list != nil {
		return list
	}
	return d.test.answers[templateOf(step)]
}

func (d *driver) stale(a *answer) {
	if !slices.ContainsFunc(d.failures, func(f Failure) bool { return f.Pos == a.problem.Pos }) {
		d.failures = append(d.failures, staleFailure(a.problem))
	}
}

// refused asks the plugin about the input, as it would be asked before a real
// call; nil when it takes it.
func (d *driver) refused(command journal.Command) *runs.Error {
	if runs.IsCore(command.Call.Action) {
		return nil
	}
	refusals, err := d.host.Validate(d.ctx, command.Call.Action, command.Call.Input)
	if err != nil {
		return &runs.Error{Kind: plan.KindCrashed, Applied: runs.NotApplied, Message: err.Error()}
	}
	if len(refusals) == 0 {
		return nil
	}
	r := refusals[0]
	message := r.Summary
	if r.Detail != "" {
		message += ": " + r.Detail
	}
	if !d.asked["refused "+command.Call.Step] {
		d.asked["refused "+command.Call.Step] = true
		d.fail(d.posOf(command.Call.Step), FailRefused, fmt.Sprintf("step `%s`: %s refuses the input: %s", command.Call.Step, command.Call.Action, message),
			"expect.error with kind: invalid says that this is meant", "at "+cmp.Or(r.Pointer, "/")+" of "+clip(string(command.Call.Input)))
	}
	return &runs.Error{
		Kind: plan.KindInvalid, Action: command.Call.Action, Applied: runs.NotApplied, Message: message, Pointer: r.Pointer,
	}
}

// posOf is where the test speaks of a step, else where the case begins.
func (d *driver) posOf(step string) diag.Pos {
	if list := d.listFor(step); list != nil {
		return list.pos
	}
	return d.test.pos
}

// clip shortens a value that is shown on a line.
func clip(text string) string {
	const most = 240
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return text
}

// child answers the start of a sub-workflow with what the test says of its step.
func (d *driver) child(op *drive.Operation) {
	command := op.Command
	c := command.Child
	d.calls = append(d.calls, call{path: command.Path, at: d.Now, command: journal.Call{Step: c.Step, Action: c.Workflow, Input: c.Inputs, Attempt: 1}})
	entry := &d.calls[len(d.calls)-1]
	a, lack := d.answerFor(c.Step, "")
	if a == nil {
		a = &answer{answer: runs.Answer{Failed: &runs.Error{Kind: plan.KindInternal, Message: lack}}}
	}
	end, wait := &journal.Child{RunID: c.RunID}, a.after
	switch {
	case lack != "":
		end.Failed, entry.answer = a.answer.Failed, "none"
	case a.answer.Completed != nil:
		end.Outputs, entry.answer = a.answer.Completed.Output, "outputs"
	case a.crash:
		entry.answer, d.crashing, wait = "crash", true, notAnswered
	case a.never:
		entry.answer, wait = "never", notAnswered
	default:
		end.Failed, entry.answer = a.answer.Failed, "error"
	}
	d.Answer(op, d.Now.Add(wait), journal.Event{Kind: journal.ChildEnded, Path: command.Path, Child: end})
}

// inputOf is the input of a call as expectations see it.
func inputOf(raw json.RawMessage) any {
	value, err := (&schema.Type{}).Decode(raw)
	if err != nil {
		return strings.TrimSpace(string(raw))
	}
	return value
}
