// Package memstore is a store in memory, for tests: plain maps under one mutex, with
// copies in and out. It keeps the word of engine/store, but for what outlives a process.
package memstore

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Options are the settings of a store. A zero field is not asked.
type Options struct {
	store.Hooks
	// Pressure says whether space is short. It must not call the store.
	Pressure func() store.Pressure
}

// Store is a store in memory. Safe for concurrent use. The hooks are called by the
// goroutine that writes, one after the other.
type Store struct {
	options Options

	mu     *sync.Mutex // of data
	data   *data
	closed bool
	stats  store.Stats
}

var _ store.Store = (*Store)(nil)

// New returns a store that holds nothing.
func New(o Options) *Store { return &Store{options: o, mu: new(sync.Mutex), data: newData()} }

// Reopen returns the store as the next process would find it. s must be closed.
func (s *Store) Reopen(o Options) *Store { return &Store{options: o, mu: s.mu, data: s.data} }

// Close ends the use of the store. What it holds stays for Reopen.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}

// data is what a store holds.
type data struct {
	runs     map[string]*run
	plans    map[string][]byte
	requests map[string]string // run, by request id
	needy    map[string]bool   // runs that need somebody
	looks    map[string]store.Look

	values   map[memoryKey]runs.StateValue
	history  map[memoryKey][]runs.StateChange
	version  uint64 // the last one of a value
	fires    map[fireKey]runs.Fire
	triggers map[triggerKey]runs.TriggerState
	outbox   []runs.OutboxEntry
	told     uint64 // number of the last entry
	sessions map[store.SessionHash]store.Session
	rows     map[string]*bucket

	uploads  map[uploadKey]*upload
	blobs    map[string]*blob // by digest
	blobRefs map[blobRef]bool
}

func newData() *data {
	return &data{
		runs: map[string]*run{}, plans: map[string][]byte{}, requests: map[string]string{}, needy: map[string]bool{}, looks: map[string]store.Look{},
		values: map[memoryKey]runs.StateValue{}, history: map[memoryKey][]runs.StateChange{},
		fires: map[fireKey]runs.Fire{}, triggers: map[triggerKey]runs.TriggerState{},
		sessions: map[store.SessionHash]store.Session{}, rows: map[string]*bucket{},
		uploads: map[uploadKey]*upload{}, blobs: map[string]*blob{}, blobRefs: map[blobRef]bool{},
	}
}

// view reads.
func (s *Store) view(read func(d *data) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	return read(s.data)
}

// tx is a transaction: what it has changed is told when it ends.
type tx struct {
	*data
	options *Options
	wrote   bool
	changed []runs.Run
	news    bool // the outbox was written to
}

// update writes. write looks before it changes anything: with its error all is as it was.
func (s *Store) update(write func(t *tx) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return store.ErrClosed
	}
	t := &tx{data: s.data, options: &s.options}
	s.reached(store.BeforeCommit)
	if err := write(t); err != nil {
		return err
	}
	if !t.wrote {
		return nil
	}
	s.stats.Commits++
	s.stats.Ops++
	s.reached(store.AfterCommit)
	if len(t.changed) > 0 && s.options.OnRuns != nil {
		s.options.OnRuns(t.changed)
	}
	if t.news && s.options.OnOutbox != nil {
		s.options.OnOutbox()
	}
	return nil
}

func (s *Store) reached(stage store.CommitStage) {
	if s.options.OnCommit != nil {
		s.options.OnCommit(stage)
	}
}

// Usage is of no room at all.
func (s *Store) Usage() store.Usage { return store.Usage{} }

// Pressure is what Options.Pressure says.
func (s *Store) Pressure() store.Pressure {
	if s.options.Pressure == nil {
		return store.Pressure{}
	}
	return s.options.Pressure()
}

// Stats counts the writes since New or Reopen.
func (s *Store) Stats() store.Stats {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.stats
}

// clone copies what is given in or out, as its stored form would come back.
func clone[T any](value T) (copied T) {
	encoded, err := json.Marshal(value)
	if err == nil {
		err = json.Unmarshal(encoded, &copied)
	}
	if err != nil {
		panic(fmt.Sprintf("copy a %T: %v", value, err)) // plain data has a stored form
	}
	return copied
}

// pointer returns a copy of what a map holds; nil where it holds nothing.
func pointer[T any](value T, ok bool) *T {
	if !ok {
		return nil
	}
	copied := clone(value)
	return &copied
}
