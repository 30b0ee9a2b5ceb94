package boltstore

import (
	"bytes"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// BucketStats is that of store.File: a bucket in a transaction.
func (s *Store) BucketStats() (stats []store.BucketStat, err error) {
	names, err := s.bucketNames()
	for _, name := range names {
		if err != nil {
			break
		}
		err = s.view(func(tx *bolt.Tx) error {
			b := tx.Bucket(name)
			if b == nil {
				return nil
			}
			of := b.Stats()
			stats = append(stats, store.BucketStat{
				Name: string(name), Keys: of.KeyN,
				Bytes: int64(of.BranchAlloc + of.LeafAlloc + of.InlineBucketInuse),
			})
			return nil
		})
	}
	return stats, err
}

// bucketNames lists the buckets of the file.
func (s *Store) bucketNames() (names [][]byte, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, _ *bolt.Bucket) error {
			names = append(names, bytes.Clone(name))
			return nil
		})
	})
	return names, err
}
