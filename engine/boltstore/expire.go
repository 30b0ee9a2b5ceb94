package boltstore

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// The runs that are removed side by side: as many as the file has room to grow
// for, and one where space is short, since a removal writes its neighbours anew
// before their pages are free.
const (
	expireMost = 32
	expireRoom = 8 << 20 // for each of them, in bytes
)

func (s *Store) expireBatch() int {
	if s.Pressure().Level != store.None {
		return 1
	}
	room := int64(s.options.MaxSize) - s.space.fileBytes.Load()
	return int(min(expireMost, max(1, room/expireRoom)))
}

// Expire is that of store.Upkeep.
func (s *Store) Expire(ctx context.Context, r store.Retention, now time.Time) (removed []store.Removal, err error) {
	counts, err := s.topCounts()
	if err != nil {
		return nil, err
	}
	if r.Keep > 0 {
		for _, one := range counts {
			gone, err := s.expire(ctx, &expiry{policy: r, now: now, workflow: one.Workflow, cause: store.CauseAge, groups: [][]runs.Status{nil}})
			if removed = append(removed, gone...); err != nil {
				return removed, err
			}
		}
		if len(removed) > 0 {
			if counts, err = s.topCounts(); err != nil {
				return removed, err
			}
		}
	}
	for _, q := range r.Quotas(counts) {
		gone, err := s.expire(ctx, &expiry{policy: r, now: now, workflow: q.Workflow, cause: q.Cause, excess: q.Runs - q.Limit, groups: store.RemovalOrder()})
		if removed = append(removed, gone...); err != nil {
			return removed, err
		}
	}
	return removed, nil
}

func (s *Store) expire(ctx context.Context, e *expiry) (removed []store.Removal, err error) {
	for done := false; !done; {
		if err := ctx.Err(); err != nil {
			return removed, fmt.Errorf("remove old runs: %w", err)
		}
		e.batch = s.expireBatch()
		var batch []store.Removal
		if err := s.view(func(tx *bolt.Tx) (err error) {
			batch, done, err = e.step(tx)
			return err
		}); err != nil {
			return removed, err
		}
		keys := make([][]byte, len(batch))
		for i, one := range batch {
			if keys[i], err = runKey(one.ID); err != nil {
				return removed, err
			}
		}
		for i, err := range s.deleteRuns(keys, false) {
			switch {
			case err == nil:
				removed = append(removed, batch[i])
			case errors.Is(err, store.ErrRunNotFound), errors.Is(err, store.ErrRunOpen):
				// somebody was faster
			default:
				return removed, fmt.Errorf("remove old run %s: %w", batch[i].ID, err)
			}
		}
	}
	return removed, nil
}

// expiry walks the runs of a workflow from the oldest one on.
type expiry struct {
	policy   store.Retention
	now      time.Time
	workflow string
	cause    store.Cause
	excess   int             // how many are to go; not by age
	groups   [][]runs.Status // one after the other; nil = runs of all statuses
	batch    int
	after    []byte // run key; nil = from the first
}

// step returns the next runs to remove; done says that no more come.
func (e *expiry) step(tx *bolt.Tx) (batch []store.Removal, done bool, err error) {
	prefix, err := workflowPrefix(e.workflow)
	if err != nil {
		return nil, false, err
	}
	floor := newestKept(tx, prefix, e.policy.Floor)
	if len(e.groups) == 0 || e.cause != store.CauseAge && e.excess <= 0 {
		return nil, true, nil
	}
	runs, more := e.next(tx, prefix, floor)
	for _, run := range runs {
		if e.cause != store.CauseAge && e.excess <= 0 {
			return batch, true, nil
		}
		if len(batch) >= e.batch {
			return batch, false, nil
		}
		e.after = run
		row, err := indexedRow(tx, bucketByWorkflow, run)
		if err != nil {
			return nil, false, err
		}
		if !row.Closed || e.cause == store.CauseAge && row.FinishedAt != nil && e.young(*row.FinishedAt) || hasParent(tx, row) {
			continue
		}
		e.excess--
		if batch, err = e.family(tx, batch, run, row); err != nil {
			return nil, false, err
		}
	}
	if !more {
		e.groups, e.after = e.groups[1:], nil
	}
	return batch, len(e.groups) == 0, nil
}

