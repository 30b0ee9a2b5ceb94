package boltstore

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"time"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Fires lie in the order of their triggers and slots:
//
//	fires          len16 workflow len16 trigger slot64 -> fire
//	fires_by_slot  slot64 len16 workflow len16 trigger -> nothing
//
// A slot counts nanoseconds, with the sign bit turned, so that keys are in the
// order of time.

// slotSize is the length of a slot in a key.
const slotSize = 8

// Fires is that of store.Fires.
func (s *Store) Fires(filter runs.FireFilter) (fires []runs.Fire, next string, err error) {
	scans, err := s.fireScans(filter)
	if err != nil {
		return nil, "", fmt.Errorf("list fires: %w", err)
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	for _, scan := range scans {
		found, err := s.runFireScan(scan, limit+1)
		if err != nil {
			return nil, "", err
		}
		fires = append(fires, found...)
	}
	order.Sort(fires, func(a, b runs.Fire) int { return bytes.Compare(slotIndexOf(b), slotIndexOf(a)) })
	if len(fires) > limit {
		fires = fires[:limit]
		next = base64.RawURLEncoding.EncodeToString(slotIndexOf(fires[limit-1]))
	}
	return fires, next, nil
}

// FiresBetween is that of store.Fires.
func (s *Store) FiresBetween(workflow, trigger string, from, until time.Time, limit int) (fires []runs.Fire, err error) {
	prefix, err := triggerPrefix(workflow, trigger)
	if err != nil {
		return nil, err
	}
	at, end := join(prefix, slotBytes(from)), slotBytes(until)
	for more := true; more; {
		err := s.view(func(tx *bolt.Tx) error {
			more = false
			cursor := tx.Bucket(bucketFires).Cursor()
			key, stored := cursor.Seek(at)
			for rows := 0; bytes.HasPrefix(key, prefix) && bytes.Compare(key[len(prefix):], end) < 0; key, stored = cursor.Next() {
				if limit > 0 && len(fires) == limit {
					return nil
				}
				if rows++; rows > scanRows {
					at, more = bytes.Clone(key), true
					return nil
				}
				fire, err := decodeFire(key, stored)
				if err != nil {
					return err
				}
				fires = append(fires, *fire)
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return fires, nil
}

// Fire is that of store.Fires.
func (s *Store) Fire(workflow, trigger string, slot time.Time) (fire *runs.Fire, err error) {
	key, err := fireKey(workflow, trigger, slot)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		fire, err = getFire(tx, key)
		return err
	})
	return fire, err
}

// PutFires is that of store.Fires. edit runs on the committer's goroutine.
func (s *Store) PutFires(fires []runs.Fire, workflow, trigger string, edit func(*runs.TriggerState)) error {
	rows := make([]fireRow, len(fires))
	size := 0
	for i, fire := range fires {
		if fire.Workflow != workflow || fire.Trigger != trigger {
			return fmt.Errorf("store fires of %s: one is of %s", runs.TriggerID(workflow, trigger), runs.TriggerID(fire.Workflow, fire.Trigger))
		}
		row, err := newFireRow(fire)
		if err != nil {
			return err
		}
		rows[i] = row
		size += len(row.encoded)
	}
	err := s.do(size, func(w *writer) (bool, error) {
		change, err := newStateChange(w.Tx, workflow, trigger, edit)
		if err != nil {
			return false, err
		}
		return change.changes() || len(rows) > 0, inTx(
			func() error { return putNewFires(w, rows) },
			func() error { return change.put(w) },
		)
	})
	if err != nil {
		return fmt.Errorf("store fires of %s: %w", runs.TriggerID(workflow, trigger), err)
	}
	return nil
}

func putNewFires(w *writer, rows []fireRow) error {
	for _, row := range rows {
		if w.Bucket(bucketFires).Get(row.key) != nil {
			continue
		}
		if err := row.put(w); err != nil {
			return err
		}
	}
	return nil
}

// fireRow is a fire with its keys and its stored form.
type fireRow struct{ key, index, encoded []byte }

func newFireRow(fire runs.Fire) (row fireRow, err error) {
	if row.key, err = fireKey(fire.Workflow, fire.Trigger, fire.Slot); err != nil {
		return row, err
	}
	row.index = slotIndexOf(fire)
	if row.encoded, err = json.Marshal(fire); err != nil {
		err = fmt.Errorf("encode fire: %w", err)
	}
	return row, err
}

func (r fireRow) put(w *writer) error {
	if err := w.put(bucketFires, r.key, r.encoded); err != nil {
		return err
	}
	return w.put(bucketFiresBySlot, r.index)
}

func (r fireRow) remove(w *writer) error {
	if err := w.remove(bucketFires, r.key); err != nil {
		return err
	}
	return w.remove(bucketFiresBySlot, r.index)
}

// triggerPrefix is the key of a trigger's state, and what the keys of its fires
// begin with. Both names are length-prefixed, so that none can pass for another.
func triggerPrefix(workflow, trigger string) ([]byte, error) {
	if err := store.CheckTrigger(workflow, trigger); err != nil {
		return nil, err
	}
	prefix, err := workflowPrefix(workflow)
	if err != nil {
		return nil, err
	}
	name, err := workflowPrefix(trigger)
	if err != nil {
		return nil, err
	}
	return append(prefix, name...), nil
}

// splitTrigger returns the names of a key that begins with a trigger's prefix,
// and what follows it.
func splitTrigger(key []byte) (workflow, trigger string, rest []byte, ok bool) {
	workflow, rest, ok = cutName(key)
	if !ok {
		return "", "", nil, false
	}
	trigger, rest, ok = cutName(rest)
	return workflow, trigger, rest, ok
}

func cutName(key []byte) (name string, rest []byte, ok bool) {
	if len(key) < 2 {
		return "", nil, false
	}
	length := int(binary.BigEndian.Uint16(key))
	if len(key) < 2+length {
		return "", nil, false
	}
	return string(key[2 : 2+length]), key[2+length:], true
}

func fireKey(workflow, trigger string, slot time.Time) ([]byte, error) {
	if err := store.CheckSlot(workflow, trigger, slot); err != nil {
		return nil, err
	}
	prefix, err := triggerPrefix(workflow, trigger)
	return join(prefix, slotBytes(slot)), err
}

// slotBytes bounds what a count of nanoseconds can't hold.
func slotBytes(slot time.Time) []byte {
	nanos := slot.UnixNano()
	switch year := slot.UTC().Year(); {
	case year < store.FirstYear:
		nanos = -1 << 63
	case year > store.LastYear:
		nanos = 1<<63 - 1
	}
	return binary.BigEndian.AppendUint64(nil, uint64(nanos)^1<<63)
}

// slotIndexOf is the key of a fire in the order of slots, over all triggers.
func slotIndexOf(fire runs.Fire) []byte {
	prefix, _ := triggerPrefix(fire.Workflow, fire.Trigger) // what is stored has names that fit
	return append(slotBytes(fire.Slot), prefix...)
}

// keyOfIndex is the fire's own key of an index key.
func keyOfIndex(index []byte) []byte {
	return append(bytes.Clone(index[slotSize:]), index[:slotSize]...)
}

func getFire(tx *bolt.Tx, key []byte) (*runs.Fire, error) {
	stored := tx.Bucket(bucketFires).Get(key)
	if stored == nil {
		return nil, nil
	}
	return decodeFire(key, stored)
}

func decodeFire(key, stored []byte) (*runs.Fire, error) {
	payload, err := unseal(bucketFires, key, stored)
	if err != nil {
		return nil, err
	}
	fire := new(runs.Fire)
	if err := json.Unmarshal(payload, fire); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucketFires), Key: hexKey(key), Detail: err.Error()}
	}
	return fire, nil
}
