package boltstore

import (
	"encoding/json"
	"fmt"

	bolt "github.com/flowrun/flowrun/engine/boltstore/sealedpages"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// TriggerState is that of store.Triggers.
func (s *Store) TriggerState(workflow, trigger string) (state *runs.TriggerState, err error) {
	key, err := triggerPrefix(workflow, trigger)
	if err != nil {
		return nil, err
	}
	err = s.view(func(tx *bolt.Tx) error {
		state, err = getState(tx, key)
		return err
	})
	return state, err
}

// TriggerStates is that of store.Triggers.
func (s *Store) TriggerStates() (states []runs.TriggerState, err error) {
	err = s.view(func(tx *bolt.Tx) error {
		return tx.Bucket(bucketTriggers).ForEach(func(key, stored []byte) error {
			state, err := decodeState(key, stored)
			if err == nil {
				states = append(states, *state)
			}
			return err
		})
	})
	return states, err
}

// EditTriggerState is that of store.Triggers. edit runs on the committer's goroutine.
func (s *Store) EditTriggerState(workflow, trigger string, edit func(*runs.TriggerState)) (state runs.TriggerState, err error) {
	err = s.do(0, func(w *writer) (bool, error) {
		change, err := newStateChange(w.Tx, workflow, trigger, edit)
		if err != nil {
			return false, err
		}
		state = *change.state
		return change.changes(), inTx(func() error { return change.put(w) })
	})
	if err != nil {
		return runs.TriggerState{}, fmt.Errorf("change the state of trigger %s: %w", runs.TriggerID(workflow, trigger), err)
	}
	return state, nil
}

// stateChange is a change of what is kept of a trigger; nil = none.
type stateChange struct {
	key             []byte
	state           *runs.TriggerState
	changed, paused bool
}

// newStateChange returns nil without edit.
func newStateChange(tx *bolt.Tx, workflow, trigger string, edit func(*runs.TriggerState)) (*stateChange, error) {
	if edit == nil {
		return nil, nil
	}
	key, err := triggerPrefix(workflow, trigger)
	if err != nil {
		return nil, err
	}
	old, err := getState(tx, key)
	if err != nil {
		return nil, err
	}
	c := &stateChange{key: key}
	c.state, c.changed, c.paused = store.EditState(old, workflow, trigger, edit)
	return c, nil
}

func (c *stateChange) changes() bool { return c != nil && c.changed }

// put writes the new state.
func (c *stateChange) put(w *writer) error {
	if !c.changes() {
		return nil
	}
	encoded, err := json.Marshal(c.state)
	if err != nil {
		return fmt.Errorf("encode the state of a trigger: %w", err)
	}
	if err := w.put(bucketTriggers, c.key, encoded); err != nil {
		return err
	}
	if !c.paused {
		return nil
	}
	return w.tell(noRun(), runs.OutboxEntry{Kind: runs.OutboxTriggerPaused, At: c.state.PausedAt, Trigger: c.state}, nil)
}

func getState(tx *bolt.Tx, key []byte) (*runs.TriggerState, error) {
	stored := tx.Bucket(bucketTriggers).Get(key)
	if stored == nil {
		return nil, nil
	}
	return decodeState(key, stored)
}

func decodeState(key, stored []byte) (*runs.TriggerState, error) {
	payload, err := unseal(bucketTriggers, key, stored)
	if err != nil {
		return nil, err
	}
	state := new(runs.TriggerState)
	if err := json.Unmarshal(payload, state); err != nil {
		return nil, &store.CorruptError{Bucket: string(bucketTriggers), Key: hexKey(key), Detail: err.Error()}
	}
	return state, nil
}