// next returns the oldest runs of the group at hand that do not belong to those
// that stay in any case, in order; more says that there are others behind them.
func (e *expiry) next(tx *bolt.Tx, prefix, floor []byte) (runs [][]byte, more bool) {
	if e.groups[0] == nil {
		return e.oldest(tx, bucketByWorkflow, prefix, floor)
	}
	for _, status := range e.groups[0] {
		found, others := e.oldest(tx, bucketByWorkflowStatus, join(prefix, statusPrefix(status)), floor)
		if others { // what lies behind the last one of this status is not known yet
			runs = slices.DeleteFunc(runs, func(run []byte) bool { return bytes.Compare(run, found[len(found)-1]) > 0 })
		}
		if more && len(runs) > 0 {
			last := runs[len(runs)-1]
			found = slices.DeleteFunc(found, func(run []byte) bool { return bytes.Compare(run, last) > 0 })
		}
		runs, more = append(runs, found...), more || others
		slices.SortFunc(runs, bytes.Compare)
	}
	return runs, more
}

// oldest returns the next keys of an index, at most as many as a scan looks at.
// Runs of sub-workflows go with their parents; by age they are looked at too, since
// a parent may be gone.
func (e *expiry) oldest(tx *bolt.Tx, bucket, prefix, floor []byte) (runs [][]byte, more bool) {
	cursor := tx.Bucket(bucket).Cursor()
	from := join(prefix, e.after)
	key, value := cursor.Seek(from)
	if e.after != nil && bytes.Equal(key, from) {
		key, value = cursor.Next()
	}
	for ; bytes.HasPrefix(key, prefix) && len(key) == len(prefix)+runKeySize; key, value = cursor.Next() {
		run := key[len(prefix):]
		stays := e.policy.Floor > 0 && (floor == nil || bytes.Compare(run, floor) >= 0)
		switch {
		case e.cause == store.CauseAge && e.young(acceptedAt(run)), e.cause != store.CauseAge && stays:
			return runs, false
		case isChild(value) && e.cause != store.CauseAge, stays && !isChild(value):
			continue
		case len(runs) == scanRows:
			return runs, true
		}
		runs = append(runs, bytes.Clone(run))
	}
	return runs, false
}

// family adds a run and the runs of its sub-workflows, which have ended with it.
func (e *expiry) family(tx *bolt.Tx, batch []store.Removal, run []byte, row *runs.Run) ([]store.Removal, error) {
	batch = append(batch, store.Removal{ID: row.ID, Workflow: row.Workflow, Accepted: acceptedAt(run), Cause: e.cause, Child: row.Parent != nil})
	cursor := tx.Bucket(bucketChildren).Cursor()
	for key, _ := cursor.Seek(run); bytes.HasPrefix(key, run); key, _ = cursor.Next() {
		child := bytes.Clone(key[len(run):])
		its, err := indexedRow(tx, bucketChildren, child)
		if err != nil {
			return nil, err
		}
		if !its.Closed {
			continue
		}
		if batch, err = e.family(tx, batch, child, its); err != nil {
			return nil, err
		}
	}
	return batch, nil
}

// hasParent reports whether a run goes with another one, which is there.
func hasParent(tx *bolt.Tx, row *runs.Run) bool {
	if row.Parent == nil {
		return false
	}
	key, err := runKey(row.Parent.Run)
	return err == nil && tx.Bucket(bucketRuns).Get(key) != nil
}

// newestKept returns the oldest one of the newest runs of a workflow that always
// stay; nil when it has no more than these.
func newestKept(tx *bolt.Tx, prefix []byte, floor int) []byte {
	if floor <= 0 {
		return nil
	}
	sc := scan{prefix: prefix}
	cursor := tx.Bucket(bucketByWorkflow).Cursor()
	var oldest []byte
	kept := 0
	for key, value := sc.seek(cursor); bytes.HasPrefix(key, prefix) && len(key) == len(prefix)+runKeySize; key, value = cursor.Prev() {
		if isChild(value) {
			continue
		}
		if kept == floor {
			return oldest
		}
		oldest = bytes.Clone(key[len(prefix):])
		kept++
	}
	return nil
}

// young reports whether a moment is not longer ago than runs are kept.
func (e *expiry) young(at time.Time) bool { return e.now.Sub(at) <= e.policy.Keep }

// acceptedAt is the time in a run's id.
func acceptedAt(key []byte) time.Time {
	return time.UnixMilli(int64(ulid.ULID(key[:runKeySize]).Time()))
}
