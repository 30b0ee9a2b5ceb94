package local

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// UpdateKind names what an Update tells.
type UpdateKind string

// The kinds of updates.
const (
	UpdateRun      UpdateKind = "run"      // Run is set: its status changed
	UpdateStep     UpdateKind = "step"     // Step is set: it changed
	UpdateRecord   UpdateKind = "record"   // Record is set: the stored event
	UpdateLog      UpdateKind = "log"      // Log is set
	UpdateProgress UpdateKind = "progress" // Path and Progress are set; not stored
	UpdateWait     UpdateKind = "wait"     // Path, Wait and Until are set: a limiter's wait; a zero Until ends it; not stored
	UpdateEnd      UpdateKind = "end"      // nothing more will come: the run is closed or paused, or nobody drives it
)

// Update is one message of a run's feed. What it tells of steps and runs was
// durable before it was sent. Seq is the journal's sequence number that led to
// it, 0 for what is not stored.
type Update struct {
	Kind     UpdateKind      `json:"kind"`
	RunID    string          `json:"run_id"`
	Seq      uint64          `json:"seq,omitempty"`
	Run      *runs.Run       `json:"run,omitempty"`
	Step     *runs.Step      `json:"step,omitempty"`
	Record   json.RawMessage `json:"record,omitempty"`
	Log      *runs.Log       `json:"log,omitempty"`
	Path     string          `json:"path,omitempty"`
	Progress *runs.Progress  `json:"progress,omitempty"`
	Wait     string          `json:"wait,omitempty"`
	Until    time.Time       `json:"until,omitzero"`

	Shared *runs.Shared `json:"-"` // the text of an update that many watchers get; nil = one watcher gets it
}

// Text returns the update as write writes it: once for all who got it, so that
// write must make the same of it for everybody. Nobody may change the text.
func (u Update) Text(write func(Update) ([]byte, error)) ([]byte, error) {
	return u.Shared.Text(func() ([]byte, error) { return write(u) })
}

// feedLimit is how many updates a watcher may lag behind before it is cut off;
// it can ask again from the last sequence number that it saw.
const feedLimit = 100_000

// feedBytes is what those updates may hold.
const feedBytes = 64 << 20

// size is what an update holds, about.
func (u *Update) size() int {
	size := len(u.Record)
	if u.Step != nil {
		size += len(u.Step.Outputs)
	}
	if u.Log != nil {
		size += len(u.Log.Message) + len(u.Log.Fields)
	}
	return size
}

// feed sends a run's updates to its watchers. Safe for concurrent use.
type feed struct {
	mu       sync.Mutex
	watchers map[*watcher]struct{}
	closed   bool
}

// watcher is one reader with a queue of its own, so that a slow reader holds
// nobody up.
type watcher struct {
	mu     sync.Mutex
	queue  []Update
	bytes  int // of queue
	ready  chan struct{}
	closed bool

	noRecords bool // it wants none of the stored records
}

func newFeed() *feed { return &feed{watchers: map[*watcher]struct{}{}} }

func (f *feed) send(update Update) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if len(f.watchers) > 1 {
		update.Shared = new(runs.Shared)
	}
	for w := range f.watchers {
		if update.Kind == UpdateRecord && w.noRecords {
			continue
		}
		if !w.put(update) {
			delete(f.watchers, w)
		}
	}
}

func (f *feed) add(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		w.close()
		return
	}
	f.watchers[w] = struct{}{}
}

func (f *feed) remove(w *watcher) {
	f.mu.Lock()
	defer f.mu.Unlock()
	delete(f.watchers, w)
}

func (f *feed) close() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.closed = true
	for w := range f.watchers {
		w.close()
	}
	f.watchers = map[*watcher]struct{}{}
}

func newWatcher() *watcher { return &watcher{ready: make(chan struct{}, 1)} }

// put reports whether the watcher still follows.
func (w *watcher) put(update Update) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed {
		return false
	}
	w.queue, w.bytes = append(w.queue, update), w.bytes+update.size()
	if len(w.queue) > feedLimit || w.bytes > feedBytes {
		w.closed = true
	}
	w.wake()
	return !w.closed
}

// shares says that what waits holds nothing that the run doesn't hold anyway.
func (w *watcher) shares() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.bytes = 0
}

func (w *watcher) close() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.closed = true
	w.wake()
}

func (w *watcher) wake() {
	select {
	case w.ready <- struct{}{}:
	default:
	}
}

// pump copies the queue to out until an UpdateEnd, the end of the feed, or ctx.
func (w *watcher) pump(ctx context.Context, out chan<- Update) {
	for {
		select {
		case <-w.ready:
		case <-ctx.Done():
			return
		}
		w.mu.Lock()
		queue, closed := w.queue, w.closed
		w.queue, w.bytes = nil, 0
		w.mu.Unlock()
		for _, update := range queue {
			select {
			case out <- update:
			case <-ctx.Done():
				return
			}
			if update.Kind == UpdateEnd {
				return
			}
		}
		if closed {
			return
		}
	}
}

// publish tells the watchers of a durable batch.
func (r *run) publish(applied *batch) {
	observer := r.driver.options.Observer
	for i := range applied.changes {
		observer.StepStored(&r.row, &applied.changes[i])
	}
	if applied.row != nil {
		observer.RunStored(applied.row)
	}
	if !r.feed.watched() {
		return
	}
	var seq uint64
	if applied.record != nil {
		seq = applied.record.Seq
		if r.feed.wantsRecords() {
			if record, err := json.Marshal(applied.record); err == nil {
				r.feed.send(Update{Kind: UpdateRecord, RunID: r.row.ID, Seq: seq, Record: record})
			}
		}
	}
	for i := range applied.logs {
		r.feed.send(Update{Kind: UpdateLog, RunID: r.row.ID, Seq: seq, Log: &applied.logs[i]})
	}
	for i := range applied.changes {
		r.feed.send(Update{Kind: UpdateStep, RunID: r.row.ID, Seq: seq, Step: &applied.changes[i]})
	}
	if applied.row != nil {
		r.feed.send(Update{Kind: UpdateRun, RunID: r.row.ID, Seq: seq, Run: applied.row})
	}
}

// wantsRecords reports whether a watcher wants the stored records.
func (f *feed) wantsRecords() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for w := range f.watchers {
		if !w.noRecords {
			return true
		}
	}
	return false
}

func (f *feed) watched() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.watchers) > 0
}
