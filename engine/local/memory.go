package local

import (
	"context"
	"errors"
	"fmt"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/drive"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Memory is what runs leave for later ones, and the places under `concurrency`.
type Memory interface {
	store.Memory
	store.Slots
}

// writes reports whether the batch ends the run with something to keep.
func (b *batch) writes() bool {
	for i := range b.record.Commands {
		if finish := b.record.Commands[i].Finish; finish != nil && finish.Writes() {
			return true
		}
	}
	return false
}

// commitWrites stores a success together with what it keeps, and waits for it:
// nothing of it is told or dispatched before. When another has changed meanwhile
// what the run read, the Machine goes back to where the journal ends and ends
// the run as failed.
func (r *run) commitWrites(applied *batch, answered *drive.Operation) {
	r.store()
	if r.failed != nil {
		return
	}
	stored := make(chan error, 1)
	r.driver.options.Journal.Append(r.row.ID, []*journal.Record{applied.record}, applied.row, applied.logs, func(err error) { stored <- err })
	err := <-stored
	var moved *journal.MovedError
	switch {
	case errors.As(err, &moved):
		r.moved(moved, applied.record.Event, answered)
	case err != nil:
		r.fail(fmt.Errorf("store journal of run %s: %w", r.row.ID, err))
	default:
		// Told behind what was stored before it.
		applied.effects = append(applied.immediate, applied.effects...)
		applied.immediate = nil
		r.uncommitted++
		r.mail.put(message{committed: &commit{batches: []*batch{applied}}})
	}
}

func (r *run) moved(cause *journal.MovedError, event journal.Event, answered *drive.Operation) {
	row, err := r.driver.options.Journal.Run(r.row.ID)
	if err == nil {
		err = r.rebuild()
	}
	if err != nil {
		r.fail(fmt.Errorf("run %s: go back to what is stored: %w", r.row.ID, err))
		return
	}
	r.row = *row
	r.take(journal.Event{Kind: journal.Moved, At: event.At, Failed: &runs.Error{
		Kind: plan.KindConflict, Reason: "moved", Message: cause.Error() + ": nothing of it was written",
		Hint: diag.Sayf("start it anew with %s, or end it without its writes: %s", diag.Command{"runs", "rerun", r.row.ID}, diag.Command{"runs", "resume", r.row.ID, "--discard-writes"}),
	}}, nil)
	r.take(event, answered)
}

// rebuild makes the Machine anew from the journal.
func (r *run) rebuild() error {
	code, err := r.driver.programs.of(r.row.PlanHash, func() (*plan.Workflow, error) { return r.workflow, nil })
	if err != nil {
		return err
	}
	if err := r.weigh(); err != nil {
		return err
	}
	if err := r.reapply(r.driver.newMachine(code.program)); err != nil {
		return fmt.Errorf("read journal of run %s: %w", r.row.ID, err)
	}
	return nil
}

// ReadsOf says which versions of state values and cursors a run counts on, and
// whether it has begun at all.
func (d *Driver) ReadsOf(ctx context.Context, id string) (state, cursors map[string]uint64, begun bool, err error) {
	err = d.inspect(ctx, id, false, func(r *run) {
		state, cursors = r.Machine.Reads()
		begun = r.Machine.HasBegun()
	})
	return state, cursors, begun, err
}
