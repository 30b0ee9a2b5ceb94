package upkeep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// The times of the retention worker.
const (
	retentionDelay = 5 * time.Second        // after Open: a short run is over by then
	retentionEvery = 10 * time.Second       // between passes: many runs may end in that time, and the file shall stay bounded
	retentionSweep = time.Hour              // between looks for old fires, and for sealed outputs that belong to nothing
	retentionBatch = 500 * time.Millisecond // what a pass may take before the worker rests
	retentionRest  = 250 * time.Millisecond // after a pass that did not come to its end
	retentionLast  = 25 * time.Millisecond  // what a pass may take when the engine closes, and some runs more: a command waits for it
)

// maxFires is how many fires of a trigger are kept at most: those of a week, for
// one that fires every minute.
const maxFires = 10_000

// keeper removes old runs while an engine is open. It never holds up the first
// seconds of a process: a short run gives it a moment when it closes.
type keeper struct {
	upkeep *Upkeep
	after  func(time.Duration) <-chan time.Time
	stop   context.CancelFunc
	done   sync.WaitGroup
	swept  time.Time // the last sweep of this process

	batch, last time.Duration // retentionBatch, retentionLast; tests on a busy machine give more
}

func newKeeper(u *Upkeep, after func(time.Duration) <-chan time.Time) *keeper {
	ctx, stop := context.WithCancel(context.Background())
	k := &keeper{upkeep: u, after: after, stop: stop, batch: retentionBatch, last: retentionLast}
	k.done.Go(func() { k.work(ctx) })
	return k
}

// close ends the worker. Where the process did something, a short pass is made:
// a store that only short runs use is kept small too. It costs a look at the
// oldest run where nothing is to go.
func (k *keeper) close() {
	k.stop()
	k.done.Wait()
	if k.upkeep.store.Stats().Commits == 0 {
		return // it only looked
	}
	ctx, cancel := context.WithTimeout(context.Background(), k.last)
	defer cancel()
	if k.pass(ctx) > 0 {
		k.upkeep.Sweep(ctx)
	}
}

func (k *keeper) work(ctx context.Context) {
	for wait := retentionDelay; ; {
		select {
		case <-k.after(wait):
		case <-ctx.Done():
			return
		}
		batch, cancel := context.WithTimeout(ctx, k.batch)
		k.pass(batch)
		if wait = retentionEvery; batch.Err() != nil {
			wait = retentionRest
		}
		cancel()
		if now := k.upkeep.config.Now(); k.swept.IsZero() || now.Sub(k.swept) >= retentionSweep {
			k.swept = now
			k.upkeep.Sweep(ctx)
		}
	}
}

// pass removes what retention does not keep, until ctx ends: the next pass goes
// on. It returns how many runs went.
func (k *keeper) pass(ctx context.Context) int {
	removed, err := k.upkeep.expire(ctx, k.upkeep.config.Now().UTC())
	k.upkeep.warn("old runs not removed", err)
	if len(removed) > 0 {
		k.upkeep.config.Log.Info("old runs removed", "count", len(removed), "retention", k.upkeep.project.Retention().String())
	}
	return len(removed)
}

// Sweep removes what belongs to nothing any more: old fires, notes of what was cut,
// state of plugins, sealed outputs of runs that are gone. What fails is logged.
func (u *Upkeep) Sweep(ctx context.Context) {
	now, keep := u.config.Now(), u.project.Retention().Keep
	tell := func(what, unit string, removed int, err error) {
		u.warn(what+" not removed", err)
		if removed > 0 {
			u.config.Log.Info(what+" removed", unit, removed)
		}
	}
	large, err := u.store.SweepBlobs(ctx)
	tell("files of large values that nothing needs", "files", large.Files+large.Refs, err)
	fires, err := u.store.ExpireFires(ctx, keep, maxFires, now.UTC())
	tell("old fires", "count", fires, err)
	u.warn("notes of what was cut not removed", u.forgetCuts(now))
	states, err := u.sweepStates(ctx, now)
	tell("old state of plugins", "keys", states, err)
	outputs, err := u.sweepOutputs(ctx, now)
	tell("sealed outputs of removed runs", "runs", outputs, err)
	deliveries, err := u.sweepDeliveries(ctx)
	tell("deliveries of removed runs", "runs", deliveries, err)
}

// warn tells of an error that is neither the end of the time given nor that of
// the engine.
func (u *Upkeep) warn(text string, err error) {
	for _, ended := range []error{context.Canceled, context.DeadlineExceeded, store.ErrClosed} {
		if errors.Is(err, ended) {
			return
		}
	}
	if err != nil {
		u.config.Log.Warn(text, "error", err)
	}
}

// expire removes runs that retention does not keep, oldest first, until ctx
// ends, and their sealed outputs.
func (u *Upkeep) expire(ctx context.Context, now time.Time) ([]string, error) {
	keep := u.project.Retention()
	gone, err := u.store.Expire(ctx, store.Retention{Keep: keep.Keep, MaxRuns: keep.MaxRuns, MaxTotal: keep.MaxTotal, Floor: workspace.KeptRuns}, now)
	removed := make([]string, len(gone))
	var left error // the first that could not be forgotten: the sweep takes them
	for i, one := range gone {
		removed[i] = one.ID
		for _, forget := range []func(string) error{u.forgetOutputs, u.forgetDeliveries} {
			left = cmp.Or(left, forget(one.ID))
		}
	}
	return removed, errors.Join(err, left, u.noteCuts(gone, keep, now))
}

// RunNotFoundError is ErrRunNotFound with the reason, where one is likely.
type RunNotFoundError struct {
	ID   string
	Hint diag.Hint
}

func (e *RunNotFoundError) Error() string {
	return fmt.Sprintf("run %s: %v", e.ID, fault.ErrRunNotFound)
}

// Is matches ErrRunNotFound.
func (e *RunNotFoundError) Is(target error) bool { return target == fault.ErrRunNotFound }

// RunFault is fault for what was asked of one run: one that retention has
// removed is told from one that never was.
func (u *Upkeep) RunFault(id string, err error) error {
	cause := u.Fault(err)
	if !errors.Is(cause, fault.ErrRunNotFound) {
		return cause
	}
	at, ok := runs.IDTime(id)
	if !ok {
		return cause
	}
	keep, now := u.project.Retention(), u.config.Now()
	switch {
	case at.After(now):
		return cause
	case now.Sub(at) > keep.Keep:
		return &RunNotFoundError{ID: id, Hint: diag.Sayf(
			"it would be of %s: runs older than %s are removed when they have ended (`retention` in flowrun.yaml)", at.Format(time.DateOnly), keep.KeepText())}
	case u.olderThanAll(at), u.cutSince(at):
		return &RunNotFoundError{ID: id, Hint: diag.Sayf(
			"it may have been removed: of each workflow %d runs are kept (`retention` in flowrun.yaml), and %s removes others", keep.MaxRuns, diag.Command{"runs", "rm"})}
	}
	return cause
}

// cutSince reports whether runs of that time were removed by their number.
func (u *Upkeep) cutSince(at time.Time) bool {
	cuts, err := u.HistoryCuts()
	return err == nil && slices.ContainsFunc(cuts, func(cut HistoryCut) bool { return !at.After(cut.UpTo) })
}

// olderThanAll reports whether no run is as old, and there are some.
func (u *Upkeep) olderThanAll(at time.Time) bool {
	census, err := u.store.Census()
	if err != nil {
		return false
	}
	oldest, ok := runs.IDTime(census.Oldest)
	return ok && at.Before(oldest)
}
