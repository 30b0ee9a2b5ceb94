package drive

import (
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/journal"
)

// Virtual drives one run by a clock that only it moves, single-threaded and without a
// journal outside of it. Of what happens at the same time the older command comes
// first. It is for tests: of workflows, and of the Machine.
type Virtual struct {
	*Run
	Now     time.Time
	Records []*journal.Record
	// Begin says by Answer how a call or a sub-workflow's run ends. Unless it takes
	// the operation's Stop away, a cancel ends it at once.
	Begin func(*Operation)
	// Order gives the place of an answer among those of the same time; nil = as
	// they were asked for.
	Order func() int

	program *interp.Program
	agenda  Agenda[*happening]
	counter int
	answers map[*Operation]*happening // the one that counts
}

// happening is an answer, or what is done from outside.
type happening struct {
	op    *Operation
	event journal.Event
	act   func(at time.Time)
}

// NewVirtual returns the driver of a run that has not begun.
func NewVirtual(program *interp.Program, now time.Time) *Virtual {
	return &Virtual{Run: New(program.NewMachine()), Now: now, program: program, answers: map[*Operation]*happening{}}
}

// Schedule does something from outside at a time, whatever becomes of the run. The clock
// stands where it stood: Advance moves it.
func (v *Virtual) Schedule(at time.Time, act func(at time.Time)) {
	v.counter++
	v.agenda.Put(at, v.counter, &happening{act: act})
}

// Advance moves the clock, never backwards.
func (v *Virtual) Advance(to time.Time) {
	if to.After(v.Now) {
		v.Now = to
	}
}

// Answer ends an operation at a time. It takes the place of an answer that was to
// come.
func (v *Virtual) Answer(op *Operation, at time.Time, ev journal.Event) {
	v.counter++
	order := v.counter
	if v.Order != nil {
		order = v.Order()
	}
	v.answers[op] = &happening{op: op, event: ev}
	v.agenda.Put(at, order, v.answers[op])
}

// Next lets the next thing happen: more is false when nothing is left. turn is what
// came of an answer; nil where it came too late, or where it was no answer.
func (v *Virtual) Next() (turn *Turn, more bool, err error) {
	at, next, more := v.agenda.Next()
	switch {
	case !more:
		return nil, false, nil
	case next.act != nil:
		next.act(at)
		return nil, true, nil
	case v.Stopped() || v.answers[next.op] != next:
		return nil, true, nil // a driver lets a stopped run go
	}
	delete(v.answers, next.op)
	if !v.Settle(next.op) {
		return nil, true, nil
	}
	v.Advance(at)
	turn, err = v.Apply(next.event)
	return turn, true, err
}

// Apply applies an event of this moment and does what follows from it.
func (v *Virtual) Apply(ev journal.Event) (*Turn, error) {
	ev.At = v.Now
	turn, err := v.Run.Apply(ev)
	if err != nil {
		return nil, fmt.Errorf("apply %s %s: %w", ev.Kind, ev.Path, err)
	}
	return turn, v.take(turn)
}

func (v *Virtual) take(turn *Turn) error {
	if turn.Record != nil {
		v.Records = append(v.Records, turn.Record)
	}
	for i, command := range turn.Commands {
		if v.Clash(command) {
			return fmt.Errorf("command %s is open already", command.Path)
		}
		v.Do(turn.Commands[i:i+1], v.begin)
	}
	return nil
}

func (v *Virtual) begin(op *Operation) {
	timer := op.Command.Timer
	switch {
	case op.Canceled:
		v.Answer(op, v.Now, op.Unsent())
	case timer != nil:
		v.Answer(op, timer.At, journal.Event{Kind: journal.TimerFired, Path: op.Command.Path})
	default:
		op.Stop = func() { v.Answer(op, v.Now, op.Interrupted()) }
		v.Begin(op)
	}
}

// Crash is the end of the process and the replay of its successor: what was open is
// not. GoOn follows.
func (v *Virtual) Crash() error {
	v.Run = New(v.program.NewMachine())
	clear(v.answers)
	v.agenda.Keep(func(h *happening) bool { return h.act != nil })
	return v.Rebuild(v.Machine, Each(v.Records))
}

// GoOn sends again what was in flight.
func (v *Virtual) GoOn() (*Turn, error) {
	turn, err := v.Recover(v.Now)
	if err != nil {
		return nil, err
	}
	return turn, v.take(turn)
}
