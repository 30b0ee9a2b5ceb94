package memstore

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

type triggerKey struct{ workflow, trigger string }

// fireKey names a fire; its cursor too.
type fireKey struct {
	Workflow, Trigger string
	Slot              int64 // in nanoseconds
}

func keyOfFire(f *runs.Fire) fireKey { return fireKey{f.Workflow, f.Trigger, f.Slot.UnixNano()} }

// newest is the order of lists.
func newest(a, b fireKey) int {
	return cmp.Or(cmp.Compare(b.Slot, a.Slot), cmp.Compare(b.Workflow, a.Workflow), cmp.Compare(b.Trigger, a.Trigger))
}

// admitFire finds the row of a new run's fire, which others than schedules move on.
func (d *data) admitFire(fire *runs.Fire) (existing string, err error) {
	if fire == nil {
		return "", nil
	}
	for {
		stored, ok := d.fires[keyOfFire(fire)]
		existing, free, err := store.AdmitFire(fire, pointer(stored, ok))
		if err != nil || existing != "" || free {
			return existing, err
		}
	}
}

func (d *data) firedRun(fire *runs.Fire) string {
	if fire == nil || !fire.Kind.Scheduled() {
		return ""
	}
	return d.fires[keyOfFire(fire)].Run
}

// putFire stores the fire of a new run, with the state of its trigger.
func (t *tx) putFire(fire *runs.Fire) {
	if fire == nil {
		return
	}
	t.fires[keyOfFire(fire)] = clone(*fire)
	if edit := store.Fired(fire, 0); edit != nil {
		t.edit(fire.Workflow, fire.Trigger, edit)
	}
}

