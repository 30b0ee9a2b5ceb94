package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/store"
)

// kvRows are the rows for others. Safe for concurrent use.
type kvRows struct{ store *Store }

// KV returns the store's rows for others.
func (s *Store) KV() store.KV { return &kvRows{s} }

// Get is that of store.KV.
func (kv *kvRows) Get(bucket, key string) (value []byte, version uint64, exists bool, err error) {
	err = kv.store.view(func(tx *bolt.Tx) error {
		stored, at, ok, err := getKV(tx, bucket, key)
		value, version, exists = bytes.Clone(stored), at, ok
		return err
	})
	if err != nil {
		return nil, 0, false, err
	}
	return value, version, exists, nil
}

// Put is that of store.KV.
func (kv *kvRows) Put(bucket, key string, value []byte, ifVersion *uint64) (version uint64, err error) {
	if err := store.CheckRow(bucket, key, value); err != nil {
		return 0, err
	}
	value = bytes.Clone(value)
	err = kv.store.do(len(value), func(w *writer) (bool, error) {
		if err := matchKV(w.Tx, bucket, key, ifVersion); err != nil {
			return false, err
		}
		return true, inTx(func() (err error) {
			version, err = putKV(w, bucket, key, value)
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("put %s: %w", bucket, err)
	}
	return version, nil
}

// Delete is that of store.KV.
func (kv *kvRows) Delete(bucket, key string, ifVersion *uint64) error {
	err := kv.store.do(0, func(w *writer) (bool, error) {
		if err := matchKV(w.Tx, bucket, key, ifVersion); err != nil {
			return false, err
		}
		b := w.Bucket(bucketKV).Bucket([]byte(bucket))
		if b == nil || b.Get([]byte(key)) == nil {
			return false, nil
		}
		at := newLocation(string(bucketKV), kvName(bucket))
		return true, inTx(func() error { return w.removeFrom(b, &at, []byte(key)) })
	})
	if err != nil {
		return fmt.Errorf("delete from %s: %w", bucket, err)
	}
	return nil
}

// List is that of store.KV.
func (kv *kvRows) List(bucket, prefix string) (keys []string, err error) {
	err = kv.each(bucket, prefix, func(key, _ []byte) { keys = append(keys, string(key)) })
	return keys, err
}

// Sizes is that of store.KV.
func (kv *kvRows) Sizes(bucket, prefix string) (sizes []store.KVSize, err error) {
	err = kv.each(bucket, prefix, func(key, value []byte) {
		sizes = append(sizes, store.KVSize{Key: string(key), Bytes: int64(len(key) + len(value))})
	})
	return sizes, err
}

// each visits the rows whose keys begin with prefix, in order.
func (kv *kvRows) each(bucket, prefix string, visit func(key, value []byte)) error {
	return kv.store.view(func(tx *bolt.Tx) error {
		b := tx.Bucket(bucketKV).Bucket([]byte(bucket))
		if b == nil {
			return nil
		}
		cursor := b.Cursor()
		for key, value := cursor.Seek([]byte(prefix)); bytes.HasPrefix(key, []byte(prefix)) && key != nil; key, value = cursor.Next() {
			visit(key, value)
		}
		return nil
	})
}

// kvName is what the checksum of a row covers besides its key: a row that is
// found in another bucket is damaged.
func kvName(bucket string) []byte { return []byte("kv/" + bucket) }

func getKV(tx *bolt.Tx, bucket, key string) (value []byte, version uint64, ok bool, err error) {
	b := tx.Bucket(bucketKV).Bucket([]byte(bucket))
	if b == nil || key == "" {
		return nil, 0, false, nil
	}
	stored, err := getSealed(b, kvName(bucket), []byte(key))
	if err != nil || stored == nil {
		return nil, 0, false, err
	}
	if len(stored) < 8 {
		return nil, 0, false, &store.CorruptError{Bucket: string(kvName(bucket)), Key: hexKey([]byte(key)), Detail: "no version"}
	}
	return stored[8:], binary.BigEndian.Uint64(stored), true, nil
}

func matchKV(tx *bolt.Tx, bucket, key string, ifVersion *uint64) error {
	if ifVersion == nil {
		return nil
	}
	_, version, _, err := getKV(tx, bucket, key)
	if err != nil {
		return err
	}
	if version != *ifVersion {
		return fmt.Errorf("version is %d, not %d: %w", version, *ifVersion, store.ErrConflict)
	}
	return nil
}

func putKV(w *writer, bucket, key string, value []byte) (uint64, error) {
	b, err := w.Bucket(bucketKV).CreateBucketIfNotExists([]byte(bucket))
	if err != nil {
		return 0, err
	}
	at := newLocation(string(bucketKV), kvName(bucket))
	version, err := w.nextOf(b, &at)
	if err != nil {
		return 0, err
	}
	return version, w.putIn(b, &at, []byte(key), binary.BigEndian.AppendUint64(nil, version), value)
}
