package boltstore

import (
	"bytes"
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// maxMemoryKey bounds the key of a state value or cursor. Keys of bbolt end at
// 32 KiB.
const maxMemoryKey = 8 << 10

// State is that of store.Memory.
func (s *Store) State(workflow string) (values []runs.StateValue, err error) {
	prefix, err := workflowPrefix(workflow)
	if err != nil {
		return nil, err
	}
	return s.listMemory(bucketState, prefix)
}

// Cursors is that of store.Memory.
func (s *Store) Cursors(workflow, name string) ([]runs.StateValue, error) {
	prefix := ""
	if workflow != "" {
		prefix = runs.CursorPrefix(workflow, name)
	}
	return s.listMemory(bucketCursors, []byte(prefix))
}

func (s *Store) listMemory(bucket, prefix []byte) (values []runs.StateValue, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucket).Cursor()
		for key, stored := cursor.Seek(prefix); key != nil && bytes.HasPrefix(key, prefix); key, stored = cursor.Next() {
			value, err := decodeMemory(bucket, key, stored)
			if err != nil {
				return err
			}
			values = append(values, *value)
		}
		return nil
	})
	return values, err
}

// Cursor is that of store.Memory.
func (s *Store) Cursor(key string) (value *runs.StateValue, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		value, err = getMemory(tx, bucketCursors, []byte(key))
		return err
	})
	return value, err
}

// History is that of store.Changes.
func (s *Store) History(workflow, name, key string) (changes []runs.StateChange, err error) {
	bucket, at, err := memoryKey(workflow, name, key)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		changes, err = getHistory(tx, bucket, at)
		return err
	})
	return changes, err
}

// CursorKeys is that of store.Changes.
func (s *Store) CursorKeys(workflow, name string) (keys []string, err error) {
	prefix := historyKey(bucketCursors, []byte(runs.CursorPrefix(workflow, name)))
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketStateHistory).Cursor()
		for key, _ := cursor.Seek(prefix); bytes.HasPrefix(key, prefix); key, _ = cursor.Next() {
			keys = append(keys, string(key[len(bucketCursors)+1:]))
		}
		return nil
	})
	return keys, err
}

// Change is that of store.Changes.
func (s *Store) Change(c store.Change) (version uint64, err error) {
	bucket, key, err := memoryKey(c.Workflow, c.Name, c.Key)
	if err != nil {
		return 0, err
	}
	value := runs.StateValue{Workflow: c.Workflow, Name: c.Name, Key: c.Key, Value: c.Value, At: c.At, By: c.By}
	err = s.do(len(c.Value), func(w *writer) (bool, error) {
		if c.Value == nil && w.Bucket(bucket).Get(key) == nil {
			return false, nil
		}
		return true, inTx(func() (err error) {
			version, err = putMemory(w, bucket, key, value)
			return err
		})
	})
	if err != nil {
		return 0, fmt.Errorf("change %s of workflow %s: %w", c.Name, c.Workflow, err)
	}
	return version, nil
}

func memoryKey(workflow, name, cursor string) (bucket, key []byte, err error) {
	bucket, key = bucketCursors, []byte(cursor)
	if cursor == "" {
		prefix, err := workflowPrefix(workflow)
		if err != nil {
			return nil, nil, err
		}
		bucket, key = bucketState, join(prefix, []byte(name))
	}
	if len(key) > maxMemoryKey {
		return nil, nil, fmt.Errorf("name of %d bytes is too long", len(key))
	}
	return bucket, key, nil
}

func decodeMemory(bucket, key, stored []byte) (*runs.StateValue, error) {
	payload, err := unseal(bucket, key, stored)
	if err != nil {
		return nil, err
	}
	value := new(runs.StateValue)
	if err := json.Unmarshal(payload, value); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucket), Key: hexKey(key), Detail: err.Error()}
	}
	return value, nil
}

func getMemory(tx *bolt.Tx, bucket, key []byte) (*runs.StateValue, error) {
	stored := tx.Bucket(bucket).Get(key)
	if stored == nil {
		return nil, nil
	}
	return decodeMemory(bucket, key, stored)
}

// putMemory writes a value, or removes it when it is nil, with its entry in the
// history. A version is never used twice.
func putMemory(w *writer, bucket, key []byte, value runs.StateValue) (uint64, error) {
	change := runs.StateChange{At: value.At, By: value.By, Run: value.Run, Value: value.Value}
	if value.Value == nil {
		if err := w.remove(bucket, key); err != nil {
			return 0, err
		}
		return 0, putHistory(w, bucket, key, change)
	}
	version, err := w.next(bucket)
	if err != nil {
		return 0, err
	}
	value.Version, change.Version = version, version
	encoded, err := json.Marshal(value)
	if err != nil {
		return 0, err
	}
	if err := w.put(bucket, key, encoded); err != nil {
		return 0, err
	}
	return version, putHistory(w, bucket, key, change)
}

// historyKey is the key of a value's history.
func historyKey(bucket, key []byte) []byte {
	return append(append(bytes.Clone(bucket), 0), key...)
}

func getHistory(tx *bolt.Tx, bucket, key []byte) (changes []runs.StateChange, err error) {
	at := historyKey(bucket, key)
	stored, err := getSealed(tx.Bucket(bucketStateHistory), bucketStateHistory, at)
	if err != nil || stored == nil {
		return nil, err
	}
	if err := json.Unmarshal(stored, &changes); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucketStateHistory), Key: hexKey(at), Detail: err.Error()}
	}
	return changes, nil
}

func putHistory(w *writer, bucket, key []byte, change runs.StateChange) error {
	changes, err := getHistory(w.Tx, bucket, key)
	if err != nil {
		return err
	}
	encoded, err := json.Marshal(store.AddChange(changes, change))
	if err != nil {
		return err
	}
	return w.put(bucketStateHistory, historyKey(bucket, key), encoded)
}

// keep is what the success of a run changes, with where it is kept.
type keep struct {
	store.Write
	bucket, key []byte
}

// keepsOf returns the writes of the records of a run, when all is still as the
// run read it; else a *journal.MovedError.
func keepsOf(tx *bolt.Tx, run []byte, records []*journal.Record) (keeps []keep, err error) {
	if !store.Keeps(records) {
		return nil, nil
	}
	row, err := getRow(tx, run)
	if err != nil {
		return nil, err
	}
	for _, write := range store.WritesOf(row.ID, row.Workflow, records) {
		k := keep{Write: write}
		if k.bucket, k.key, err = memoryKey(write.Value.Workflow, write.Value.Name, write.Value.Key); err != nil {
			return nil, err
		}
		stored, err := getMemory(tx, k.bucket, k.key)
		if err != nil {
			return nil, err
		}
		if err := write.Moved(stored); err != nil {
			return nil, err
		}
		keeps = append(keeps, k)
	}
	return keeps, nil
}

// putKeeps writes what changed.
func putKeeps(w *writer, keeps []keep) error {
	for _, k := range keeps {
		stored, err := getMemory(w.Tx, k.bucket, k.key)
		if err != nil {
			return err
		}
		if k.Stays(stored) {
			continue
		}
		if _, err := putMemory(w, k.bucket, k.key, k.Value); err != nil {
			return err
		}
	}
	return nil
}
