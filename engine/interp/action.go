package interp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

const (
	defaultTimeout        = time.Minute
	defaultHandlerTimeout = 5 * time.Minute
	leastPollDelay        = time.Second
)

// action is the running work of an action step. It outlives a failure, so that
// a resume goes on at the round, window and page where it stopped.
type action struct {
	input      json.RawMessage
	connection string
	attempt    int
	polls      int
	checkpoint []byte
	watermark  []byte
	cursor     *runs.CursorRead // that the pages so far were read from
	round      int              // from 1
	paging     paging
	within     string // path of the timer that bounds the whole step
	crashes    int    // how often the engine died while the call at hand was in flight
	loss       *loss  // the plugin is asked about
}

func (s *step) startAction() {
	if s.code.step.Workflow != "" {
		s.startChild()
		return
	}
	if core := coreAction(s.code.step.Uses); core != nil {
		s.startCore(core)
		return
	}
	if s.action == nil {
		begun, failure := s.prepare()
		if failure != nil {
			s.fail(failure)
			return
		}
		s.action = begun
	}
	m, a := s.list.m, s.action
	if within := s.code.step.Within; within > 0 {
		a.within = m.timerPath(s.path, "within")
		m.timer(s, a.within, journal.TimerWithin, m.at.Add(within))
	}
	a.attempt = 1
	s.send()
}

// prepare resolves what all attempts, pages and rounds have in common.
func (s *step) prepare() (*action, *runs.Error) {
	m := s.list.m
	connection, failure := m.connection(s)
	if failure != nil {
		return nil, failure
	}
	input, encoded, failure := m.encodedInput(s)
	if failure != nil {
		return nil, failure
	}
	paging, failure := s.newPaging(input)
	if failure != nil {
		return nil, failure
	}
	return &action{input: encoded, connection: connection, round: 1, paging: paging}, nil
}

// operation names the call at hand: the same for all its attempts.
func (s *step) operation() string {
	path := s.path
	if s.revised > 0 {
		path = runs.PartPath(path, runs.PartPlan, s.revised+1) // another request has another key
	}
	if round := s.action.round; round > 1 {
		path = runs.PartPath(path, runs.PartRound, round)
	}
	return path + s.action.paging.suffix()
}

// send gives the command for the attempt at hand.
func (s *step) send() {
	m, a := s.list.m, s.action
	if !s.list.live() {
		s.interrupt()
		return
	}
	s.status, s.wait, s.until = runs.StepRunning, "", time.Time{}
	s.attempts = max(s.attempts, a.attempt)
	s.op = s.operation()
	m.issue(s, journal.Command{Kind: journal.CommandCall, Path: s.op, Call: s.callNow()})
	m.touch(s)
}

// callNow is the attempt at hand.
func (s *step) callNow() *journal.Call {
	a, step := s.action, s.code.step
	input := a.input
	if a.paging.cutting() {
		input = a.paging.windowInput()
	}
	return &journal.Call{
		Step:       s.path,
		Action:     step.Uses,
		Effect:     s.code.action.action.Effect,
		Connection: a.connection,
		Input:      input,
		Attempt:    a.attempt,
		PageCursor: a.paging.cursor,
		Checkpoint: a.checkpoint,
		PageNote:   a.paging.note,
		AllPages:   s.code.page != nil && s.list.m.since(3),
		Cursor:     step.Incremental,
		Timeout:    s.timeout(),
		Cache:      step.Cache,
	}
}

func (s *step) timeout() time.Duration {
	switch {
	case s.code.step.Timeout > 0:
		return s.code.step.Timeout
	case s.list.code.handler:
		return defaultHandlerTimeout
	case s.code.action.action.DefaultTimeout > 0:
		return s.code.action.action.DefaultTimeout
	}
	return defaultTimeout
}

// answered takes the end of the call at hand.
func (s *step) answered(ev journal.Event) {
	s.op = ""
	if s.action.loss != nil {
		outcome := ev.Outcome
		if outcome == nil {
			outcome = &runs.Outcome{Note: ev.Failed.Message}
		}
		s.reconciled(outcome)
		return
	}
	s.action.crashes = 0
	switch ev.Kind {
	case journal.Completed:
		s.completed(ev.Completed)
	case journal.Pending:
		s.pending(ev.Pending)
	case journal.Failed:
		s.attemptFailed(ev.Failed)
	}
}

// completed takes one answer: a page, or all of it.
func (s *step) completed(answer *runs.Completed) {
	a := s.action
	var page *schema.Type
	var result any
	var err error
	if s.code.page != nil {
		result, page, err = s.accept(answer.Output)
	} else {
		result, err = s.read(answer.Output)
	}
	if err != nil {
		s.attemptFailed(s.misfit(err))
		return
	}
	if failure := s.readCursor(answer.Cursor); failure != nil {
		s.fail(failure)
		return
	}
	s.cached, s.prompt, s.note = answer.Cached, nil, ""
	a.checkpoint, a.polls = nil, 0
	if len(answer.Watermark) > 0 {
		a.watermark = answer.Watermark
	}
	if page != nil {
		s.pageDone(answer, page, result)
		return
	}
	s.roundDone(result, answer.Output)
}