// Fires is that of store.Fires.
func (s *Store) Fires(filter runs.FireFilter) (fires []runs.Fire, next string, err error) {
	after, err := readCursor(filter.Cursor)
	if err != nil {
		return nil, "", err
	}
	keys, err := s.fireKeys(func(f *runs.Fire) bool {
		return (filter.Workflow == "" || f.Workflow == filter.Workflow) && (filter.Trigger == "" || f.Trigger == filter.Trigger) &&
			(filter.Since.IsZero() || !f.Slot.Before(filter.Since)) && (filter.Until.IsZero() || f.Slot.Before(filter.Until)) &&
			(after == nil || newest(keyOfFire(f), *after) > 0)
	})
	if err != nil {
		return nil, "", err
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	if len(keys) > limit {
		keys = keys[:limit]
		encoded, err := json.Marshal(keys[limit-1])
		if err != nil {
			return nil, "", err
		}
		next = base64.RawURLEncoding.EncodeToString(encoded)
	}
	fires, err = s.firesOf(keys)
	return fires, next, err
}

func readCursor(text string) (key *fireKey, err error) {
	if text == "" {
		return nil, nil
	}
	data, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil {
		key = new(fireKey)
		err = json.Unmarshal(data, key)
	}
	if err != nil {
		return nil, fmt.Errorf("list fires: cursor %q is not valid", text)
	}
	return key, nil
}

// fireKeys returns the keys of fires, the newest slot first.
func (s *Store) fireKeys(selects func(f *runs.Fire) bool) (keys []fireKey, err error) {
	err = s.view(func(d *data) error {
		for key, fire := range d.fires {
			if selects(&fire) {
				keys = append(keys, key)
			}
		}
		return nil
	})
	slices.SortFunc(keys, newest)
	return keys, err
}

func (s *Store) firesOf(keys []fireKey) (fires []runs.Fire, err error) {
	err = s.view(func(d *data) error {
		for _, key := range keys {
			if fire, ok := d.fires[key]; ok {
				fires = append(fires, clone(fire))
			}
		}
		return nil
	})
	return fires, err
}

// FiresBetween is that of store.Fires.
func (s *Store) FiresBetween(workflow, trigger string, from, until time.Time, limit int) ([]runs.Fire, error) {
	keys, err := s.fireKeys(func(f *runs.Fire) bool {
		return f.Workflow == workflow && f.Trigger == trigger && !f.Slot.Before(from) && f.Slot.Before(until)
	})
	if err != nil {
		return nil, err
	}
	slices.Reverse(keys)
	if limit > 0 {
		keys = keys[:min(limit, len(keys))]
	}
	return s.firesOf(keys)
}

// Fire is that of store.Fires.
func (s *Store) Fire(workflow, trigger string, slot time.Time) (fire *runs.Fire, err error) {
	err = s.view(func(d *data) error {
		stored, ok := d.fires[fireKey{workflow, trigger, slot.UnixNano()}]
		fire = pointer(stored, ok)
		return nil
	})
	return fire, err
}

// PutFires is that of store.Fires.
func (s *Store) PutFires(fires []runs.Fire, workflow, trigger string, edit func(*runs.TriggerState)) error {
	return s.update(func(t *tx) error {
		for i := range fires {
			if fires[i].Workflow != workflow || fires[i].Trigger != trigger {
				return fmt.Errorf("store fires of %s: one is of %s", runs.TriggerID(workflow, trigger), runs.TriggerID(fires[i].Workflow, fires[i].Trigger))
			}
			if err := store.CheckSlot(workflow, trigger, fires[i].Slot); err != nil {
				return err
			}
		}
		for i := range fires {
			key := keyOfFire(&fires[i])
			if _, there := t.fires[key]; !there {
				t.fires[key] = clone(fires[i])
				t.wrote = true
			}
		}
		if edit != nil {
			t.edit(workflow, trigger, edit)
		}
		return nil
	})
}

// edit changes what is kept of a trigger.
func (t *tx) edit(workflow, trigger string, edit func(*runs.TriggerState)) runs.TriggerState {
	key := triggerKey{workflow, trigger}
	stored, ok := t.triggers[key]
	state, changed, paused := store.EditState(pointer(stored, ok), workflow, trigger, edit)
	if changed {
		t.triggers[key] = clone(*state)
		t.wrote = true
	}
	if paused {
		t.tell(runs.OutboxEntry{Kind: runs.OutboxTriggerPaused, At: state.PausedAt, Trigger: state})
	}
	return *state
}

// TriggerState is that of store.Triggers.
func (s *Store) TriggerState(workflow, trigger string) (state *runs.TriggerState, err error) {
	err = s.view(func(d *data) error {
		stored, ok := d.triggers[triggerKey{workflow, trigger}]
		state = pointer(stored, ok)
		return nil
	})
	return state, err
}

// TriggerStates is that of store.Triggers.
func (s *Store) TriggerStates() (states []runs.TriggerState, err error) {
	err = s.view(func(d *data) error {
		for _, state := range d.triggers {
			states = append(states, clone(state))
		}
		return nil
	})
	slices.SortFunc(states, func(a, b runs.TriggerState) int {
		return cmp.Or(cmp.Compare(a.Workflow, b.Workflow), cmp.Compare(a.Trigger, b.Trigger))
	})
	return states, err
}

// EditTriggerState is that of store.Triggers.
func (s *Store) EditTriggerState(workflow, trigger string, edit func(*runs.TriggerState)) (state runs.TriggerState, err error) {
	err = s.update(func(t *tx) error {
		state = t.edit(workflow, trigger, edit)
		return nil
	})
	return state, err
}

// Epoch is that of store.Triggers: there is nothing to restore.
func (s *Store) Epoch() (uint64, error) { return 0, s.view(func(*data) error { return nil }) }

// tell writes an entry of the outbox.
func (t *tx) tell(entry runs.OutboxEntry) {
	t.told++
	entry.Seq = t.told
	t.outbox = append(t.outbox, clone(entry))
	t.outbox = t.outbox[max(0, len(t.outbox)-store.MaxOutbox):]
	t.news = true
}

// Outbox is that of store.Outbox.
func (s *Store) Outbox(after uint64, limit int) (entries []runs.OutboxEntry, err error) {
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	err = s.view(func(d *data) error {
		for _, entry := range d.outbox {
			if entry.Seq > after && len(entries) < limit {
				entries = append(entries, clone(entry))
			}
		}
		return nil
	})
	return entries, err
}

// DropOutbox is that of store.Outbox.
func (s *Store) DropOutbox(upTo uint64) error {
	return s.update(func(t *tx) error {
		before := len(t.outbox)
		t.outbox = slices.DeleteFunc(t.outbox, func(entry runs.OutboxEntry) bool { return entry.Seq <= upTo })
		t.wrote = len(t.outbox) < before
		return nil
	})
}
