package boltstore

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync/atomic"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/stack"
	"github.com/flowrun/flowrun/engine/store"
)

// txError is an error inside a transaction that has written already: the whole
// transaction is lost and the store stops.
type txError struct{ err error }

func (e *txError) Error() string { return e.err.Error() }
func (e *txError) Unwrap() error { return e.err }

// errNothingWritten rolls a transaction back that would commit nothing.
var errNothingWritten = errors.New("nothing written")

// commitLoop is the committer: it takes all that waits, commits it, answers in
// order. There is no timer: while one commit is at the disk, the next group
// gathers by itself.
func (s *Store) commitLoop() {
	stack.Grow()
	for {
		group := s.queue.take()
		if len(group) == 0 {
			return
		}
		if err := s.commit(group); err != nil {
			s.stop(group, err)
			continue
		}
		for i, o := range group {
			group[i] = nil
			o.work.answer(o.err)
		}
	}
}

// commit writes a group in one transaction.
func (s *Store) commit(group []*op) error {
	err := s.updateMarked(false, func(w *writer) error {
		wrote := false
		for _, o := range group {
			changed, err := o.work.apply(w)
			if fatal, ok := errors.AsType[*txError](err); ok {
				return fatal.err
			}
			wrote = wrote || changed
			o.err = s.named(err)
		}
		if !wrote {
			return errNothingWritten
		}
		return w.finish(censusRunning)
	})
	if errors.Is(err, errNothingWritten) {
		return nil
	}
	if err == nil {
		s.unclosed = true
		s.counters.ops.Add(uint64(len(group)))
	}
	return err
}

// updateMarked is update for a transaction of a store that is in use: the mark rises
// with it when that is due, and beside the store after it.
func (s *Store) updateMarked(closes bool, write func(w *writer) error) error {
	risen := s.marks.next(s.options.Now, closes)
	err := s.update(func(w *writer) error {
		w.mark = risen
		return write(w)
	})
	if err != nil {
		return err
	}
	if risen == nil {
		s.marks.behind = true
		return nil
	}
	s.marks.current, s.marks.risen, s.marks.behind = *risen, true, false
	if err := writeBeside(s.path, *risen); err != nil {
		return fmt.Errorf("note the mark beside the store: %w", err)
	}
	return nil
}

// update runs one transaction that writes. Only one goroutine may call it at a
// time: the committer, or whoever opens or closes the store. A panic or fault
// of bbolt over damaged pages is an error.
func (s *Store) update(write func(w *writer) error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := recover(); p != nil {
			err = unreadable(s.path, p)
		}
	}()
	s.reached(store.BeforeCommit)
	before := s.space.fileBytes.Load()
	s.db.KeepFreeList(s.pageCheck.closing)
	w := s.scratch.begin(s.census)
	w.ends, w.open, w.tells, w.clock, w.shows = s.ends, s.open, true, s.options.Now, s.options.OnRuns != nil
	err = s.db.Update(func(tx *bolt.Tx) error {
		w.Tx = tx
		return write(w)
	})
	if err != nil {
		return err
	}
	s.scratch.end(&s.census)
	s.counters.commits.Add(1)
	if s.space.grew(s); s.space.fileBytes.Load() != before {
		s.counters.growths.Add(1)
	}
	s.large.counted(s.census)
	s.reached(store.AfterCommit)
	s.large.remove(w.files)
	if len(w.rows) > 0 {
		s.options.OnRuns(w.rows)
	}
	if w.told && s.options.OnOutbox != nil {
		s.options.OnOutbox()
	}
	return nil
}

func (s *Store) reached(stage store.CommitStage) {
	if s.options.OnCommit != nil {
		s.options.OnCommit(stage)
	}
}

// stop makes the store refuse all later writes: after a failed write or fsync
// nothing is known of the file's state, and a second try could hide the first
// one's loss (P13).
func (s *Store) stop(group []*op, cause error) {
	failed := &store.FailedError{Path: s.path, Full: wantsSpace(cause), Err: cause}
	if failed.Full {
		failed.Usage = s.Usage()
		s.space.dropBallast() // the next start needs room to take up what was in flight
	}
	waiting := s.queue.fail(failed)
	s.onFail.Do(func() {
		if s.options.OnFail != nil {
			s.options.OnFail(failed)
		}
	})
	for _, o := range slices.Concat(group, waiting) {
		o.work.answer(failed)
	}
}

// do queues an op and waits for its commit. Once queued it is not withdrawn: the
// wait is as long as a commit.
func (s *Store) do(size int, write func(w *writer) (bool, error)) error {
	c := newCall(size, write)
	if err := s.queue.put(&c.op); err != nil {
		return err
	}
	return <-c.answered
}

// counters count what the committer did, and which records of journals were read.
type counters struct{ commits, growths, ops, records atomic.Uint64 }

// Stats is that of store.Upkeep.
func (s *Store) Stats() store.Stats {
	commits, growths := s.counters.commits.Load(), s.counters.growths.Load()
	stats := s.db.Stats().TxStats
	return store.Stats{
		Commits:  commits,
		Fsyncs:   2*commits + growths,
		Ops:      s.counters.ops.Load(),
		Records:  s.counters.records.Load(),
		Bytes:    uint64(stats.GetPageAlloc()) + commits*uint64(s.pageSize),
		FileSize: s.fileSize(),
	}
}

// fileSize returns 0 when the file is closed.
func (s *Store) fileSize() int64 {
	info, err := s.file.Stat()
	if err != nil {
		return 0
	}
	return info.Size()
}
