package boltstore

import (
	"bytes"
	"fmt"
	"maps"
	"slices"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// The bounds of what one transaction removes of a run.
const (
	deleteRows  = 2000
	deleteBytes = 4 << 20
)

// deleteSize is what a part of a deletion counts for in a commit group: it
// rewrites pages, though it adds nothing.
const deleteSize = 64 << 10

// DeleteRun is that of store.Runs. The run is gone with the first transaction; what a
// crash leaves of it is removed at the next Open.
func (s *Store) DeleteRun(id string) error {
	key, err := runKey(id)
	if err != nil {
		return err
	}
	if err := s.deleteRuns([][]byte{key}, true)[0]; err != nil {
		return fmt.Errorf("delete run %s: %w", id, err)
	}
	return nil
}

// deleteRuns removes runs side by side, so that they share commits. The errors
// are in the order of the runs. With told, what the outbox holds of them goes too.
func (s *Store) deleteRuns(runs [][]byte, told bool) []error {
	parts := make([]*deletePending, len(runs))
	for i, run := range runs {
		parts[i] = &deletePending{run: run, more: true, told: told}
	}
	for first, more := true, true; more; first = false {
		more = false
		for _, p := range parts {
			p.queue(s, first)
		}
		for _, p := range parts {
			p.wait()
			more = more || p.more
		}
	}
	errs := make([]error, len(runs))
	for i, p := range parts {
		errs[i] = p.err
	}
	return errs
}

// deletePending is a deletion that goes on part by part.
type deletePending struct {
	run      []byte
	more     bool
	told     bool // the outbox forgets it too
	err      error
	answered chan error // of the part at hand
}

func (p *deletePending) queue(s *Store, first bool) {
	if p.answered = nil; !p.more {
		return
	}
	c := newCall(deleteSize, func(w *writer) (bool, error) {
		var row *runs.Run
		if first {
			var err error
			if row, err = mayDelete(w.Tx, p.run); err != nil {
				return false, err
			}
		}
		return true, inTx(func() (err error) {
			if first && p.told {
				if err := forgetTold(w, p.run); err != nil {
					return err
				}
			}
			p.more, err = deletePart(w, p.run, row)
			return err
		})
	})
	p.answered = c.answered
	if err := s.queue.put(&c.op); err != nil {
		c.answered <- err
	}
}

func (p *deletePending) wait() {
	if p.answered == nil {
		return
	}
	if p.err = <-p.answered; p.err != nil {
		p.more = false
	}
}

// mayDelete returns the row of a run that can be removed.
func mayDelete(tx *bolt.Tx, run []byte) (*runs.Run, error) {
	row, err := getRow(tx, run)
	switch {
	case err != nil:
		return nil, err
	case row == nil:
		return nil, store.ErrRunNotFound
	}
	return row, store.MayDelete(row)
}

// deletePart removes a bounded part of a run, its row first, nil where it is gone; more
// says that something is left. The row in bucket deletions stands for what is left.
func deletePart(w *writer, run []byte, row *runs.Run) (more bool, err error) {
	if row != nil {
		if err := deleteRow(w, run, row); err != nil {
			return false, err
		}
	}
	room := deletion{rows: deleteRows, bytes: deleteBytes}
	for _, part := range []struct {
		bucket []byte
		before func(key, value []byte) error
	}{
		{bucketJournal, func(key, value []byte) error { return dropBlobsOf(w, run, key, value) }},
		{bucketLogs, nil},
		{bucketLogSizes, nil},
	} {
		if err := room.removeAll(w, part.bucket, run, part.before); err != nil {
			return false, err
		}
	}
	if !room.left() {
		if _, err := w.dropLarge(run, &room); err != nil {
			return false, err
		}
	}
	marked := w.Bucket(bucketDeletions).Get(run) != nil
	if room.left() == marked {
		return marked, nil
	}
	if marked {
		return false, w.remove(bucketDeletions, run)
	}
	return true, w.put(bucketDeletions, run)
}

// deleteRow removes a run's row with its index rows, request and plan.
func deleteRow(w *writer, run []byte, row *runs.Run) error {
	keys, err := indexKeys(row, run)
	if err != nil {
		return err
	}
	for _, key := range keys {
		if err := w.remove(key.bucket, key.key); err != nil {
			return err
		}
	}
	w.count(run, row, -1)
	if err := dropAttention(w, run, row); err != nil {
		return err
	}
	if err := dropPlan(w, row.PlanHash, run); err != nil {
		return err
	}
	w.open.forget(run)
	return w.remove(bucketRuns, run)
}

// indexKey is a row of an index.
type indexKey struct{ bucket, key []byte }

// indexKeys are the index rows that a run has.
func indexKeys(row *runs.Run, run []byte) (keys []indexKey, err error) {
	workflow, err := workflowPrefix(row.Workflow)
	if err != nil {
		return nil, err
	}
	keys = append(keys, indexKey{bucketByWorkflow, join(workflow, run)},
		indexKey{bucketByStatus, join(statusPrefix(row.Status), run)},
		indexKey{bucketByWorkflowStatus, join(join(workflow, statusPrefix(row.Status)), run)})
	if key := childKey(row, run); key != nil {
		keys = append(keys, indexKey{bucketChildren, key})
	}
	if store.IsOpen(row) {
		keys = append(keys, indexKey{bucketOpen, run})
	}
	slot, err := slotIndexKey(row, run)
	if err != nil {
		return nil, err
	}
	if slot != nil {
		keys = append(keys, indexKey{bucketSlots, slot})
	}
	for _, name := range slices.Sorted(maps.Keys(row.Labels)) {
		label, err := labelPrefix(name, row.Labels[name])
		if err != nil {
			return nil, err
		}
		keys = append(keys, indexKey{bucketByLabel, join(label, run)})
	}
	return keys, nil
}

// dropBlobsOf removes the references of a record to its large values.
func dropBlobsOf(w *writer, run, key, value []byte) error {
	payload, err := unseal(bucketJournal, key, value)
	if err != nil {
		return err
	}
	return eachBlob(key, payload, func(blob []byte) error { return dropBlob(w, blob, run) })
}

// eachBlob visits the keys of the large values that a record refers to.
func eachBlob(key, payload []byte, visit func(blob []byte) error) error {
	cuts, _, err := splitRecord(key, payload)
	if err != nil {
		return err
	}
	for _, c := range cuts {
		keys, _ := c.blobs()
		for _, blob := range keys {
			if err := visit(blob); err != nil {
				return err
			}
		}
	}
	return nil
}

// deletion is what a transaction may still remove.
type deletion struct{ rows, bytes int }

func (d *deletion) left() bool { return d.rows <= 0 || d.bytes <= 0 }

// removeAll removes the rows whose keys begin with prefix, as many as there is
// room for. A bucket must not change under its cursor, so their keys are
// collected first.
func (d *deletion) removeAll(w *writer, bucket, prefix []byte, before func(key, value []byte) error) error {
	var keys [][]byte
	cursor := w.Bucket(bucket).Cursor()
	for key, value := cursor.Seek(prefix); bytes.HasPrefix(key, prefix) && !d.left(); key, value = cursor.Next() {
		keys = append(keys, bytes.Clone(key))
		d.rows--
		d.bytes -= len(value)
	}
	for _, key := range keys {
		if before != nil {
			if err := before(key, bytes.Clone(w.Bucket(bucket).Get(key))); err != nil {
				return err
			}
		}
		if err := w.remove(bucket, key); err != nil {
			return err
		}
	}
	return nil
}

// finishDeletions removes what a crash left of runs that were being deleted.
func (s *Store) finishDeletions() error {
	for more := true; more; {
		var run []byte
		err := s.view(func(tx *bolt.Tx) error {
			key, _ := tx.Bucket(bucketDeletions).Cursor().First()
			run = bytes.Clone(key)
			return nil
		})
		if err != nil || run == nil {
			return err
		}
		err = s.update(func(w *writer) error {
			row, err := getRow(w.Tx, run)
			if err != nil {
				return err
			}
			if _, err := deletePart(w, run, row); err != nil {
				return err
			}
			return w.finish(censusRunning)
		})
		if err != nil {
			return fmt.Errorf("remove what is left of run %s: %w", runID(run), err)
		}
		s.unclosed = true
	}
	return nil
}
