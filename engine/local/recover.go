package local

import (
	"fmt"
	"slices"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// carefulAnswers is how many answers a run that was interrupted by a crash takes
// before its reads are sent without waiting for their records again. Until then
// the journal knows each call that a second crash interrupts, so that none is
// blamed for another (docs/reliability.md, P6).
const carefulAnswers = 2 * flushRecords

// recover goes on where the journal ends. That a process drives the run again is
// durable before anything is sent once more, so that crashes are counted.
func (r *run) recover(event *journal.Event) {
	if event != nil && event.Kind == journal.CancelRun {
		r.recoverCanceled(*event)
		return
	}
	r.sendAgain()
	r.catchUp(event)
	if event != nil {
		r.handle(message{event: event})
	}
	r.noteAsks()
	r.noteWaits()
	r.store()
}

// noteAsks mends the row of a run that an older program stored: it did not count
// who is asked.
func (r *run) noteAsks() {
	if asks := r.machine.Asks(); asks != r.row.Asks && !r.machine.Done() && !r.keepsRow() {
		r.row.Asks = asks
		row := r.row
		r.unstored = append(r.unstored, &batch{row: &row})
	}
}

// sendAgain sends what was in flight: the same attempts with the same keys. What
// must not be repeated is asked about, or becomes an unknown outcome; a call that
// was in flight at too many crashes parks its step.
func (r *run) sendAgain() {
	before := r.machine.InFlight()
	calls := slices.ContainsFunc(before, isCall)
	var applied *batch
	if calls {
		driven := journal.Event{Kind: journal.Driven, At: r.driver.now(), Interrupted: r.machine.Interrupted()}
		if len(driven.Interrupted) > 0 {
			r.careful = carefulAnswers
		}
		var err error
		if applied, err = r.applyEvent(driven); err != nil {
			r.fail(fmt.Errorf("run %s: go on after a stop: %w", r.row.ID, err))
			return
		}
	}
	open := map[string]*journal.Call{}
	for _, command := range r.machine.InFlight() {
		open[command.Path] = command.Call
	}
	for _, command := range before {
		call, still := open[command.Path]
		switch {
		case !still || call != command.Call:
		case isCall(command):
			applied.effects = append(applied.effects, command)
		default:
			r.dispatch([]journal.Command{command})
			if command.Kind == journal.CommandChild && r.machine.Ending() {
				r.cancelCommand(command.Path)
			}
		}
	}
	if applied != nil {
		r.queue(applied, r.driver.now())
	}
}

func isCall(command journal.Command) bool { return command.Kind == journal.CommandCall }

// recoverCanceled ends a run that is canceled before it goes on: what was in
// flight is not sent again only to be canceled.
func (r *run) recoverCanceled(event journal.Event) {
	open := r.machine.InFlight()
	for _, command := range open {
		if isCall(command) {
			r.calls[command.Path] = &call{command: command, cancel: func() {}}
			continue
		}
		r.dispatch([]journal.Command{command})
	}
	unsent := map[string]bool{}
	for _, path := range r.machine.NeverSent() {
		unsent[path] = true
	}
	r.handle(message{event: &event})
	for _, command := range open {
		if !isCall(command) {
			continue
		}
		lost := journal.Event{Kind: journal.Failed, Path: command.Path, Failed: &runs.Error{
			Kind:    plan.KindCanceled,
			Applied: runs.AppliedUnknown,
			Message: "the engine stopped while the call was in flight, and the run was canceled then",
		}}
		if unsent[command.Path] {
			lost.Failed.Applied, lost.Failed.Message = runs.NotApplied, "the run was canceled before the call was sent"
		}
		r.handle(message{event: &lost, answerTo: &command})
	}
	r.store()
}
