package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Act is what a person does to a step that waits.
type Act string

// The acts.
const (
	ActApprove Act = "approve"
	ActReject  Act = "reject"
	ActSignal  Act = "signal"
	ActResolve Act = "resolve"
)

// DecideRequest is what a person, or whoever sends a signal, says to a step. Form
// holds the answer's fields, Payload the whole answer: one of the two. Outcome is
// the word of a resolve: happened, did_not or skip, and Payload then the outputs.
// Hold asks that it is only recorded when no process drives the run.
type DecideRequest struct {
	Form    map[string]workspace.Input `json:"form,omitempty"`
	Payload json.RawMessage            `json:"payload,omitempty"`
	Outcome string                     `json:"outcome,omitempty"`
	Comment string                     `json:"comment,omitempty"`
	By      string                     `json:"by,omitempty"`
	Hold    bool                       `json:"hold,omitempty"`
}

// DecideResult says what became of it. Held: it is recorded, and takes effect when
// the run is resumed. Early: no step waits for the signal yet, it is kept.
type DecideResult struct {
	Run   *runs.Run `json:"run"`
	Step  string    `json:"step,omitempty"`
	Held  bool      `json:"held,omitempty"`
	Early bool      `json:"early,omitempty"`
}

// maxComment bounds the comment of a decision in bytes.
const maxComment = 10_000

// Decide gives a step what a person decided, and returns when that is durable. A
// step that does not wait for it is a *ConflictError, one that the run does not
// have an *UnknownError, a wrong answer an *InputError.
func (e *Engine) Decide(ctx context.Context, id, step string, act Act, request DecideRequest) (*DecideResult, error) {
	if len(request.Comment) > maxComment {
		return nil, &fault.InputError{Message: fmt.Sprintf("the comment is longer than %d bytes", maxComment)}
	}
	if len(request.Payload) > 0 && len(request.Form) > 0 {
		return nil, &fault.InputError{Message: "give the answer's fields one by one or as a whole, not both"}
	}
	result := &DecideResult{Step: step}
	ok, err := e.driver.Decide(ctx, id, request.Hold, func(m *interp.Machine, hold bool) (*journal.Event, error) {
		d := decider{run: id, step: step, machine: m, request: request, hold: hold, result: result}
		return d.event(act)
	})
	if err != nil {
		return nil, e.loadFault(id, err)
	}
	result.Held = ok && !result.Early
	result.Run, err = e.Row(id)
	return result, err
}

// decider makes the event of one decision. Used by one goroutine.
type decider struct {
	run, step string
	machine   *interp.Machine
	request   DecideRequest
	hold      bool
	result    *DecideResult
}

func (d *decider) event(act Act) (*journal.Event, error) {
	if d.machine.Done() && act != ActResolve { // an outcome may be told later: a resume goes by it
		status, _ := d.machine.Status()
		return nil, &fault.ConflictError{Message: fmt.Sprintf("run %s has ended: it is %s", d.run, status)}
	}
	switch act {
	case ActApprove:
		return d.approve()
	case ActReject:
		return d.reject()
	case ActSignal:
		return d.signal()
	case ActResolve:
		return d.resolve()
	}
	return nil, fmt.Errorf("unknown act %q", act)
}

func (d *decider) approve() (*journal.Event, error) {
	await, err := d.awaiting()
	if err != nil {
		return nil, err
	}
	return d.answer(await, "")
}

// answer gives a step that waits what was given, as the signal of a name.
func (d *decider) answer(await interp.Await, signal string) (*journal.Event, error) {
	payload, err := d.payload(await.Type)
	if err != nil {
		return nil, err
	}
	if err := d.machine.CheckAnswer(d.step, payload); err != nil {
		return nil, wrongAnswer(err)
	}
	return d.signaled(d.step, journal.Signal{Name: signal, Payload: payload}), nil
}

func (d *decider) reject() (*journal.Event, error) {
	if _, err := d.awaiting(); err != nil {
		return nil, err
	}
	if len(d.request.Form)+len(d.request.Payload) > 0 {
		return nil, &fault.InputError{Message: "a rejection takes no form", Hint: diag.Say("say why with --comment")}
	}
	return d.signaled(d.step, journal.Signal{Rejected: true}), nil
}

