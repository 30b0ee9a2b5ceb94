package local

import (
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

// Updates are updates of a run's feed, in their order, which all who follow it get
// together.
type Updates struct {
	List []Update
	made *made // nil = one watcher gets them
}

// Together are updates that several get together.
func Together(list ...Update) Updates { return Updates{List: list, made: new(made)} }

// Made returns what write makes of the updates: once for all who got them, so that write
// must make the same of them for everybody. Nobody may change it.
func (u Updates) Made(write func([]Update) any) any {
	if u.made == nil {
		return write(u.List)
	}
	u.made.once.Do(func() { u.made.value = write(u.List) })
	return u.made.value
}

// made is what was made of updates.
type made struct {
	once  sync.Once
	value any
}

// Text returns the update as write writes it: once for all who got it, so that
// write must make the same of it for everybody. Nobody may change the text.
func (u Update) Text(write func(Update) ([]byte, error)) ([]byte, error) {
	return u.Shared.Text(func() ([]byte, error) { return write(u) })
}

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
			if record, err := applied.record.JSON(); err == nil {
				r.feed.send(Update{Kind: UpdateRecord, RunID: r.row.ID, Seq: seq, Record: record})
			}
		}
	}
	for i := range applied.logs {
		r.feed.send(Update{Kind: UpdateLog, RunID: r.row.ID, Seq: seq, Log: &applied.logs[i]})
	}
	changes := applied.changes
	if len(changes) > blockUpdates {
		r.feed.sendSteps(manySteps{r.row.ID, seq, changes})
		changes = nil
	}
	for i := range changes {
		r.feed.send(Update{Kind: UpdateStep, RunID: r.row.ID, Seq: seq, Step: &changes[i]})
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
