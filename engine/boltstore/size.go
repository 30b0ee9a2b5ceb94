package boltstore

import (
	"bytes"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// JournalBytes is that of store.Journal.
func (s *Store) JournalBytes(runID string) (records, logs int64, err error) {
	run, err := runKey(runID)
	if err != nil {
		return 0, 0, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		if tx.Bucket(bucketRuns).Get(run) == nil {
			return fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
		}
		logs = logBytes(tx, run)
		records, err = recordBytes(tx, run)
		return err
	})
	return records, logs, err
}

// recordBytes reads the head of each record alone: what it holds stays where it is.
func recordBytes(tx *bolt.Tx, run []byte) (total int64, err error) {
	blobs := tx.Bucket(bucketBlobs)
	cursor := tx.Bucket(bucketJournal).Cursor()
	for key, value := cursor.Seek(run); bytes.HasPrefix(key, run); key, value = cursor.Next() {
		total += int64(len(value))
		if len(value) <= sealHeader || value[sealHeader] == 0 {
			continue // no cut list
		}
		cuts, _, err := splitRecord(key, value[sealHeader:])
		if err != nil {
			return 0, err
		}
		total += bytesOfCuts(blobs, cuts)
	}
	return total, nil
}

// bytesOfCuts is what the large values of a record take.
func bytesOfCuts(blobs *bolt.Bucket, cuts []cut) (total int64) {
	for _, c := range cuts {
		keys, _ := c.blobs()
		for _, key := range keys {
			value := blobs.Get(key)
			total += int64(len(value))
			giveBack(value) // the head that was read brought its neighbours
		}
	}
	return total
}

func logBytes(tx *bolt.Tx, run []byte) (total int64) {
	cursor := tx.Bucket(bucketLogs).Cursor()
	for key, value := cursor.Seek(run); bytes.HasPrefix(key, run); key, value = cursor.Next() {
		total += int64(len(value))
	}
	return total
}
