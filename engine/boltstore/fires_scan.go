package boltstore

import (
	"bytes"
	"encoding/base64"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// fireScan walks fires from the newest slot to older ones: those of a trigger in
// their own bucket, those of all in the index.
type fireScan struct {
	bucket []byte
	prefix []byte // of a trigger; nil = the index
	before []byte // the part of the key behind prefix: rows are below it; nil = from the newest
	oldest []byte // slot: rows are not older than it
}

// fireScans returns the walks that a filter takes. Those of a workflow are one
// for each of its triggers.
func (s *Store) fireScans(filter runs.FireFilter) (scans []fireScan, err error) {
	var before, oldest []byte
	if !filter.Until.IsZero() {
		before = slotBytes(filter.Until)
	}
	if !filter.Since.IsZero() {
		oldest = slotBytes(filter.Since)
	}
	cursor, err := fireCursor(filter.Cursor)
	if err != nil {
		return nil, err
	}
	if cursor != nil && (before == nil || bytes.Compare(cursor, before) < 0) {
		before = cursor
	}
	if filter.Workflow == "" {
		return []fireScan{{bucket: bucketFiresBySlot, before: before, oldest: oldest}}, nil
	}
	prefixes, err := s.firePrefixes(filter.Workflow, filter.Trigger)
	for _, prefix := range prefixes {
		scans = append(scans, fireScan{bucket: bucketFires, prefix: prefix, before: beforeIn(prefix, before), oldest: oldest})
	}
	return scans, err
}

// beforeIn is the bound of a walk over one trigger's fires: the bound of the
// index is a slot, or a slot and the trigger that the page ended with. The same
// slot of a trigger behind that one was shown.
func beforeIn(prefix, before []byte) []byte {
	if len(before) <= slotSize {
		return before
	}
	slot := before[:slotSize]
	if bytes.Compare(prefix, before[slotSize:]) < 0 {
		return append(bytes.Clone(slot), 0) // the slot itself is still to come
	}
	return slot
}

// fireCursor reads the cursor of a page: the index key of its last fire.
func fireCursor(text string) ([]byte, error) {
	if text == "" {
		return nil, nil
	}
	key, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && len(key) > slotSize {
		if _, _, rest, ok := splitTrigger(key[slotSize:]); ok && len(rest) == 0 {
			return key, nil
		}
	}
	return nil, fmt.Errorf("cursor %q is not valid", text)
}

// firePrefixes returns the prefix of a trigger, or of each trigger of a workflow
// that has fires.
func (s *Store) firePrefixes(workflow, trigger string) (prefixes [][]byte, err error) {
	if trigger != "" {
		prefix, err := triggerPrefix(workflow, trigger)
		return [][]byte{prefix}, err
	}
	all, err := workflowPrefix(workflow)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		cursor := tx.Bucket(bucketFires).Cursor()
		for key, _ := cursor.Seek(all); bytes.HasPrefix(key, all); {
			_, _, rest, ok := splitTrigger(key)
			if !ok {
				return &store.CorruptError{Bucket: string(bucketFires), Key: hexKey(key), Detail: "not the key of a fire"}
			}
			prefix := bytes.Clone(key[:len(key)-len(rest)])
			prefixes = append(prefixes, prefix)
			key, _ = cursor.Seek(join(prefix, bytes.Repeat([]byte{0xff}, slotSize+1)))
		}
		return nil
	})
	return prefixes, err
}

// runFireScan reads in short transactions, like Runs.
func (s *Store) runFireScan(scan fireScan, wanted int) (fires []runs.Fire, err error) {
	for done := false; !done && len(fires) < wanted; {
		err = s.view(func(tx *bolt.Tx) (err error) {
			fires, done, err = scan.step(tx, fires, wanted)
			return err
		})
		if err != nil {
			return nil, err
		}
	}
	return fires, nil
}

func (f *fireScan) step(tx *bolt.Tx, fires []runs.Fire, wanted int) (_ []runs.Fire, done bool, err error) {
	cursor := tx.Bucket(f.bucket).Cursor()
	key, stored := f.seek(cursor)
	for range scanRows {
		if len(fires) == wanted || key == nil || !bytes.HasPrefix(key, f.prefix) || len(key) < len(f.prefix)+slotSize {
			return fires, true, nil
		}
		rest := key[len(f.prefix):]
		if bytes.Compare(rest[:slotSize], f.oldest) < 0 {
			return fires, true, nil
		}
		at := key
		if f.prefix == nil {
			at = keyOfIndex(key)
			if stored = tx.Bucket(bucketFires).Get(at); stored == nil {
				return nil, false, &store.CorruptError{Bucket: string(bucketFiresBySlot), Key: hexKey(key), Detail: "index row without a fire"}
			}
		}
		fire, err := decodeFire(at, stored)
		if err != nil {
			return nil, false, err
		}
		fires = append(fires, *fire)
		f.before = bytes.Clone(rest)
		key, stored = cursor.Prev()
	}
	return fires, false, nil
}

// seek goes to the newest row that is still to be seen.
func (f *fireScan) seek(cursor *bolt.Cursor) (key, stored []byte) {
	return seekBefore(cursor, f.prefix, f.before, slotSize+1)
}
