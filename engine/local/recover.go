package local

import (
	"fmt"

	"github.com/flowrun/flowrun/engine/journal"
)

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
	if asks := r.Machine.Asks(); asks != r.row.Asks && !r.Machine.Done() && !r.keepsRow() {
		r.row.Asks = asks
		row := r.row
		r.unstored = append(r.unstored, &batch{row: &row})
	}
}

// sendAgain sends what was in flight, once the word that a process drives the run
// again is durable.
func (r *run) sendAgain() {
	now := r.driver.now()
	turn, err := r.Recover(now)
	if err != nil {
		r.fail(fmt.Errorf("run %s: go on after a stop: %w", r.row.ID, err))
		return
	}
	if turn.Record == nil {
		r.dispatch(turn.Commands)
		return
	}
	r.queue(r.batch(turn), now)
}

// recoverCanceled ends a run that is canceled before it goes on: what was in
// flight is not sent again only to be canceled.
func (r *run) recoverCanceled(event journal.Event) {
	commands, lost := r.Abandon()
	r.dispatch(commands)
	r.handle(message{event: &event})
	for i := range lost {
		r.handle(message{event: &lost[i].Event, answerTo: lost[i].Call})
	}
	r.store()
}
