package boltstore

import (
	"bytes"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// A plan is stored as [0][plan], or as [1][hash of its blob] when it is large.
const (
	planInline byte = 0
	planBlob   byte = 1
)

func cutBytes(data []byte) (stored []byte, blob []byte) {
	if len(data) <= blobThreshold {
		return append([]byte{planInline}, data...), nil
	}
	return append([]byte{planBlob}, hashKey(data)...), data
}

func putPlan(w *writer, key, stored, blob []byte) error {
	if w.Bucket(bucketPlans).Get(key) != nil {
		return nil
	}
	if blob != nil {
		if err := putBlob(w, noRun(), largeBlob{hashKey(blob), blob}); err != nil {
			return err
		}
	}
	return w.put(bucketPlans, key, stored)
}

// Plan is that of store.Journal.
func (s *Store) Plan(hash string) (data []byte, err error) {
	key, ok := decodeHash(hash)
	if !ok {
		return nil, fmt.Errorf("plan %q: %w", hash, store.ErrPlanNotFound)
	}
	err = s.view(func(tx *bolt.Tx) error {
		stored, err := getSealed(tx.Bucket(bucketPlans), bucketPlans, key)
		switch {
		case err != nil:
			return err
		case len(stored) == 0:
			return fmt.Errorf("plan %s: %w", hash, store.ErrPlanNotFound)
		case stored[0] == planBlob:
			blob, err := getBlob(tx, stored[1:])
			data = bytes.Clone(blob)
			return err
		}
		data = bytes.Clone(stored[1:])
		return nil
	})
	return data, err
}
