package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/oklog/ulid/v2"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Run is that of store.Journal.
func (s *Store) Run(id string) (row *runs.Run, err error) {
	key, err := runKey(id)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		if row, err = getRow(tx, key); err == nil && row == nil {
			err = fmt.Errorf("run %s: %w", id, store.ErrRunNotFound)
		}
		return err
	})
	return row, err
}

// Runs is that of store.Runs. It reads in short transactions.
func (s *Store) Runs(filter runs.Filter) (rows []runs.Run, next string, err error) {
	scan, err := newScan(filter)
	if err != nil {
		return nil, "", err
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	last := filter.Cursor
	for wanted, done := limit+1, false; !done; wanted = nextRows(filter, wanted, limit+1-len(rows)) {
		var found []runs.Run
		err := s.view(func(tx *bolt.Tx) (err error) {
			found, done, err = scan.step(tx, wanted)
			return err
		})
		if err != nil {
			return nil, "", err
		}
		for i := range found {
			selected, err := filter.Matches(&found[i])
			switch {
			case errors.Is(err, store.ErrEnough):
				return rows, last, nil
			case err != nil:
				return nil, "", err
			case selected && len(rows) == limit:
				return rows, last, nil
			case selected:
				rows = append(rows, found[i])
			}
			last = found[i].ID
		}
		if !done && scan.spent() {
			return rows, runID(scan.before), nil
		}
	}
	return rows, "", nil
}

// nextRows is how many rows are to be read: those that are missing, and more and more
// where Match takes few of them.
func nextRows(f runs.Filter, wanted, missing int) int {
	if f.Match == nil {
		return missing
	}
	return min(2*wanted, scanRows)
}

// OpenRuns is that of store.Runs.
func (s *Store) OpenRuns() (runs []runs.Run, err error) {
	var keys [][]byte
	err = s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketOpen).ForEach(func(key, _ []byte) error {
			keys = append(keys, bytes.Clone(key))
			return nil
		})
	})
	for len(keys) > 0 && err == nil {
		part := keys[:min(len(keys), scanRows)]
		keys = keys[len(part):]
		err = s.view(func(tx *bolt.Tx) error {
			for _, key := range part {
				row, err := indexedRow(tx, bucketOpen, key)
				if err != nil {
					return err
				}
				runs = append(runs, *row)
			}
			return nil
		})
	}
	return runs, err
}

// indexedRow returns the row that an index row points at.
func indexedRow(tx *bolt.Tx, index, key []byte) (*runs.Run, error) {
	row, err := getRow(tx, key)
	if err == nil && row == nil {
		err = &store.CorruptError{Bucket: string(index), Key: hexKey(key), Detail: "index row without a run"}
	}
	return row, err
}

// scanRows is how many rows one transaction of a scan looks at.
const scanRows = 512

// scan walks the best index of a filter from the newest run to older ones.
type scan struct {
	filter runs.Filter
	bucket []byte
	prefix []byte // of the index's keys; the run's key follows
	before []byte // run key: rows are older than it; nil = from the newest
	oldest []byte // run key: rows are not older than it; nil = no bound
	looked int    // ids that it compared with the filter's ending
}

func newScan(filter runs.Filter) (*scan, error) {
	sc := &scan{filter: filter, bucket: bucketRuns}
	switch {
	case filter.Workflow != "":
		prefix, err := workflowPrefix(filter.Workflow)
		if err != nil {
			return nil, err
		}
		switch sc.bucket, sc.prefix = bucketByWorkflow, prefix; {
		case filter.Attention:
			sc.bucket = bucketAttentionBy
		case filter.Status != "":
			sc.bucket, sc.prefix = bucketByWorkflowStatus, join(prefix, statusPrefix(filter.Status))
		}
	case filter.Attention:
		sc.bucket = bucketAttention
	case len(filter.Labels) > 0:
		name := slices.Min(slices.Collect(maps.Keys(filter.Labels)))
		prefix, err := labelPrefix(name, filter.Labels[name])
		if err != nil {
			return nil, err
		}
		sc.bucket, sc.prefix = bucketByLabel, prefix
	case filter.Status != "":
		sc.bucket, sc.prefix = bucketByStatus, statusPrefix(filter.Status)
	}
	if filter.Cursor != "" {
		key, err := runKey(filter.Cursor)
		if err != nil {
			return nil, fmt.Errorf("list runs: cursor %q is not valid", filter.Cursor)
		}
		sc.before = key
	}
	if since := filter.Since; !since.IsZero() && since.UnixMilli() > 0 {
		var oldest ulid.ULID
		if err := oldest.SetTime(uint64(since.UnixMilli())); err != nil {
			return nil, fmt.Errorf("list runs: since %s: %w", since, err)
		}
		sc.oldest = oldest.Bytes()
	}
	return sc, sc.within(filter.IDPrefix)
}

// step returns the next rows that the filter selects, at most wanted; done says
// that there are no more.
func (sc *scan) step(tx *bolt.Tx, wanted int) (runs []runs.Run, done bool, err error) {
	cursor := tx.Bucket(sc.bucket).Cursor()
	key, _ := sc.seek(cursor)
	var last []byte // that was looked at
	defer func() {
		if last != nil {
			sc.before = bytes.Clone(last)
		}
	}()
	for range scanRows {
		if len(runs) == wanted {
			return runs, false, nil
		}
		if !bytes.HasPrefix(key, sc.prefix) || len(key) != len(sc.prefix)+runKeySize {
			return runs, true, nil
		}
		run := key[len(sc.prefix):]
		if bytes.Compare(run, sc.oldest) < 0 {
			return runs, true, nil
		}
		if sc.mayEnd(run) {
			row, err := indexedRow(tx, sc.bucket, run)
			if err != nil {
				return nil, false, err
			}
			if sc.filter.Selects(row) {
				runs = append(runs, *row)
			}
		}
		last = run
		key, _ = cursor.Prev()
	}
	return runs, false, nil
}

// seek goes to the newest row that is still to be seen.
func (sc *scan) seek(cursor *bolt.Cursor) (key, value []byte) {
	return seekBefore(cursor, sc.prefix, sc.before, runKeySize)
}

// seekBefore goes to the row before that of prefix and before; without before, to the
// last row of prefix, whose keys have size bytes more at most.
func seekBefore(cursor *bolt.Cursor, prefix, before []byte, size int) (key, value []byte) {
	if before == nil {
		before = bytes.Repeat([]byte{0xff}, size)
	}
	if key, _ := cursor.Seek(join(prefix, before)); key == nil {
		return cursor.Last()
	}
	return cursor.Prev()
}
