package upkeep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/calls"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// RemoveRequest asks for the removal of a run. Paused lets one go that waits for
// a person: what it left in doubt is forgotten with it.
type RemoveRequest struct {
	Paused bool   `json:"paused,omitempty"`
	By     string `json:"by,omitempty"`
}

// Removal tells which runs were removed: the one asked for last, those of its
// sub-workflows before it.
type Removal struct {
	Removed []string `json:"removed"`
}

// RemoveRun removes a run that has ended with all that is stored of it: its
// journal, logs, sealed outputs, and the runs of its sub-workflows. The state
// and the cursors that it wrote stay. A run that goes on is a *ConflictError,
// one that is paused too unless the request says otherwise. A crash meanwhile
// leaves the run, or what is left of it, to the next removal.
func (u *Upkeep) RemoveRun(ctx context.Context, id string, request RemoveRequest) (*Removal, error) {
	row, err := u.store.Run(id)
	if err != nil {
		return nil, u.Fault(err)
	}
	if row.Parent != nil {
		if _, err := u.store.Run(row.Parent.Run); err == nil {
			return nil, &fault.ConflictError{
				Message: fmt.Sprintf("run %s is a part of run %s", id, row.Parent.Run), Hint: diag.Sayf("remove that one: %s", diag.Command{"runs", "rm", row.Parent.Run}),
			}
		}
	}
	if err := u.removable(row, request); err != nil {
		return nil, err
	}
	family, err := u.family(ctx, id)
	if err != nil {
		return nil, err
	}
	slices.Reverse(family) // a crash leaves the parent, which leads to the rest
	removal := &Removal{Removed: []string{}}
	for _, member := range family {
		if err := u.runs.AwaitEnd(ctx, member); err != nil {
			return nil, err
		}
		if err := u.remove(member); err != nil {
			return nil, err
		}
		removal.Removed = append(removal.Removed, member)
	}
	u.config.Log.Info("runs removed", "runs", removal.Removed, "by", request.By)
	return removal, nil
}

// removable refuses what goes on, and what is paused unless it was confirmed.
func (u *Upkeep) removable(row *runs.Run, request RemoveRequest) error {
	switch {
	case row.Closed:
		return nil
	case row.Status == runs.RunPaused && request.Paused:
		return nil
	case row.Status == runs.RunPaused:
		return &fault.ConflictError{
			Message: fmt.Sprintf("run %s is paused (%s): somebody may still resume it", row.ID, row.Paused),
			Hint:    diag.Sayf("%s removes it all the same", diag.Command{"runs", "rm", "--force", row.ID}),
		}
	}
	return &fault.ConflictError{
		Message: fmt.Sprintf("run %s is %s: only runs that have ended are removed", row.ID, row.Status), Hint: diag.Sayf("%s ends it first", diag.Command{"runs", "cancel", row.ID}),
	}
}

// remove takes one run away: its sealed outputs first, since only the run leads
// to them. Both may be done again.
func (u *Upkeep) remove(id string) error {
	if err := u.forgetOutputs(id); err != nil {
		return err
	}
	err := u.store.DeleteRun(id)
	switch {
	case err == nil, errors.Is(err, store.ErrRunNotFound):
		return u.forgetDeliveries(id)
	case errors.Is(err, store.ErrRunOpen):
		return &fault.ConflictError{Message: fmt.Sprintf("run %s goes on: only runs that have ended are removed", id), Hint: diag.Sayf("%s ends it first", diag.Command{"runs", "cancel", id})}
	}
	return u.Fault(fmt.Errorf("remove run %s: %w", id, err))
}

// forgetDeliveries removes what is kept of the deliveries of a run that is removed: behind
// the run, since without it they would look as if nothing had been sent.
func (u *Upkeep) forgetDeliveries(id string) error {
	return u.Fault(store.DropDeliveries(u.store.KV(), id))
}

// sweepDeliveries removes the deliveries of runs that are not there any more, as a crash
// between the two removals leaves them. It returns how many runs they were of.
func (u *Upkeep) sweepDeliveries(ctx context.Context) (swept int, err error) {
	ids, err := store.DeliveryRuns(u.store.KV())
	if err != nil {
		return 0, u.Fault(err)
	}
	for _, id := range ids {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		if _, err := u.store.Run(id); !errors.Is(err, store.ErrRunNotFound) {
			continue
		}
		if err := u.forgetDeliveries(id); err != nil {
			return swept, err
		}
		swept++
	}
	return swept, nil
}

func (u *Upkeep) forgetOutputs(id string) error {
	return u.Fault(u.project.Services().ForgetOutputs(id))
}

// ForgetCall removes what a single call sealed: nobody can ask for it when the
// call has ended. What it leaves is swept later.
func (u *Upkeep) ForgetCall(id string) {
	if err := u.forgetOutputs(id); err != nil {
		u.config.Log.Warn("secret outputs of a call not removed", "call", id, "error", err)
	}
}

// callOutputsKept is how long those are kept that a call left when its process
// died.
const callOutputsKept = 24 * time.Hour

// sweepOutputs removes the sealed outputs of runs that are not there any more,
// as a crash between the two removals leaves them, and of calls of the day
// before. It returns how many runs and calls they were of.
func (u *Upkeep) sweepOutputs(ctx context.Context, now time.Time) (swept int, err error) {
	owners, err := u.project.Services().OutputOwners()
	if err != nil {
		return 0, err
	}
	for _, id := range owners {
		if err := ctx.Err(); err != nil {
			return swept, err
		}
		gone, err := u.ownerIsGone(id, now)
		if err != nil {
			return swept, err
		}
		if !gone {
			continue
		}
		if err := u.forgetOutputs(id); err != nil {
			return swept, err
		}
		swept++
	}
	return swept, nil
}

// ownerIsGone reports whether what a run or a single call left belongs to nothing
// any more.
func (u *Upkeep) ownerIsGone(id string, now time.Time) (bool, error) {
	if call, ok := strings.CutPrefix(id, calls.Prefix); ok {
		at, ok := runs.IDTime(call)
		return ok && now.Sub(at) > callOutputsKept, nil
	}
	_, err := u.store.Run(id)
	if errors.Is(err, store.ErrRunNotFound) {
		return true, nil
	}
	return false, err
}
