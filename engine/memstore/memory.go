package memstore

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// memoryKey names a state value, or a cursor by its key alone.
type memoryKey struct{ workflow, name, cursor string }

func keyOf(value runs.StateValue) memoryKey {
	if value.Key != "" {
		return memoryKey{cursor: value.Key}
	}
	return memoryKey{workflow: value.Workflow, name: value.Name}
}

func (d *data) value(key memoryKey) (runs.StateValue, bool) {
	value, ok := d.values[key]
	return value, ok
}

// putValue writes a value, or removes it when it is nil, with its entry in the history.
func (t *tx) putValue(value runs.StateValue) (version uint64) {
	key := keyOf(value)
	change := runs.StateChange{At: value.At, By: value.By, Run: value.Run, Value: value.Value}
	if value.Value == nil {
		delete(t.values, key)
	} else {
		t.version++
		value.Version, change.Version = t.version, t.version
		t.values[key] = clone(value)
	}
	t.history[key] = store.AddChange(t.history[key], clone(change))
	t.wrote = true
	return change.Version
}

// listed returns the values that a filter selects, in the order of their keys.
func (s *Store) listed(selects func(key memoryKey, value runs.StateValue) bool) (values []runs.StateValue, err error) {
	err = s.view(func(d *data) error {
		for key, value := range d.values {
			if selects(key, value) {
				values = append(values, clone(value))
			}
		}
		return nil
	})
	slices.SortFunc(values, func(a, b runs.StateValue) int { return cmp.Or(cmp.Compare(a.Key, b.Key), cmp.Compare(a.Name, b.Name)) })
	return values, err
}

// State is that of store.Memory.
func (s *Store) State(workflow string) ([]runs.StateValue, error) {
	return s.listed(func(key memoryKey, _ runs.StateValue) bool { return key.cursor == "" && key.workflow == workflow })
}

// Cursor is that of store.Memory.
func (s *Store) Cursor(key string) (value *runs.StateValue, err error) {
	err = s.view(func(d *data) error {
		value = pointer(d.value(memoryKey{cursor: key}))
		return nil
	})
	return value, err
}

// Cursors is that of store.Memory.
func (s *Store) Cursors(workflow, name string) ([]runs.StateValue, error) {
	prefix := ""
	if workflow != "" {
		prefix = runs.CursorPrefix(workflow, name)
	}
	return s.listed(func(key memoryKey, _ runs.StateValue) bool {
		return key.cursor != "" && strings.HasPrefix(key.cursor, prefix)
	})
}

// Change is that of store.Changes.
func (s *Store) Change(c store.Change) (version uint64, err error) {
	value := runs.StateValue{Workflow: c.Workflow, Name: c.Name, Key: c.Key, Value: c.Value, At: c.At, By: c.By}
	err = s.update(func(t *tx) error {
		if _, ok := t.value(keyOf(value)); ok || c.Value != nil {
			version = t.putValue(value)
		}
		return nil
	})
	return version, err
}

// History is that of store.Changes.
func (s *Store) History(workflow, name, key string) (changes []runs.StateChange, err error) {
	err = s.view(func(d *data) error {
		changes = clone(d.history[keyOf(runs.StateValue{Workflow: workflow, Name: name, Key: key})])
		return nil
	})
	return changes, err
}

// CursorKeys is that of store.Changes.
func (s *Store) CursorKeys(workflow, name string) (keys []string, err error) {
	err = s.view(func(d *data) error {
		for key := range d.history {
			if key.cursor != "" && strings.HasPrefix(key.cursor, runs.CursorPrefix(workflow, name)) {
				keys = append(keys, key.cursor)
			}
		}
		return nil
	})
	slices.Sort(keys)
	return keys, err
}

// slotRuns returns the runs that have a place of a key, and those that wait for one, by
// their ids.
func (d *data) slotRuns(key string) (held, queued []string) {
	for _, id := range slices.Sorted(maps.Keys(d.runs)) {
		row := &d.runs[id].row
		switch state := row.StateOf(); {
		case state == runs.SlotFree || row.Slot.Key != key:
		case state == runs.SlotQueued:
			queued = append(queued, id)
		default:
			held = append(held, id)
		}
	}
	return held, queued
}

// SlotRuns is that of store.Slots.
func (s *Store) SlotRuns(key string) (held, queued []string, err error) {
	err = s.view(func(d *data) error {
		held, queued = d.slotRuns(key)
		return nil
	})
	return held, queued, err
}

// AdmitNext is that of store.Slots.
func (s *Store) AdmitNext(key string) (row *runs.Run, err error) {
	err = s.update(func(t *tx) error {
		held, queued := t.slotRuns(key)
		if len(queued) == 0 || len(held) >= t.runs[queued[0]].row.Slot.Limit {
			return nil
		}
		row = t.queue(t.runs[queued[0]], len(held), 0, func(*runs.Run) {})
		return nil
	})
	return row, err
}

// TakeSlot is that of store.Slots.
func (s *Store) TakeSlot(id string, goOn runs.GoOn) (row *runs.Run, err error) {
	err = s.update(func(t *tx) error {
		r, err := t.run(id)
		if err != nil {
			return fmt.Errorf("take a place: %w", err)
		}
		if r.row.Slot == nil || r.row.StateOf() != runs.SlotFree {
			row = pointer(r.row, true)
			return nil
		}
		held, queued := t.slotRuns(r.row.Slot.Key)
		row = t.queue(r, len(held), len(queued), func(row *runs.Run) { store.Reopen(row, goOn) })
		return nil
	})
	return row, err
}

// queue gives a run its place, or lets it wait, and returns its new row.
func (t *tx) queue(r *run, held, queued int, before func(row *runs.Run)) *runs.Run {
	old, row := r.row, clone(r.row)
	before(&row)
	store.Queue(&row, held, queued)
	t.put(r, &old, row)
	return pointer(row, true)
}
