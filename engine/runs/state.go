package runs

import (
	"encoding/json"
	"time"
)

// SlotState says whether a run has its place.
type SlotState string

// The states of a place. It is given back by a run that is paused or closed.
const (
	SlotQueued SlotState = "queued"
	SlotHeld   SlotState = "held"
	SlotFree   SlotState = "" // not asked for, or given back
)

// Slot is a run's place under `concurrency`. It is a part of the run's row, so
// that both change in one transaction.
type Slot struct {
	Key   string    `json:"key"`
	Limit int       `json:"limit"`
	State SlotState `json:"state,omitempty"`
	GoOn
}

// GoOn says how a run that waits for its place, or has just got it, goes on.
type GoOn struct {
	Resume   bool   `json:"resume,omitempty"`   // by a resume: with fresh attempts of what failed
	Resolved bool   `json:"resolved,omitempty"` // by what a person said of an unknown outcome
	By       string `json:"by,omitempty"`
	Discard  bool   `json:"discard,omitempty"` // of a resume: its success writes nothing
}

// StateOf returns the state of a run's slot; SlotFree for a run without one.
func (r *Run) StateOf() SlotState {
	if r.Slot == nil {
		return SlotFree
	}
	return r.Slot.State
}

// CursorRead names the stored cursor that a call was given, and the version that
// it had then: 0 when there was none. It moves only from that version.
type CursorRead struct {
	Key     string `json:"key"`
	Version uint64 `json:"version"`
}

// StateValue is a stored value of a workflow's state, or a stored cursor.
type StateValue struct {
	Workflow string    `json:"workflow"`
	Name     string    `json:"name"`
	Key      string    `json:"key,omitempty"` // of a cursor: it is one of perhaps several of this name
	Value    []byte    `json:"value"`         // JSON of a state value; a cursor's watermark as the plugin wrote it
	Version  uint64    `json:"version"`
	At       time.Time `json:"at"`
	By       string    `json:"by,omitempty"`  // the person, where one changed it
	Run      string    `json:"run,omitempty"` // the run, where one changed it
}

// StateChange is one entry of the history of a state value or a cursor, the
// newest last.
type StateChange struct {
	At      time.Time `json:"at"`
	By      string    `json:"by,omitempty"`
	Run     string    `json:"run,omitempty"`
	Value   []byte    `json:"value,omitempty"` // empty = it was reset
	Version uint64    `json:"version"`         // 0 = it was reset
}

// CursorKey is the key under which a cursor is stored: of a workflow, with the
// name that it gives, and for what was asked. No part can pass for another.
func CursorKey(workflow, name, identity string) string {
	key, _ := json.Marshal([]string{workflow, name, identity}) // texts always can be encoded
	return string(key)
}

// CursorPrefix is what the keys of a workflow's cursors begin with; name "" =
// those of all names.
func CursorPrefix(workflow, name string) string {
	parts := []string{workflow}
	if name != "" {
		parts = append(parts, name)
	}
	prefix, _ := json.Marshal(parts)
	return string(prefix[:len(prefix)-1]) + ","
}

// SplitCursorKey returns the parts of a cursor's key.
func SplitCursorKey(key string) (workflow, name, identity string, ok bool) {
	var parts []string
	if json.Unmarshal([]byte(key), &parts) != nil || len(parts) != 3 {
		return "", "", "", false
	}
	return parts[0], parts[1], parts[2], true
}
