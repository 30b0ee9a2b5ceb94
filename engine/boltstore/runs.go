package boltstore

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/oklog/ulid/v2"
	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/plan"
)

// Filter selects runs. A zero field selects all.
type Filter struct {
	Workflow string
	Status   plan.RunStatus
	Labels   map[string]string // all of them
	// Attention selects the runs that need somebody: see Look.
	Attention bool
	Since     time.Time // compared with the time in the run's id, its acceptance
	Limit     int       // 0 = 50
	Cursor    string    // of the page before
	// Match has the last word on a row that the rest of the filter selects; it may
	// change the row. It is called outside of transactions, in the order of the list.
	// With ErrEnough, but not for the first row, the page ends before this row and the
	// next one begins with it. Any other error is that of Runs. Nil selects all.
	Match func(row *plan.Run) (bool, error)
}

// defaultLimit is the length of a page of runs.
const defaultLimit = 50

// Run returns a run's row. ErrRunNotFound.
func (s *Store) Run(id string) (row *plan.Run, err error) {
	key, err := runKey(id)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		if row, err = getRow(tx, key); err == nil && row == nil {
			err = fmt.Errorf("run %s: %w", id, ErrRunNotFound)
		}
		return err
	})
	return row, err
}

// Runs returns the newest runs that the filter selects, newest first, and the
// cursor of the next page ("" = none): the last run that was looked at. A cursor
// that is not a run id is an error. It reads in short transactions: a page may
// see a run's change that happened meanwhile, but never a run twice.
func (s *Store) Runs(filter Filter) (runs []plan.Run, next string, err error) {
	scan, err := newScan(filter)
	if err != nil {
		return nil, "", err
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = defaultLimit
	}
	last := filter.Cursor
	for wanted, done := limit+1, false; !done; wanted = filter.next(wanted, limit+1-len(runs)) {
		var found []plan.Run
		err := s.view(func(tx *bolt.Tx) (err error) {
			found, done, err = scan.step(tx, wanted)
			return err
		})
		if err != nil {
			return nil, "", err
		}
		for i := range found {
			selected, err := filter.matches(&found[i])
			switch {
			case errors.Is(err, ErrEnough):
				return runs, last, nil
			case err != nil:
				return nil, "", err
			case selected && len(runs) == limit:
				return runs, last, nil
			case selected:
				runs = append(runs, found[i])
			}
			last = found[i].ID
		}
	}
	return runs, "", nil
}

// next is how many rows are to be read: those that are missing, and more and more
// where Match takes few of them.
func (f Filter) next(wanted, missing int) int {
	if f.Match == nil {
		return missing
	}
	return min(2*wanted, scanRows)
}

func (f Filter) matches(row *plan.Run) (bool, error) {
	if f.Match == nil {
		return true, nil
	}
	return f.Match(row)
}

// OpenRuns returns the runs that a start of the engine must take up, oldest
// first: those that are neither closed nor paused. One whose status is final but
// whose handlers have not ended is among them.
func (s *Store) OpenRuns() (runs []plan.Run, err error) {
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
func indexedRow(tx *bolt.Tx, index, key []byte) (*plan.Run, error) {
	row, err := getRow(tx, key)
	if err == nil && row == nil {
		err = &CorruptError{Bucket: string(index), Key: hexKey(key), Detail: "index row without a run"}
	}
	return row, err
}

// scanRows is how many rows one transaction of a scan looks at.
const scanRows = 512

// scan walks the best index of a filter from the newest run to older ones.
type scan struct {
	filter Filter
	bucket []byte
	prefix []byte // of the index's keys; the run's key follows
	before []byte // run key: rows are older than it; nil = from the newest
	oldest []byte // run key: rows are not older than it; nil = no bound
}

func newScan(filter Filter) (*scan, error) {
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
	return sc, nil
}

// step returns the next rows that the filter selects, at most wanted; done says
// that there are no more.
func (sc *scan) step(tx *bolt.Tx, wanted int) (runs []plan.Run, done bool, err error) {
	cursor := tx.Bucket(sc.bucket).Cursor()
	key, _ := sc.seek(cursor)
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
		row, err := indexedRow(tx, sc.bucket, run)
		if err != nil {
			return nil, false, err
		}
		if sc.filter.selects(row) {
			runs = append(runs, *row)
		}
		sc.before = bytes.Clone(run)
		key, _ = cursor.Prev()
	}
	return runs, false, nil
}

// seek goes to the newest row that is still to be seen.
func (sc *scan) seek(cursor *bolt.Cursor) (key, value []byte) {
	bound := sc.before
	if bound == nil {
		bound = bytes.Repeat([]byte{0xff}, runKeySize)
	}
	if key, _ := cursor.Seek(join(sc.prefix, bound)); key == nil {
		return cursor.Last()
	}
	return cursor.Prev()
}

func (f Filter) selects(row *plan.Run) bool {
	if f.Workflow != "" && row.Workflow != f.Workflow || f.Status != "" && row.Status != f.Status {
		return false
	}
	for name, value := range f.Labels {
		if got, ok := row.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}
