package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/oklog/ulid/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/plan"
)

// The runs that are removed side by side: as many as the file has room to grow
// for, and one where space is short, since a removal writes its neighbours anew
// before their pages are free.
const (
	expireMost = 32
	expireRoom = 8 << 20 // for each of them, in bytes
)

func (s *Store) expireBatch() int {
	if s.Pressure().Level != None {
		return 1
	}
	room := int64(s.options.MaxSize) - s.space.fileBytes.Load()
	return int(min(expireMost, max(1, room/expireRoom)))
}

// Expire removes closed runs, oldest first: those that ended longer than keep
// ago (0 = any age may stay), and as many more as there are above maxRuns (0 =
// any number). A sub-workflow's run goes with its parent, which reads it. It
// returns the removed ids. It may be stopped at any moment, by ctx, an error
// or the end of the process: the next one goes on.
func (s *Store) Expire(ctx context.Context, keep time.Duration, maxRuns int, now time.Time) (removed []string, err error) {
	e := expiry{keep: keep, now: now, chosen: map[string]bool{}}
	if maxRuns > 0 {
		if e.excess, err = s.excessRuns(maxRuns); err != nil {
			return nil, err
		}
	}
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("remove old runs: %w", err)
		}
		e.batch = s.expireBatch()
		var batch [][]byte
		if err := s.view(func(tx *bolt.Tx) (err error) {
			batch, done, err = e.step(tx)
			return err
		}); err != nil {
			return removed, err
		}
		for i, err := range s.deleteRuns(batch, false) {
			switch {
			case err == nil:
				removed = append(removed, runID(batch[i]))
			case errors.Is(err, ErrRunNotFound), errors.Is(err, ErrRunOpen):
				// somebody was faster
			default:
				return removed, fmt.Errorf("remove old run %s: %w", runID(batch[i]), err)
			}
		}
	}
	return removed, nil
}

// excessRuns returns how many runs there are above a number.
func (s *Store) excessRuns(maxRuns int) (excess int, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		counted, err := storedCensus(tx)
		if err != nil {
			return err
		}
		excess = int(counted[string(bucketRuns)].keys) - maxRuns
		return nil
	})
	return max(0, excess), err
}

// expiry walks the runs from the oldest one on.
type expiry struct {
	keep   time.Duration
	now    time.Time
	excess int
	batch  int
	after  []byte          // run key; nil = from the first
	chosen map[string]bool // ids, for the runs that go with them
}

// step returns the next runs to remove; done says that no more come.
func (e *expiry) step(tx *bolt.Tx) (batch [][]byte, done bool, err error) {
	cursor := tx.Bucket(bucketRuns).Cursor()
	key, value := cursor.Seek(e.after)
	if e.after != nil && bytes.Equal(key, e.after) {
		key, value = cursor.Next()
	}
	for range scanRows {
		if key == nil || e.excess <= 0 && e.young(acceptedAt(key)) {
			return batch, true, nil
		}
		if len(batch) == e.batch {
			return batch, false, nil
		}
		e.after = bytes.Clone(key)
		stored, err := unseal(bucketRuns, key, value)
		if err != nil {
			return nil, false, err
		}
		row, err := decodeRow(key, stored)
		if err != nil {
			return nil, false, err
		}
		expires, err := e.expires(tx, row)
		if err != nil {
			return nil, false, err
		}
		if expires {
			batch = append(batch, e.after)
			e.chosen[row.ID] = true
			e.excess--
		}
		key, value = cursor.Next()
	}
	return batch, false, nil
}

// young reports whether a moment is not longer ago than runs are kept.
func (e *expiry) young(at time.Time) bool { return e.keep <= 0 || e.now.Sub(at) <= e.keep }

func (e *expiry) expires(tx *bolt.Tx, row *plan.Run) (bool, error) {
	if !row.Closed {
		return false, nil
	}
	if row.Parent != nil {
		if e.chosen[row.Parent.Run] {
			return true, nil
		}
		key, err := runKey(row.Parent.Run)
		if err == nil && tx.Bucket(bucketRuns).Get(key) != nil {
			return false, nil
		}
	}
	return e.excess > 0 || row.FinishedAt == nil || !e.young(*row.FinishedAt), nil
}

// acceptedAt is the time in a run's id.
func acceptedAt(key []byte) time.Time {
	return time.UnixMilli(int64(ulid.ULID(key[:runKeySize]).Time()))
}