// decode reads an output by its schema: the one that the arguments narrowed, where
// they did. Names that the schema excludes are left out: what was proven of the
// others holds.
func (s *step) decode(output json.RawMessage) (any, error) {
	value, _, err := s.decodeAs(output)
	return value, err
}

// decodeAs is decode, with the type that the answer keeps to.
func (s *step) decodeAs(output json.RawMessage) (any, *schema.Type, error) {
	decode := (*schema.Type).DecodeAnswer
	if !s.list.m.since(3) {
		decode = (*schema.Type).Decode
	}
	result, err := decode(s.code.output, output)
	if err == nil || s.code.output == s.code.action.output {
		return result, s.code.output, err
	}
	wide, wideErr := decode(s.code.action.output, output)
	if wideErr != nil {
		return nil, nil, wideErr
	}
	if err := s.keptTo(err); err != nil {
		return nil, nil, err
	}
	return wide, s.code.action.output, nil
}

// wholeAnswer is what an answer may take decoded that is decoded when it comes: a
// larger one is checked part by part, and decoded where it is read.
const wholeAnswer = 8 << 20

// read checks an answer by its schema, as decode, and returns its value or what
// stands for it.
func (s *step) read(output json.RawMessage) (any, error) {
	m := s.list.m
	value, t, err := s.accept(output)
	if err != nil || value == nil && string(bytes.TrimSpace(output)) == "null" {
		return nil, err
	}
	return m.keepOutput(&outputText{m: m, raw: output, t: t}, value), nil
}

// accept checks an answer by its schema, as decode, and returns the type that it keeps
// to, and its value unless that is too large to be made without need.
func (s *step) accept(output json.RawMessage) (any, *schema.Type, error) {
	if len(output) <= wholeAnswer && schema.Weight(output) <= wholeAnswer {
		return s.decodeAs(output)
	}
	t, err := s.fits(output)
	return nil, t, err
}

// fits is decode without the value: it returns the type that the answer keeps to.
func (s *step) fits(output json.RawMessage) (*schema.Type, error) {
	err := s.check(s.code.output, output)
	if err == nil {
		return s.code.output, nil
	}
	if s.code.output == s.code.action.output {
		return nil, err
	}
	if wideErr := s.check(s.code.action.output, output); wideErr != nil {
		return nil, wideErr
	}
	if err := s.keptTo(err); err != nil {
		return nil, err
	}
	return s.code.action.output, nil
}

// check is the error of decode by one type.
func (s *step) check(t *schema.Type, output json.RawMessage) error {
	if s.list.m.since(3) {
		return t.CheckAnswer(output)
	}
	return t.Check(output)
}

// unreadable is the failure of an answer that breaks its schema.
func unreadable(err error) *runs.Error {
	failure := &runs.Error{Kind: plan.KindUnexpectedResponse, Reason: "schema"}
	var mismatch *schema.Mismatch
	if !errors.As(err, &mismatch) {
		failure.Message = "the output can't be read: " + err.Error()
		return failure
	}
	place := mismatch.Pointer
	if place == "" {
		place = "the output"
	}
	failure.Message = fmt.Sprintf("the output breaks its schema: %s: %s", place, mismatch.Message)
	return failure
}

// pending asks again later, with the checkpoint.
func (s *step) pending(answer *runs.Pending) {
	a := s.action
	a.checkpoint = answer.Checkpoint
	a.attempt = 1 // an answer came: the next failure is the first again
	a.polls++
	if answer.Prompt != nil {
		s.prompt = answer.Prompt
	}
	s.note = answer.Message
	s.sleep(journal.TimerPoll, "poll"+strconv.Itoa(a.polls), max(answer.RetryAfter, leastPollDelay), runs.StepWaiting, runs.Wait{Kind: runs.WaitPoll})
}

// poll asks again.
func (s *step) poll() { s.send() }

// sleep waits for a durable timer before the operation goes on.
func (s *step) sleep(reason, name string, delay time.Duration, status runs.StepStatus, wait runs.Wait) {
	m := s.list.m
	if !s.list.live() {
		s.interrupt()
		return
	}
	s.op = m.timerPath(s.operation(), name)
	s.status, s.wait, s.until = status, wait.String(), m.at.Add(delay)
	m.timer(s, s.op, reason, s.until)
	m.touch(s)
}

// expire ends a step that took longer than its `within`.
func (s *step) expire() {
	m := s.list.m
	s.action.within = ""
	failure := &runs.Error{
		Kind:    plan.KindTimeout,
		Reason:  "within",
		Message: fmt.Sprintf("the step took longer than its within of %s", schema.FormatDuration(s.code.step.Within)),
	}
	open := m.open[s.op]
	switch {
	case open != nil && open.asks():
		cause := s.action.loss.cause
		s.action.loss = nil
		m.cancel(s.op)
		s.op = ""
		s.lost(cause, false)
		return
	case open != nil && open.command.Kind == journal.CommandCall && s.once():
		s.lose(loss{cause: failure})
		return
	}
	s.fail(failure)
}
