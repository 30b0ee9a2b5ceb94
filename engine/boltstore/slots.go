package boltstore

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// The index of places under `concurrency`: len16 key, then whether the run holds
// its place or waits, then the run. Runs wait in the order of their ids, which is
// that of their acceptance.
const (
	slotHeld   byte = 'h'
	slotQueued byte = 'q'
)

func slotPrefix(key string, state byte) ([]byte, error) {
	if key == "" || len(key) > 1<<12 {
		return nil, fmt.Errorf("concurrency key of %d bytes", len(key))
	}
	prefix := append(binary.BigEndian.AppendUint16(nil, uint16(len(key))), key...)
	return append(prefix, state), nil
}

// slotIndexKey returns the index row of a run's place; nil when it has none.
func slotIndexKey(row *runs.Run, run []byte) ([]byte, error) {
	if row == nil || row.StateOf() == runs.SlotFree {
		return nil, nil
	}
	state := slotHeld
	if row.Slot.State == runs.SlotQueued {
		state = slotQueued
	}
	prefix, err := slotPrefix(row.Slot.Key, state)
	return join(prefix, run), err
}

func (c *rowChange) indexSlot(w *writer) error {
	before, err := slotIndexKey(c.old, c.key)
	if err != nil {
		return err
	}
	after, err := slotIndexKey(c.row, c.key)
	if err != nil || bytes.Equal(before, after) {
		return err
	}
	if before != nil {
		if err := w.remove(bucketSlots, before); err != nil {
			return err
		}
	}
	if after == nil {
		return nil
	}
	return w.put(bucketSlots, after)
}

// slotRuns returns the runs that hold a place of a key, or wait for one, oldest
// first, at most limit (0 = all).
func slotRuns(tx *bolt.Tx, key string, state byte, limit int) (runs [][]byte, err error) {
	prefix, err := slotPrefix(key, state)
	if err != nil {
		return nil, err
	}
	cursor := tx.Bucket(bucketSlots).Cursor()
	for at, _ := cursor.Seek(prefix); bytes.HasPrefix(at, prefix) && (limit == 0 || len(runs) < limit); at, _ = cursor.Next() {
		if len(at) == len(prefix)+runKeySize {
			runs = append(runs, bytes.Clone(at[len(prefix):]))
		}
	}
	return runs, nil
}

// admit decides on the place of a run in the transaction that stores its row: it
// has one when one is free and nobody waits before it.
func (c *rowChange) admit(tx *bolt.Tx) error {
	slot := c.row.Slot
	held, err := slotRuns(tx, slot.Key, slotHeld, slot.Limit)
	if err != nil {
		return err
	}
	waiting, err := slotRuns(tx, slot.Key, slotQueued, 1)
	if err != nil {
		return err
	}
	store.Queue(c.row, len(held), len(waiting))
	return c.encode()
}

func (c *rowChange) encode() (err error) {
	if c.encoded, err = json.Marshal(c.row); err != nil {
		err = fmt.Errorf("encode row: %w", err)
	}
	return err
}

// SlotRuns is that of store.Slots.
func (s *Store) SlotRuns(key string) (held, queued []string, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		for _, part := range []struct {
			state byte
			into  *[]string
		}{{slotHeld, &held}, {slotQueued, &queued}} {
			runs, err := slotRuns(tx, key, part.state, 0)
			if err != nil {
				return err
			}
			for _, run := range runs {
				*part.into = append(*part.into, runID(run))
			}
		}
		return nil
	})
	return held, queued, err
}

// AdmitNext is that of store.Slots.
func (s *Store) AdmitNext(key string) (row *runs.Run, err error) {
	err = s.do(0, func(w *writer) (bool, error) {
		tx := w.Tx
		waiting, err := slotRuns(tx, key, slotQueued, 1)
		if err != nil || len(waiting) == 0 {
			return false, err
		}
		run, err := indexedRow(tx, bucketSlots, waiting[0])
		if err != nil {
			return false, err
		}
		held, err := slotRuns(tx, key, slotHeld, run.Slot.Limit)
		if err != nil || len(held) >= run.Slot.Limit {
			return false, err
		}
		change, err := newRowChange(waiting[0], clone(run))
		if err != nil {
			return false, err
		}
		change.old = run
		store.Queue(change.row, len(held), 0)
		if err := change.encode(); err != nil {
			return false, err
		}
		row = change.row
		return true, inTx(func() error { return change.put(w) })
	})
	if err != nil {
		return nil, fmt.Errorf("give a place of %q: %w", key, err)
	}
	return row, nil
}

// TakeSlot is that of store.Slots.
func (s *Store) TakeSlot(runID string, goOn runs.GoOn) (row *runs.Run, err error) {
	key, err := runKey(runID)
	if err != nil {
		return nil, err
	}
	err = s.do(0, func(w *writer) (bool, error) {
		tx := w.Tx
		stored, err := getRow(tx, key)
		if err != nil {
			return false, err
		}
		if stored == nil {
			return false, fmt.Errorf("run %s: %w", runID, store.ErrRunNotFound)
		}
		if row = stored; stored.Slot == nil || stored.StateOf() != runs.SlotFree {
			return false, nil
		}
		change, err := newRowChange(key, clone(stored))
		if err != nil {
			return false, err
		}
		change.old = stored
		store.Reopen(change.row, goOn)
		if err := change.admit(tx); err != nil {
			return false, err
		}
		row = change.row
		return true, inTx(func() error { return change.put(w) })
	})
	if err != nil {
		return nil, fmt.Errorf("take a place for run %s: %w", runID, err)
	}
	return row, nil
}
