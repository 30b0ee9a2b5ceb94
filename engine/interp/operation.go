package interp

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
)

// operation is an open call or timer.
type operation struct {
	command journal.Command
	step    *step // nil for the run's own timers
	order   int
	left    leftState // of a call
}

// asks reports whether the operation is a question about a lost call.
func (o *operation) asks() bool {
	return o.command.Kind == journal.CommandCall && o.command.Call.Reconcile != ""
}

func (m *Machine) emit(command journal.Command) { m.commands = append(m.commands, command) }

// issue gives a command and waits for its answer.
func (m *Machine) issue(s *step, command journal.Command) {
	m.opened++
	op := &operation{command: command, step: s, order: m.opened}
	m.open[command.Path] = op
	m.count(op, 1)
	m.emit(command)
}

func (m *Machine) count(op *operation, by int) {
	switch {
	case op.command.Kind == journal.CommandCall, op.command.Kind == journal.CommandChild:
		m.calls += by
	case !op.command.Timer.Guards():
		m.waits += by
	}
}

func (m *Machine) timer(s *step, path, reason string, at time.Time) {
	m.issue(s, journal.Command{
		Kind: journal.CommandTimer, Path: path, Timer: &journal.Timer{At: at, Reason: reason},
	})
}

// timerPath names a timer of an operation. After a resume the run's epoch
// stands behind it, so that an old timer's late firing is never taken for a new
// one's.
func (m *Machine) timerPath(operation, name string) string {
	return runs.TimerPath(operation, name, m.epoch)
}

// forget closes an operation without a word to the driver.
func (m *Machine) forget(path string) *operation {
	op := m.open[path]
	if op == nil {
		return nil
	}
	delete(m.open, path)
	m.count(op, -1)
	return op
}

// cancel closes an operation, if it is open, and tells the driver to stop it.
func (m *Machine) cancel(path string) {
	if m.forget(path) != nil {
		m.emit(journal.Command{Kind: journal.CommandCancel, Path: path})
	}
}

// answer gives an event to the operation that it is for.
func (m *Machine) answer(ev journal.Event) error {
	op := m.open[ev.Path]
	if op == nil || op.command.Kind == journal.CommandChild || (op.command.Kind == journal.CommandTimer) != (ev.Kind == journal.TimerFired) {
		return nil
	}
	if ev.Kind != journal.Failed && op.asks() != (ev.Kind == journal.Reconciled) {
		return nil
	}
	if missingPayload(ev) {
		return fmt.Errorf("apply %s %s: it has no payload", ev.Kind, ev.Path)
	}
	m.forget(ev.Path)
	if m.phase == running {
		m.history.addEvent(ev)
	}
	for _, wait := range ev.Waits {
		if wait.For == runs.WaitRateLimit {
			op.step.waited += max(0, wait.Until.Sub(wait.From))
		}
	}
	if ev.Kind == journal.TimerFired {
		m.fired(op)
	} else {
		op.step.answered(ev)
	}
	m.checkHistory()
	return nil
}

func missingPayload(ev journal.Event) bool {
	switch ev.Kind {
	case journal.Completed:
		return ev.Completed == nil
	case journal.Pending:
		return ev.Pending == nil
	case journal.Failed:
		return ev.Failed == nil
	case journal.Reconciled:
		return ev.Outcome == nil
	}
	return false
}

func (m *Machine) fired(op *operation) {
	switch op.command.Timer.Reason {
	case journal.TimerRun:
		m.timeOut()
	case journal.TimerGrace:
		m.graceOver()
	case journal.TimerWithin:
		op.step.expire()
	case journal.TimerRetry:
		op.step.again()
	case journal.TimerPoll:
		op.step.poll()
	case journal.TimerRepeat:
		op.step.nextRound()
	case journal.TimerSleep:
		op.step.awake()
	case journal.TimerTimeout:
		op.step.timedOut()
	}
}

// InFlight returns the open calls and timers in the order in which they were
// asked for: what a driver dispatches again after a replay. Calls that were
// canceled are not among them: their grace ends by a timer.
func (m *Machine) InFlight() []journal.Command {
	var commands []journal.Command
	for _, op := range m.ordered() {
		if m.phase == ending && op.command.Kind == journal.CommandCall {
			continue
		}
		commands = append(commands, op.command)
	}
	return commands
}

// ordered returns the open operations in the order in which they were asked for.
func (m *Machine) ordered() []*operation {
	return slices.SortedFunc(maps.Values(m.open), func(a, b *operation) int { return a.order - b.order })
}

// log says something about a step in the run's log.
func (m *Machine) log(path, level, text string) {
	m.emit(journal.Command{Kind: journal.CommandLog, Path: path, Log: &runs.Log{
		At: m.at, Level: level, Step: path, Message: text,
	}})
}
