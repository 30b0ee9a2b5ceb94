package boltstore

import (
	"encoding/binary"
	"fmt"
	"maps"
	"slices"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/plan"
)

// labelPrefix is length-prefixed like that of workflows: name, then value.
func labelPrefix(name, value string) ([]byte, error) {
	if len(name) > 1<<11 || len(value) > 1<<11 {
		return nil, fmt.Errorf("label of %d bytes is too long", len(name)+len(value))
	}
	prefix := append(binary.BigEndian.AppendUint16(nil, uint16(len(name))), name...)
	return append(binary.BigEndian.AppendUint16(prefix, uint16(len(value))), value...), nil
}

// indexLabels writes the index rows of a new run: labels never change.
func (c *rowChange) indexLabels(tx *bolt.Tx) error {
	if c.old != nil {
		return nil
	}
	return putLabels(tx, c.row, c.key)
}

func putLabels(tx *bolt.Tx, row *plan.Run, run []byte) error {
	for _, name := range slices.Sorted(maps.Keys(row.Labels)) {
		prefix, err := labelPrefix(name, row.Labels[name])
		if err != nil {
			return err
		}
		if err := putSealed(tx.Bucket(bucketByLabel), bucketByLabel, join(prefix, run)); err != nil {
			return err
		}
	}
	return nil
}

// addBuckets makes what an older program did not know: its stores have no
// state, and their labels are indexed now. One transaction.
func (s *Store) addBuckets() error {
	missing := false
	err := s.view(func(tx *bolt.Tx) error {
		for _, name := range laterBuckets() {
			missing = missing || tx.Bucket(name) == nil
		}
		return nil
	})
	if err != nil || !missing {
		return err
	}
	return s.db.Update(func(tx *bolt.Tx) error {
		labels := tx.Bucket(bucketByLabel) == nil
		for _, name := range laterBuckets() {
			if _, err := tx.CreateBucketIfNotExists(name); err != nil {
				return fmt.Errorf("create bucket %s: %w", name, err)
			}
		}
		if !labels {
			return nil
		}
		return tx.Bucket(bucketRuns).ForEach(func(key, value []byte) error {
			stored, err := unseal(bucketRuns, key, value)
			if err != nil {
				return nil // told by whoever reads the run
			}
			row, err := decodeRow(key, stored)
			if err != nil {
				return nil
			}
			return putLabels(tx, row, key)
		})
	})
}
