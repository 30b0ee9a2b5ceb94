package testrun

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/journal"
)

// giveState hands the run the state that it begins with, as if it were stored.
func giveState(start *journal.Start, state map[string]json.RawMessage) {
	if len(state) == 0 {
		return
	}
	start.State, start.StateVersions = state, map[string]uint64{}
	for name := range state {
		start.StateVersions[name] = 1
	}
}

// stateOf is the state that a stored run began with.
func stateOf(start *journal.Start) map[string]any {
	state := map[string]any{}
	for name, raw := range start.State {
		if value := exact(raw); value != nil {
			state[name] = value
		}
	}
	return state
}
