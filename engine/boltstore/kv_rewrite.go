package boltstore

import (
	"bytes"
	"encoding/binary"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
)

// rewriteBytes bounds what one Rewrite puts into its transaction.
const rewriteBytes = 1 << 20

// kvRewrite is a row with its new value and the version that it keeps.
type kvRewrite struct {
	key, value []byte
	version    uint64
}

// Rewrite is that of store.KV. change runs on the committer's goroutine.
func (kv *kvRows) Rewrite(bucket, after string, limit int, change func(key string, value []byte) ([]byte, error)) (last string, rewritten int, err error) {
	err = kv.store.do(rewriteBytes, func(w *writer) (bool, error) {
		var rows []kvRewrite
		if rows, last, err = changedRows(w.Tx, bucket, after, limit, change); err != nil || len(rows) == 0 {
			return false, err
		}
		rewritten = len(rows)
		b := w.Bucket(bucketKV).Bucket([]byte(bucket))
		at := newLocation(string(bucketKV), kvName(bucket))
		return true, inTx(func() error {
			for _, row := range rows {
				if err := w.putIn(b, &at, row.key, binary.BigEndian.AppendUint64(nil, row.version), row.value); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return "", 0, fmt.Errorf("rewrite %s: %w", bucket, err)
	}
	return last, rewritten, nil
}

// changedRows collects first: a bucket must not change under its cursor.
func changedRows(tx *bolt.Tx, bucket, after string, limit int, change func(key string, value []byte) ([]byte, error)) (rows []kvRewrite, last string, err error) {
	b := tx.Bucket(bucketKV).Bucket([]byte(bucket))
	if b == nil {
		return nil, "", nil
	}
	cursor := b.Cursor()
	key, _ := cursor.Seek([]byte(after))
	if after != "" && bytes.Equal(key, []byte(after)) {
		key, _ = cursor.Next()
	}
	for seen, size := 0, 0; key != nil; key, _ = cursor.Next() {
		if seen == limit || size >= rewriteBytes {
			return rows, last, nil
		}
		value, version, _, err := getKV(tx, bucket, string(key))
		if err != nil {
			return nil, "", err
		}
		changed, err := change(string(key), bytes.Clone(value))
		if err != nil {
			return nil, "", err
		}
		if changed != nil {
			rows = append(rows, kvRewrite{key: bytes.Clone(key), value: changed, version: version})
			size += len(changed)
		}
		last = string(key)
		seen++
	}
	return rows, "", nil
}

// removeAtOnce bounds what one DeleteBefore takes out in its transaction.
const removeAtOnce = 10_000

// DeleteBefore is that of store.KV.
func (kv *kvRows) DeleteBefore(bucket, key string) error {
	err := kv.store.do(0, func(w *writer) (bool, error) {
		b := w.Bucket(bucketKV).Bucket([]byte(bucket))
		if b == nil {
			return false, nil
		}
		var old [][]byte // first: a bucket must not change under its cursor
		cursor := b.Cursor()
		for k, _ := cursor.First(); k != nil && string(k) < key && len(old) < removeAtOnce; k, _ = cursor.Next() {
			old = append(old, bytes.Clone(k))
		}
		if len(old) == 0 {
			return false, nil
		}
		at := newLocation(string(bucketKV), kvName(bucket))
		return true, inTx(func() error {
			for _, k := range old {
				if err := w.removeFrom(b, &at, k); err != nil {
					return err
				}
			}
			return nil
		})
	})
	if err != nil {
		return fmt.Errorf("delete from %s: %w", bucket, err)
	}
	return nil
}
