package boltstore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// migrateToFour adds the counts of runs, the index of those that need somebody, the
// index by workflow and status, and the sessions of servers. What an earlier try has
// left goes first: an older program may have written since.
func (s *Store) migrateToFour() error {
	if err := s.update(func(w *writer) error {
		for _, name := range bucketsOfFour() {
			if w.Bucket(name) != nil {
				if err := w.DeleteBucket(name); err != nil {
					return fmt.Errorf("remove bucket %s: %w", name, err)
				}
				w.census.drop(string(name))
			}
			if _, err := w.CreateBucket(name); err != nil {
				return fmt.Errorf("create bucket %s: %w", name, err)
			}
		}
		if err := w.put(bucketMeta, keyMigrating, binary.BigEndian.AppendUint64(nil, 4)); err != nil {
			return err
		}
		return w.finish(censusRunning)
	}); err != nil {
		return err
	}
	found := &four{counts: map[string]store.Counts{}, failed: map[string]map[string]time.Time{}}
	if err := s.eachRow(bucketRuns, found.run); err != nil {
		return err
	}
	for rows := range slices.Chunk(found.rows(), migrationRows) {
		if err := s.update(func(w *writer) error {
			for _, row := range rows {
				if err := w.put(row.bucket, row.key, row.value); err != nil {
					return err
				}
			}
			return w.finish(censusRunning)
		}); err != nil {
			return err
		}
	}
	return s.update(func(w *writer) error {
		if err := w.remove(bucketMeta, keyMigrating); err != nil {
			return err
		}
		if err := putSchema(w, 4); err != nil {
			return err
		}
		return w.finish(censusRunning)
	})
}

// four gathers what follows from the runs of a store, from the oldest one on.
type four struct {
	counts map[string]store.Counts
	failed map[string]map[string]time.Time // of each workflow: runs that need somebody, and when they ended
}

// run looks at the next run and writes its row of the index by workflow and status.
func (f *four) run(w *writer, key, payload []byte) error {
	row, err := decodeRow(key, payload)
	if err != nil {
		return err
	}
	workflow, err := workflowPrefix(row.Workflow)
	if err != nil {
		return err
	}
	counted := map[countDelta]int{}
	if err := runCountOf(key, row).addTo(counted, 1); err != nil {
		return err
	}
	for change, by := range counted {
		if f.counts[change.key] == nil {
			f.counts[change.key] = store.Counts{}
		}
		f.counts[change.key][change.status] += by
	}
	f.attention(string(key), row)
	if child := childKey(row, key); child != nil {
		if err := w.put(bucketChildren, child); err != nil {
			return err
		}
	}
	if row.Parent != nil {
		if err := w.put(bucketByWorkflow, join(workflow, key), childMark(row)); err != nil {
			return err
		}
	}
	return w.put(bucketByWorkflowStatus, join(join(workflow, statusPrefix(row.Status)), key), childMark(row))
}

// attention notes a run that needs somebody. A run that succeeded settles those
// before it that had ended before it did.
func (f *four) attention(key string, row *runs.Run) {
	failed := f.failed[row.Workflow]
	switch {
	case row.Status == runs.RunSucceeded && row.FinishedAt != nil && row.Asks == 0:
		maps.DeleteFunc(failed, func(_ string, ended time.Time) bool { return !ended.IsZero() && !ended.After(*row.FinishedAt) })
	case store.NeedsSomebody(row):
		if failed == nil {
			failed = map[string]time.Time{}
			f.failed[row.Workflow] = failed
		}
		failed[key] = time.Time{}
		if store.MayLookAt(row) && row.FinishedAt != nil {
			failed[key] = *row.FinishedAt
		}
	}
}

// fourRow is a row that the migration writes.
type fourRow struct{ bucket, key, value []byte }

func (f *four) rows() (rows []fourRow) {
	for _, key := range slices.Sorted(maps.Keys(f.counts)) {
		rows = append(rows, fourRow{bucketCounts, []byte(key), encodeCounts(f.counts[key])})
	}
	for _, workflow := range slices.Sorted(maps.Keys(f.failed)) {
		prefix, err := workflowPrefix(workflow)
		if err != nil {
			continue // no row of it could have been stored
		}
		for _, run := range slices.Sorted(maps.Keys(f.failed[workflow])) {
			rows = append(rows,
				fourRow{bucketAttention, []byte(run), nil},
				fourRow{bucketAttentionBy, join(prefix, []byte(run)), nil})
		}
	}
	return rows
}
