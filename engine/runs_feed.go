package engine

import (
	"context"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// feedRows is how many changes of runs are remembered for readers that lag behind
// or come back.
const feedRows = 1000

// runsFeed remembers the latest changes of runs' rows. The store fills it, after
// the commit. Safe for concurrent use.
type runsFeed struct {
	mu      sync.Mutex
	rows    []changedRow // a ring: the row of sequence number n lies at n modulo its length
	first   uint64       // the oldest one that is remembered
	next    uint64       // the number that the next change gets
	more    chan struct{}
	closed  bool
	readers int

	wakers []chan struct{} // wakes those who wait for the outbox
}

// changedRow is a change of a run's row.
type changedRow struct {
	row   runs.Run
	texts *rowTexts // nil where nobody, or one reader alone, followed
}

// rowTexts are what readers get of a row: whether somebody drives the run is seen
// when it is sent.
type rowTexts struct{ driven, undriven runs.Shared }

func (t *rowTexts) of(row *runs.Run) *runs.Shared {
	switch {
	case t == nil:
		return nil
	case row.Undriven:
		return &t.undriven
	}
	return &t.driven
}

// newRunsFeed begins to count at a moment: a reader who comes back from another
// process has a number that this one never gave.
func newRunsFeed(at time.Time) *runsFeed {
	begin := uint64(max(1, at.UnixMicro()))
	return &runsFeed{rows: make([]changedRow, 0, 64), first: begin, next: begin, more: make(chan struct{})}
}

// changed takes rows that are durable now. It is called by the committer.
func (f *runsFeed) changed(rows []runs.Run) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, row := range rows {
		f.remember(row)
	}
	if f.readers > 0 {
		close(f.more)
		f.more = make(chan struct{})
	}
}

// wake tells those who wait for the outbox that it holds something new. It is
// called by the committer.
func (f *runsFeed) wake() {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, wake := range f.wakers {
		select {
		case wake <- struct{}{}:
		default:
		}
	}
}

func (f *runsFeed) remember(row runs.Run) {
	changed := changedRow{row: row}
	if f.readers > 1 {
		changed.texts = new(rowTexts)
	}
	if len(f.rows) < feedRows {
		f.rows = append(f.rows, changed)
	} else {
		f.rows[(f.next-f.first)%feedRows] = changed
	}
	f.next++
}

// wakes returns a channel that gets a word after each change that the outbox holds.
func (f *runsFeed) wakes() <-chan struct{} {
	f.mu.Lock()
	defer f.mu.Unlock()
	wake := make(chan struct{}, 1)
	f.wakers = append(f.wakers, wake)
	return wake
}

// after returns what follows a sequence number. missed says that some of it is
// forgotten, or was never given by this process; more is closed when there is
// something new.
func (f *runsFeed) after(seq uint64) (updates []pendingRow, missed bool, newest uint64, more <-chan struct{}, closed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	newest = f.next - 1
	if missed = seq < f.oldest()-1 || seq > newest; !missed {
		for at := seq + 1; at < f.next; at++ {
			changed := f.rows[(at-f.first)%feedRows]
			updates = append(updates, pendingRow{RunsUpdate{Seq: at, Run: &changed.row}, changed.texts})
		}
	}
	return updates, missed, newest, f.more, f.closed
}

// pendingRow is an update before it is known whether somebody drives its run.
type pendingRow struct {
	RunsUpdate
	texts *rowTexts
}

// oldest is the oldest change that is remembered, or the next one.
func (f *runsFeed) oldest() uint64 { return f.next - uint64(len(f.rows)) }

func (f *runsFeed) join(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.readers += n
}

func (f *runsFeed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if !f.closed {
		f.closed = true
		close(f.more)
		f.more = make(chan struct{})
	}
}

// WatchRuns sends every change of a run's row after the sequence number from, as
// far as the process remembers; else a Reset comes first, and the reader must read
// the list again. The channel is closed with ctx, and when the engine closes.
func (e *Engine) WatchRuns(ctx context.Context, from uint64) (<-chan RunsUpdate, error) {
	out := make(chan RunsUpdate)
	e.feed.join(1)
	go func() {
		defer close(out)
		defer e.feed.join(-1)
		e.pumpRuns(ctx, from, out)
	}()
	return out, nil
}

func (e *Engine) pumpRuns(ctx context.Context, from uint64, out chan<- RunsUpdate) {
	for {
		updates, missed, newest, more, closed := e.feed.after(from)
		if missed {
			updates = []pendingRow{{RunsUpdate: RunsUpdate{Seq: newest, Reset: true}}}
		}
		for _, update := range updates {
			if update.Run != nil {
				e.noteUndriven(update.Run)
				update.Shared = update.texts.of(update.Run)
			}
			select {
			case out <- update.RunsUpdate:
				from = update.Seq
			case <-ctx.Done():
				return
			}
		}
		if len(updates) > 0 {
			continue
		}
		if closed {
			return
		}
		select {
		case <-more:
		case <-ctx.Done():
			return
		}
	}
}