func (d *decider) signaled(path string, signal journal.Signal) *journal.Event {
	signal.Comment, signal.Held = d.request.Comment, d.hold
	return &journal.Event{Kind: journal.Signaled, Path: path, By: d.request.By, Signal: &signal}
}

// awaiting is the approval that the step waits for.
func (d *decider) awaiting() (interp.Await, error) {
	await, ok := d.machine.Awaiting(d.step)
	switch {
	case !ok:
		return await, d.notWaiting("an approval")
	case await.Signal != "":
		return await, &fault.ConflictError{
			Message: fmt.Sprintf("step %s waits for the signal %s, not for an approval", d.step, await.Signal),
			Hint:    diag.Sayf("send it with %s", diag.Command{"runs", "signal", d.run, d.step}),
		}
	case await.Held:
		return await, d.answeredAlready()
	}
	return await, nil
}

func (d *decider) answeredAlready() error {
	return &fault.ConflictError{
		Message: fmt.Sprintf("step %s was answered already", d.step),
		Hint:    diag.Sayf("go on with %s", diag.Command{"runs", "resume", d.run}),
	}
}

// notWaiting says why a step can't be answered.
func (d *decider) notWaiting(what string) error {
	var paths, waiting []string
	for _, step := range d.machine.StepsInShort() {
		paths = append(paths, step.Path)
		if step.Path == d.step {
			return &fault.ConflictError{Message: fmt.Sprintf("step %s is %s: it does not wait for %s", d.step, step.Status, what)}
		}
		if _, ok := d.machine.Awaiting(step.Path); ok {
			waiting = append(waiting, step.Path)
		}
	}
	hint := diag.DidYouMean(d.step, paths).Or(diag.Naming("what waits is ", first(waiting)...))
	return &fault.UnknownError{What: "step", Name: d.step, Hint: hint}
}

// signal finds the step by its path, or by the name of the signal that it waits
// for. A signal that no step waits for yet is kept.
func (d *decider) signal() (*journal.Event, error) {
	if await, ok := d.machine.Awaiting(d.step); ok && await.Signal != "" {
		if await.Held {
			return nil, d.answeredAlready()
		}
		return d.answer(await, await.Signal)
	}
	names, open := d.machine.Signals()
	if name, exists := d.machine.SignalOf(d.step); exists && !slices.Contains(names, d.step) {
		return d.signalAhead(name)
	}
	return d.signalByName(d.step, names, open)
}

// signalAhead keeps the signal of a step that does not wait for it yet. Where
// another step waits for a signal of that name, it would take this one: then it has
// to be sent by name.
func (d *decider) signalAhead(name string) (*journal.Event, error) {
	ahead := !slices.ContainsFunc(d.machine.StepsInShort(), func(s runs.Step) bool { return s.Path == d.step && s.Status != runs.StepPending })
	if !ahead || len(d.machine.AwaitingSignal(name)) > 0 {
		return nil, d.notWaiting("the signal " + name)
	}
	return d.signalByName(name, []string{name}, false)
}

func (d *decider) signalByName(name string, names []string, open bool) (*journal.Event, error) {
	if !open && !slices.Contains(names, name) {
		hint := diag.DidYouMean(name, names).Or(diag.Naming("the workflow waits for ", first(names)...))
		return nil, &fault.UnknownError{What: "signal", Name: name, Hint: hint}
	}
	waiting := d.machine.AwaitingSignal(name)
	t := &schema.Type{}
	if len(waiting) > 0 {
		t = waiting[0].Type
	}
	payload, err := d.payload(t)
	if err != nil {
		return nil, err
	}
	d.result.Early = true
	for _, await := range waiting {
		if _, err := d.check(await, payload); err != nil {
			return nil, wrongAnswer(err)
		}
		if d.machine.CheckAnswer(await.Path, payload) == nil && !await.Held {
			d.result.Early, d.result.Step = false, await.Path
			break
		}
	}
	return d.signaled("", journal.Signal{Name: name, Payload: payload}), nil
}

