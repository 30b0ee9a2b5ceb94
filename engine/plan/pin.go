package plan

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"maps"
	"slices"
)

// PluginPin is a plugin as a run uses it. Digest is the SHA-256 of its
// executable, Contract that of the used actions as the plugin described them:
// two plugins of the same contract do the same for the run. Both are hex.
type PluginPin struct {
	Plugin   string `json:"plugin"`
	Version  string `json:"version,omitempty"`
	Digest   string `json:"digest,omitempty"`
	Contract string `json:"contract"`
}

// contract is what a run relies on of an action.
type contract struct {
	Name        string          `json:"name"`
	Effect      Effect          `json:"effect"`
	Input       json.RawMessage `json:"input"`
	Output      json.RawMessage `json:"output"`
	Paging      *Paging         `json:"paging"`
	Range       *Range          `json:"range"`
	Incremental bool            `json:"incremental"`
	Recipe      string          `json:"recipe,omitempty"`
}

// PinsOf returns the plugins of the given actions, by name. Actions of the engine
// itself are not among them.
func PinsOf(actions map[string]*Action, builtin string) []PluginPin {
	pins, parts := map[string]*PluginPin{}, map[string][]contract{}
	for _, name := range slices.Sorted(maps.Keys(actions)) {
		action := actions[name]
		if action.Plugin == builtin {
			continue
		}
		pins[action.Plugin] = &PluginPin{Plugin: action.Plugin, Version: action.PluginVersion, Digest: action.PluginDigest}
		parts[action.Plugin] = append(parts[action.Plugin], contract{
			Name: action.Name, Effect: action.Effect, Input: action.Input, Output: action.Output,
			Paging: action.Paging, Range: action.Range, Incremental: action.Incremental, Recipe: action.Recipe,
		})
	}
	var list []PluginPin
	for _, name := range slices.Sorted(maps.Keys(pins)) {
		encoded, err := json.Marshal(parts[name])
		if err != nil {
			encoded = nil // a schema that is no JSON: it was refused before it came here
		}
		sum := sha256.Sum256(encoded)
		pins[name].Contract = hex.EncodeToString(sum[:])
		list = append(list, *pins[name])
	}
	return list
}
