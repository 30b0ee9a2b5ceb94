// Package interp is the interpreter of checked workflows: a pure Machine that
// takes events and gives commands. It does no I/O and knows no clock,
// goroutine, randomness or log; the same events always lead to the same
// commands and the same state.
package interp

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Version is the version of the interpreter's behaviour. It is stamped into
// every started event: a run keeps to the behaviour that it began with.
//
//	2: a step whose sub-workflow is paused is canceled with its run; after a
//	   resume a loop that had begun waits for what it follows, like every step,
//	   and its items see that anew; an expired page cursor drops the checkpoint of
//	   its page too; a page that fails its step is not counted
//	3: an item that an earlier page of a reading gave fails the step; a page is told
//	   that it is one of several; a loop that fails, or is canceled on its way, has
//	   the outputs of what had ended in it; names that the schema of an answer
//	   excludes are not read
//	4: an expression that reads outputs of more than 128 MiB in memory fails its step;
//	   the bytes of a journal are bounded by the driver alone
//	5: an unknown outcome for which `on_error` pauses can be resolved; a step that
//	   pauses for one of the steps in it is resumed, not resolved
//	6: an answer that breaks the schema which the arguments narrowed fails its step; one
//	   above the limit of a message is not asked for again
//	7: the items of a long reading by pages stay text, of which expressions and loops
//	   decode what they read; a loop over too many items says how to make batches
//	8: what an expression chooses of a stored list is no new value; `in` looks things up
//	   in a table; results grow with what is read
const Version = 8

// since reports whether the run began with at least this version of the
// behaviour.
func (m *Machine) since(version int) bool { return m.begun.Interpreter >= version }

// phase is where a run stands as a whole.
type phase uint8

const (
	waitingForStart phase = iota
	running               // steps start and end
	ending                // canceled, timed out or over a limit: open calls have their grace
	paused                // the finish command said so: resumed or resolved goes on
	handling              // the run has its status; handlers run
	closed                // the handlers have ended too
)

// Machine is one run of a workflow. Not safe for concurrent use.
type Machine struct {
	program *Program
	phase   phase
	at      time.Time // of the event at hand: what now() gives
	begun   journal.Start
	trigger brought
	started time.Time
	attempt int // 1 and one more for every resume
	epoch   int // how often the run began or went on: keeps timer paths unique
	ends    int // how often it got a final status: tells the handlers' runs apart

	main     *list
	handlers []*list       // those that began, in order
	queued   []handlerKind // those that are still to begin
	env      map[string]any

	open   map[string]*operation // by operation path
	opened int                   // counts operations, for their order
	calls  int                   // open calls
	waits  int                   // open timers that something goes on by

	commands []journal.Command
	dirty    []advancer // lists and loops that may go on
	changed  []*step
	parked   []*step          // steps that wait for a person, in order of time
	unknown  map[string]*step // steps with an unknown outcome, by path
	resolved []*step          // of those, the ones that were resolved while no process drove the run
	awaiting []*step          // steps that wait for an answer from outside, in order of time
	asks     int              // how many of them ask a person
	early    []*answer        // signals that no step has taken yet, in order of time

	failure *runs.Error // the first failed step's
	end     *verdict    // why the run is ending early

	status  runs.Status
	pausing string // why, when status is paused
	err     *runs.Error
	outputs map[string]json.RawMessage
	state   map[string]json.RawMessage
	cursors map[string][]byte // by key
	memory  memory            // what the run read of earlier ones

	history  history
	decoded  decoded
	longFrom int64 // what items of a reading may take decoded that are not kept as text; 0 = wholeAnswer
}

// verdict is how a run ends.
type verdict struct {
	status runs.Status
	err    *runs.Error
}

// advancer is a part of the run that an ended step or item may let go on.
type advancer interface{ advance() }

// New compiles the workflow and returns a Machine that waits for its started
// event. Machines of one workflow can share a Program instead.
func New(w *plan.Workflow) (*Machine, error) {
	program, err := Compile(w)
	if err != nil {
		return nil, err
	}
	return program.NewMachine(), nil
}

// Apply folds ev into the run and returns what to do next. An event for a path
// that is not open changes nothing. A condition that fails at run time is a
// failed step, never an error: an error means a journal that can't be.
func (m *Machine) Apply(ev journal.Event) ([]journal.Command, error) {
	if m.phase == waitingForStart && ev.Kind != journal.Started {
		return m.unstarted(ev)
	}
	if (ev.Kind == journal.Started) != (m.phase == waitingForStart) {
		if ev.Kind == journal.Started {
			return nil, nil // a second one
		}
		return nil, fmt.Errorf("apply %s: the run has not started", ev.Kind)
	}
	m.at = ev.At.UTC()
	m.commands = nil
	if err := m.take(ev); err != nil {
		return nil, err
	}
	m.settle()
	commands := m.commands
	m.commands = nil
	m.history.addCommands(commands)
	return commands, nil
}

func (m *Machine) take(ev journal.Event) error {
	switch ev.Kind {
	case journal.Started:
		return m.start(ev)
	case journal.Completed, journal.Pending, journal.Failed, journal.TimerFired, journal.Reconciled:
		return m.answer(ev)
	case journal.CancelRun:
		m.cancelRun(ev)
	case journal.Resumed:
		m.memory.resume(ev)
		m.resume()
	case journal.Moved:
		m.refused(ev.Failed)
	case journal.Queued, journal.Refused:
		// The run has begun: they are late.
	case journal.Resolved:
		return m.resolveOutcome(ev)
	case journal.Signaled:
		return m.signaled(ev)
	case journal.ChildEnded:
		return m.childEnded(ev)
	case journal.Driven:
		m.driven(ev)
	case journal.Stopped:
		m.stoppedWell(ev)
	case journal.Replanned:
		return m.replan(ev)
	case journal.Limited:
		return m.limited(ev)
	default:
		return fmt.Errorf("apply %s: unknown kind of event", ev.Kind)
	}
	return nil
}

