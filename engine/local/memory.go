package local

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

// Memory is what runs leave for later ones, and the places under `concurrency`.
type Memory interface {
	store.Memory
	store.Slots
}

// Identifier names what a call asks for: the same name for the same action,
// connection and input, after a restart too. For a cursor, what the watermark
// itself moves over is no part of it.
type Identifier interface {
	Identify(action *plan.Action, connection string, input json.RawMessage, cursor bool) (string, error)
}

// Cache keeps answers of reads, by the identity of what was asked.
type Cache interface {
	// Get returns an answer that is not older than maxAge, nil when there is none.
	Get(key string, maxAge time.Duration) *plan.Completed
	Put(key string, answer *plan.Completed, keep time.Duration)
}

// recall makes a call with what earlier ones left: the watermark of its cursor,
// or the answer of the same call before.
func (r *run) recall(ctx context.Context, action *plan.Action, command *journal.Call, request plan.Request) plan.Answer {
	options := r.driver.options
	if action == nil || options.Identifier == nil {
		return r.execute(ctx, action, request)
	}
	switch {
	case command.Cursor != "" && options.Memory != nil:
		return r.fromCursor(ctx, action, command, request)
	case command.Cache > 0 && options.Cache != nil && len(request.Checkpoint) == 0:
		return r.fromCache(ctx, action, command, request)
	}
	return r.execute(ctx, action, request)
}

// fromCursor gives a call the watermark of its cursor, and the answer the
// version that it was read from.
func (r *run) fromCursor(ctx context.Context, action *plan.Action, command *journal.Call, request plan.Request) plan.Answer {
	identity, err := r.driver.options.Identifier.Identify(action, request.Connection, request.Input, true)
	if err != nil {
		return failure(plan.KindInvalid, plan.NotApplied, "name the cursor %s: %v", command.Cursor, err)
	}
	memory := r.driver.options.Memory
	read := plan.CursorRead{Key: plan.CursorKey(r.workflow.Name, command.Cursor, identity)}
	stored, err := memory.Cursor(read.Key)
	if err != nil {
		return failure(plan.KindInternal, plan.NotApplied, "read the cursor %s: %v", command.Cursor, err)
	}
	if stored != nil {
		request.Watermark, read.Version = stored.Value, stored.Version
	} else if request.PageCursor == "" && request.Attempt == 1 {
		r.warnOfOtherCursors(command.Cursor, request.Step)
	}
	answer := r.execute(ctx, action, request)
	if answer.Completed != nil {
		answer.Completed.Cursor = &read
	}
	return answer
}

// warnOfOtherCursors tells that a reading begins from the start, although one of
// its name was there: with other parameters.
func (r *run) warnOfOtherCursors(name, step string) {
	others, err := r.driver.options.Memory.Cursors(r.workflow.Name, name)
	if err != nil || len(others) == 0 {
		return
	}
	(&sink{run: r, step: step}).Log(plan.Log{Level: "warn", Message: fmt.Sprintf(
		"the cursor `%s` belongs to other parameters: a new one begins at the start, the old one is kept", name)})
}

// fromCache answers a read from the cache, or puts its answer there.
func (r *run) fromCache(ctx context.Context, action *plan.Action, command *journal.Call, request plan.Request) plan.Answer {
	identity, err := r.driver.options.Identifier.Identify(action, request.Connection, request.Input, false)
	if err != nil {
		return failure(plan.KindInvalid, plan.NotApplied, "name the cached answer: %v", err)
	}
	key := identity + "#" + request.PageCursor
	if request.AllPages {
		key += "#items" // a page of which only the items are kept is another answer
	}
	cache := r.driver.options.Cache
	if found := cache.Get(key, command.Cache); found != nil {
		answer := *found
		answer.Cached = true
		return plan.Answer{Completed: &answer}
	}
	answer := r.execute(ctx, action, request)
	if answer.Completed != nil {
		cache.Put(key, answer.Completed, command.Cache)
	}
	return answer
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
func (r *run) commitWrites(applied *batch, answered *journal.Command) {
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

func (r *run) moved(cause *journal.MovedError, event journal.Event, answered *journal.Command) {
	row, err := r.driver.options.Journal.Run(r.row.ID)
	if err == nil {
		err = r.rebuild()
	}
	if err != nil {
		r.fail(fmt.Errorf("run %s: go back to what is stored: %w", r.row.ID, err))
		return
	}
	r.row = *row
	r.take(journal.Event{Kind: journal.Moved, At: event.At, Failed: &plan.Error{
		Kind: plan.KindConflict, Reason: "moved", Message: cause.Error() + ": nothing of it was written",
		Hint: fmt.Sprintf("start it anew with `flowrun runs rerun %s`, or end it without its writes: `flowrun runs resume %s --discard-writes`", r.row.ID, r.row.ID),
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
	r.machine, r.seq = r.driver.newMachine(code.program), 0
	if err := r.driver.options.Journal.EachRecord(r.row.ID, 1, r.reapply); err != nil {
		return fmt.Errorf("read journal of run %s: %w", r.row.ID, err)
	}
	r.machine.Changes()
	return nil
}

// ReadsOf says which versions of state values and cursors a run counts on, and
// whether it has begun at all.
func (d *Driver) ReadsOf(ctx context.Context, id string) (state, cursors map[string]uint64, begun bool, err error) {
	err = d.inspect(ctx, id, false, func(r *run) {
		state, cursors = r.machine.Reads()
		begun = r.machine.HasBegun()
	})
	return state, cursors, begun, err
}