// check reads a payload by the type that a step declares, whatever its `match`.
func (d *decider) check(await interp.Await, payload json.RawMessage) (any, error) {
	if len(payload) == 0 {
		payload = json.RawMessage("null")
	}
	return await.Type.DecodeExact(payload)
}

func (d *decider) resolve() (*journal.Event, error) {
	switch {
	case d.machine.Resolved(d.step):
		return nil, d.answeredAlready()
	case !d.machine.Resolvable(d.step):
		return nil, d.notResolvable()
	}
	outcome := d.request.Outcome
	if !slices.Contains([]string{"happened", "did_not", "skip"}, outcome) {
		return nil, &fault.InputError{Input: "outcome", Message: fmt.Sprintf("the outcome is happened, did_not or skip, not %q", outcome)}
	}
	if len(d.request.Payload) > 0 && outcome != "happened" {
		return nil, &fault.InputError{Message: "outputs belong to an outcome that happened"}
	}
	if err := d.machine.CheckOutcome(d.step, d.request.Payload); err != nil {
		return nil, wrongAnswer(err)
	}
	return &journal.Event{Kind: journal.Resolved, Path: d.step, By: d.request.By, Resolution: &journal.Resolution{
		Outcome: outcome, Output: d.request.Payload, Held: d.hold,
	}}, nil
}

func (d *decider) notResolvable() error {
	err := d.notWaiting("a resolve, which is for unknown outcomes")
	if conflict, ok := errors.AsType[*fault.ConflictError](err); ok {
		conflict.Hint = diag.Sayf("%s tries again what failed", diag.Command{"runs", "resume", d.run})
	}
	return err
}

// payload makes the answer of what was given. It tells all that is wrong with its
// fields.
func (d *decider) payload(t *schema.Type) (json.RawMessage, error) {
	if len(d.request.Form) == 0 {
		return d.request.Payload, nil
	}
	values := make(map[string]json.RawMessage, len(d.request.Form))
	var wrong []*fault.InputError
	for _, name := range slices.Sorted(maps.Keys(d.request.Form)) {
		field, ok := t.Field(name)
		switch {
		case ok:
		case !t.Known():
			field = &schema.Type{}
		case t.Additional != nil:
			field = t.Additional
		default:
			wrong = append(wrong, &fault.InputError{Input: name, Pointer: fault.PointerTo(name, ""), Message: fmt.Sprintf("there is no field `%s`", name), Hint: fieldHint(name, t)})
			continue
		}
		value, faults := workspace.ConvertGiven("field", schema.Field{Name: name, Type: field}, d.request.Form[name])
		values[name], wrong = value, append(wrong, faults...)
	}
	for _, field := range t.Fields {
		if _, given := d.request.Form[field.Name]; !given && field.Required && field.Type.Default == nil {
			wrong = append(wrong, &fault.InputError{
				Input: field.Name, Pointer: fault.PointerTo(field.Name, ""), Message: fmt.Sprintf("field `%s` is missing", field.Name), Hint: diag.Takes(field.Type.Article()),
			})
		}
	}
	if err := fault.WrongInputs(wrong); err != nil {
		return nil, err
	}
	return json.Marshal(values)
}

func fieldHint(name string, t *schema.Type) diag.Hint {
	names := t.FieldNames()
	return diag.DidYouMean(name, names).Or(diag.Naming("its first field is ", first(names)...)).Or(diag.Say("it takes no fields"))
}

// first is the first of words, where there are some.
func first(words []string) []string { return words[:min(len(words), 1)] }

// wrongAnswer names the field that does not fit.
func wrongAnswer(err error) error {
	wrong := &fault.InputError{Message: "the answer does not fit: " + err.Error()}
	if mismatch, ok := errors.AsType[*schema.Mismatch](err); ok {
		wrong.Hint, wrong.Pointer = mismatch.Hint, mismatch.Pointer
		wrong.Input, _, _ = strings.Cut(strings.TrimPrefix(mismatch.Pointer, "/"), "/")
	}
	return wrong
}