func (m *Machine) start(ev journal.Event) error {
	if ev.Start == nil {
		return fmt.Errorf("apply started: it has no payload")
	}
	inputs := ev.Start.Inputs
	if len(inputs) == 0 {
		inputs = json.RawMessage("{}")
	}
	decoded, err := m.program.inputs.Decode(inputs)
	if err != nil {
		return fmt.Errorf("apply started: inputs: %w", err)
	}
	m.begun, m.started = *ev.Start, m.at
	if m.trigger, err = decodeTrigger(ev.Start); err != nil {
		return fmt.Errorf("apply started: %w", err)
	}
	m.env = m.rootEnv(decoded)
	if failure := m.readState(); failure != nil {
		m.main = m.newList(m.program.main, "", m.env)
		m.finish(verdict{runs.RunFailed, failure})
		return nil
	}
	m.main = m.newList(m.program.main, "", m.env)
	if err := m.takeOver(); err != nil {
		return fmt.Errorf("apply started: %w", err)
	}
	m.goOn()
	m.main.enqueue()
	return nil
}

// goOn sets the run running, with a new timer for its timeout.
func (m *Machine) goOn() {
	m.phase, m.status, m.pausing, m.err = running, runs.RunRunning, "", nil
	m.memory.ahead = false
	m.epoch++
	if timeout := m.program.workflow.Timeout; timeout > 0 {
		m.timer(nil, m.timerPath("", "run"), journal.TimerRun, m.at.Add(timeout))
	}
}

// settle lets everything go on that can, then looks whether the run or its
// handlers have come to an end.
func (m *Machine) settle() {
	for {
		for i := 0; i < len(m.dirty); i++ { // it grows meanwhile
			m.dirty[i].advance()
		}
		clear(m.dirty)
		m.dirty = m.dirty[:0]
		if !m.proceed() {
			return
		}
	}
}

// proceed takes the run as a whole one phase on; false when there is nothing to
// do but wait.
func (m *Machine) proceed() bool {
	switch m.phase {
	case running:
		if m.main.ended {
			m.finish(m.outcome())
			return true
		}
		if m.calls+m.waits+len(m.awaiting) == 0 {
			return m.pause()
		}
	case ending:
		if m.calls == 0 {
			m.finish(*m.end)
			return true
		}
	case handling:
		return m.nextHandler()
	}
	return false
}

// outcome is the verdict on a run that has nothing left to do.
func (m *Machine) outcome() verdict {
	if m.failure != nil {
		return verdict{runs.RunFailed, m.failure}
	}
	outputs, err := m.evaluateOutputs()
	if err != nil {
		return verdict{runs.RunFailed, err}
	}
	m.outputs = outputs
	if moved := m.memory.moved; moved != nil && m.writes() {
		return verdict{runs.RunFailed, moved}
	}
	return verdict{status: runs.RunSucceeded}
}

// finish gives the run its final status.
func (m *Machine) finish(v verdict) {
	m.cancel(m.timerPath("", "run"))
	m.cancel(m.timerPath("", "grace"))
	m.phase, m.status, m.pausing, m.err, m.end = handling, v.status, "", v.err, nil
	m.ends++
	finish := &journal.Finish{Status: v.status, Error: v.err}
	if v.status == runs.RunSucceeded {
		finish.Outputs = m.outputs
		m.addWrites(finish)
	}
	m.emit(journal.Command{Kind: journal.CommandFinish, Finish: finish})
	m.queueHandlers()
}

// pause parks a run in which nothing goes on without a person. It reports
// whether the run goes on all the same, with its handlers.
func (m *Machine) pause() bool {
	if len(m.parked) == 0 {
		// Unreachable for a checked plan: steps wait for each other in a circle.
		m.finish(verdict{runs.RunFailed, &runs.Error{
			Kind: plan.KindInternal, Message: "the remaining steps wait for each other",
		}})
		return true
	}
	first := m.parked[0]
	m.cancel(m.timerPath("", "run"))
	m.phase, m.status, m.pausing, m.err = paused, runs.RunPaused, first.parked, first.err
	m.emit(journal.Command{Kind: journal.CommandFinish, Finish: &journal.Finish{
		Status: runs.RunPaused, Paused: first.parked, Error: first.err,
	}})
	return false
}

// Status returns the run's status and, when it is paused, why.
func (m *Machine) Status() (status runs.Status, reason string) {
	if m.phase == running && m.calls == 0 && m.waits+len(m.awaiting) > 0 {
		return runs.RunWaiting, ""
	}
	return m.status, m.pausing
}

// Done reports whether the run has ended and its handlers too.
func (m *Machine) Done() bool { return m.phase == closed }

// Error returns the error of an ended or paused run; nil when there is none.
func (m *Machine) Error() *runs.Error { return m.err }

// Outputs returns the run's outputs; nil unless it succeeded. The caller must
// not change them.
func (m *Machine) Outputs() map[string]json.RawMessage {
	if m.status != runs.RunSucceeded {
		return nil
	}
	return m.outputs
}

// Attempt returns 1, and one more for every resume.
func (m *Machine) Attempt() int { return m.attempt }
