package boltstore

import (
	"bytes"
	"errors"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// A peek is a look at a store file that no engine has open, for who may get no answer but
// must not wait: it takes the lock at once or not at all, and reads no long file that was
// not closed well.

// mostUnsealed is how long a file may be of which all is read first.
const mostUnsealed = 16 << 20

// errTooLong says that a peek would take too long.
var errTooLong = errors.New("the store was not closed well, and is too long to be read at once")

func peek(path string, o Options, read func(*bolt.Tx) error) error {
	o.Timeout = -1 // not even the time of a second try
	return readFileOf(path, o, mostUnsealed, read)
}

// PeekRuns returns the runs that a filter selects, the newest first, in one transaction:
// at most scanRows rows, or suffixRows ids, are looked at.
func PeekRuns(path string, o Options, filter runs.Filter) (found []runs.Run, err error) {
	scan, err := newScan(filter)
	if err != nil {
		return nil, err
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	err = peek(path, o, func(tx *bolt.Tx) error {
		for done := false; !done && len(found) < limit; {
			var part []runs.Run
			if part, done, err = scan.step(tx, limit-len(found)); err != nil {
				return err
			}
			found = append(found, part...)
			done = done || filter.IDSuffix == "" || scan.spent()
		}
		return nil
	})
	return found, err
}

// PeekRun returns the row of a run, its plan as it is stored, nil for a large one, and the
// first of its records. store.ErrRunNotFound.
func PeekRun(path string, o Options, id string, records int) (row *runs.Run, plan []byte, first []*journal.Record, err error) {
	key, err := runKey(id)
	if err != nil {
		return nil, nil, nil, err
	}
	err = peek(path, o, func(tx *bolt.Tx) error {
		if row, err = getRow(tx, key); err != nil {
			return err
		}
		if row == nil {
			return store.ErrRunNotFound
		}
		if hash, ok := decodeHash(row.PlanHash); ok {
			stored, err := getSealed(tx.Bucket(bucketPlans), bucketPlans, hash)
			if err != nil {
				return err
			}
			if len(stored) > 0 && stored[0] == planInline {
				plan = bytes.Clone(stored[1:])
			}
		}
		part, _, err := readRecords(tx, key, 1, records)
		if err != nil {
			return err
		}
		for i := range part {
			record, err := part[i].decode()
			if err != nil {
				return err
			}
			first = append(first, record)
		}
		return nil
	})
	return row, plan, first, err
}

// PeekNames returns the keys of a bucket of rows, at most limit.
func PeekNames(path string, o Options, bucket string, limit int) (names []string, err error) {
	err = peek(path, o, func(tx *bolt.Tx) error {
		rows := tx.Bucket(bucketKV).Bucket([]byte(bucket))
		if rows == nil {
			return nil
		}
		cursor := rows.Cursor()
		for key, _ := cursor.First(); key != nil && len(names) < limit; key, _ = cursor.Next() {
			names = append(names, string(key))
		}
		return nil
	})
	return names, err
}
