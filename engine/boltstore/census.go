package boltstore

import (
	"bytes"
	"encoding/binary"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Census is that of store.Totals. It counts index rows, without reading the runs themselves.
func (s *Store) Census() (census store.Census, err error) {
	census.Runs = map[runs.Status]int{}
	err = s.view(func(tx *bolt.Tx) error {
		version, err := getSealed(tx.Bucket(bucketMeta), bucketMeta, keySchemaVersion)
		if err != nil {
			return err
		}
		if len(version) == 8 {
			census.Schema = binary.BigEndian.Uint64(version)
		}
		if key, _ := tx.Bucket(bucketRuns).Cursor().First(); len(key) == runKeySize {
			census.Oldest = runID(key)
		}
		return tx.Bucket(bucketByStatus).ForEach(func(key, _ []byte) error {
			status, _, ok := bytes.Cut(key, []byte{0})
			if ok {
				census.Runs[runs.Status(status)]++
			}
			return nil
		})
	})
	return census, err
}
