package local

import (
	"cmp"
	"context"
	"slices"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// The bounds of what is kept of runs that have ended: by number, and by what their
// journals hold. A Machine takes a few times that in memory.
const (
	maxEndedRuns  = 64
	maxEndedBytes = 4 << 20 // of all of them
)

// largeFor is how long a run is kept, alone, whose journal is larger than that: who waited for
// its end asks what came of it. A replay would make all of it a second time.
const largeFor = 5 * time.Second

// endedRuns keeps the runs that were closed or looked at last, as their journals lead to
// them: those who wait for an end, print it or look at its page read no journal. The
// journal of a closed run does not change until somebody goes on with the run. Safe for
// concurrent use.
type endedRuns struct {
	mu    sync.Mutex
	known map[string]*endedRun
	order []string // the one used last at the end
	bytes int64

	large     *endedRun // nil = none
	largeID   string
	largeEnds *time.Timer
	largeFor  time.Duration // 0 = largeFor
}

// endedRun is a run that nobody drives. Looking at it may decode values.
type endedRun struct {
	mu    sync.Mutex
	run   *run
	bytes int64
}

// keep takes a run whose worker has ended, or that was replayed, unless something may
// still become of it. Nobody else may use it from here on.
func (e *endedRuns) keep(r *run) {
	if !r.Machine.Done() {
		return
	}
	r.Machine.Rest()
	r.waits, r.children = nil, nil
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(r.row.ID)
	if r.stored.bytes > maxEndedBytes {
		e.keepLarge(r)
		return
	}
	if e.known == nil {
		e.known = map[string]*endedRun{}
	}
	e.known[r.row.ID] = &endedRun{run: r, bytes: r.stored.bytes}
	e.order = append(e.order, r.row.ID)
	e.bytes += r.stored.bytes
	for len(e.order) > maxEndedRuns || e.bytes > maxEndedBytes {
		e.drop(e.order[0])
	}
}

// keepLarge keeps a run in place of the large one before, for largeFor. e.mu is held.
func (e *endedRuns) keepLarge(r *run) {
	e.drop(e.largeID)
	e.large, e.largeID = &endedRun{run: r, bytes: r.stored.bytes}, r.row.ID
	id := e.largeID
	e.largeEnds = time.AfterFunc(cmp.Or(e.largeFor, largeFor), func() { e.forget(id) })
}

// forget drops a run that is gone on with, or is there no more.
func (e *endedRuns) forget(id string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.drop(id)
}

// drop is forget; e.mu is held.
func (e *endedRuns) drop(id string) {
	if e.large != nil && e.largeID == id {
		e.largeEnds.Stop()
		e.large, e.largeID, e.largeEnds = nil, "", nil
	}
	known := e.known[id]
	if known == nil {
		return
	}
	delete(e.known, id)
	e.bytes -= known.bytes
	i := slices.Index(e.order, id)
	e.order = slices.Delete(e.order, i, i+1)
}

func (e *endedRuns) of(id string) *endedRun {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.large != nil && e.largeID == id {
		e.largeEnds.Reset(cmp.Or(e.largeFor, largeFor))
		return e.large
	}
	known := e.known[id]
	if known != nil {
		i := slices.Index(e.order, id)
		e.order = append(slices.Delete(e.order, i, i+1), id)
	}
	return known
}

// lookAtEnded calls look with a run that is kept, by the row that is stored; false where
// it is not.
func (d *Driver) lookAtEnded(id string, look func(*run)) (bool, error) {
	known := d.ended.of(id)
	if known == nil {
		return false, nil
	}
	row, err := d.options.Journal.Run(id)
	if err != nil || !sameEnd(row, &known.run.row) {
		d.ended.forget(id)
		return err != nil, err
	}
	known.mu.Lock()
	defer known.mu.Unlock()
	known.run.row = *row
	look(known.run)
	return true, nil
}

// AwaitResult waits until nobody drives the run and returns it, as Snapshot does. Of a run
// that comes to its end meanwhile nothing is read: its worker stored all of it last.
func (d *Driver) AwaitResult(ctx context.Context, id string) (*runs.Result, error) {
	r := d.driven(id)
	if r == nil {
		return d.Snapshot(ctx, id)
	}
	select {
	case <-r.ended:
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if known := d.ended.of(id); known != nil && known.run == r {
		known.mu.Lock()
		defer known.mu.Unlock()
		return r.result(r.withWaits(r.Machine.Steps())), nil
	}
	return d.Snapshot(ctx, id)
}

// keepReplayed keeps a run that was replayed to be looked at.
func (d *Driver) keepReplayed(r *run) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.runs[r.row.ID] == nil {
		d.ended.keep(r)
	}
}

// sameEnd reports whether a run still stands at the end at which it was kept.
func sameEnd(row, kept *runs.Run) bool {
	return row.Closed && row.Status == kept.Status && row.Attempt == kept.Attempt && row.FinishedAt != nil && kept.FinishedAt != nil &&
		row.FinishedAt.Equal(*kept.FinishedAt)
}
