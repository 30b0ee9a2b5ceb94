package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/flowrun/flowrun/engine/plan"
)

// identity is what is hashed. In a sandbox the addresses of the simulators are
// others at every start, so that the plugin's name stands for its config.
type identity struct {
	Action     string          `json:"action"`
	Plugin     string          `json:"plugin"`
	Connection string          `json:"connection"`
	Config     json.RawMessage `json:"config,omitempty"`
	Mocks      string          `json:"mocks,omitempty"` // of the test files that answer
	Input      json.RawMessage `json:"input"`
}

// Identify names what a call asks for, for cursors and cached answers: it hashes
// action, connection (plugin, name, config without secrets) and the normalised input
// (docs/language.md, rule 13). Secrets in the input count by their names. For a cursor the page cursor is no part of it, and neither are
// the bounds of a declared range: they follow the clock in most workflows, and a
// cursor that begins anew with every run would be none.
func (p *Workspace) Identify(action *plan.Action, connection string, input json.RawMessage, cursor bool) (string, error) {
	name := connection
	if name == "" {
		var err error
		if name, err = p.DefaultConnection(action.Plugin); err != nil {
			return "", err
		}
	}
	what := identity{Action: action.FullName(), Plugin: action.Plugin, Connection: name}
	if p.Live(name) {
		resolved, err := p.Connection(action.Plugin, name)
		if err != nil {
			return "", err
		}
		if what.Config, err = withoutSecrets(resolved.Config); err != nil {
			return "", fmt.Errorf("config of connection %s: %w", name, err)
		}
	} else {
		what.Mocks = p.mockDigest()
	}
	var left []string
	if cursor && action.Paging != nil {
		left = append(left, action.Paging.CursorField)
	}
	if cursor && action.Range != nil {
		left = append(left, action.Range.FromField, action.Range.ToField)
	}
	var err error
	if what.Input, err = normalised(input, left); err != nil {
		return "", err
	}
	encoded, err := json.Marshal(what)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(encoded)
	return hex.EncodeToString(sum[:]), nil
}

// normalised writes an input in one way: names in order, without those that are
// null, and without the fields named.
func normalised(input json.RawMessage, left []string) (json.RawMessage, error) {
	if len(input) == 0 {
		input = json.RawMessage("{}")
	}
	var fields map[string]any
	if err := decodeNumbers(input, &fields); err != nil {
		return nil, fmt.Errorf("read the input: %w", err)
	}
	for _, name := range left {
		delete(fields, name)
	}
	for name, value := range fields {
		if value == nil {
			delete(fields, name)
		}
	}
	return json.Marshal(fields)
}

// withoutSecrets leaves the secret references out of a config.
func withoutSecrets(config json.RawMessage) (json.RawMessage, error) {
	if len(config) == 0 {
		return nil, nil
	}
	var value any
	if err := decodeNumbers(config, &value); err != nil {
		return nil, err
	}
	return json.Marshal(openParts(value))
}

func openParts(value any) any {
	switch value := value.(type) {
	case map[string]any:
		if _, secret := value["$secret"]; secret {
			return nil
		}
		open := map[string]any{}
		for name, part := range value {
			if part := openParts(part); part != nil {
				open[name] = part
			}
		}
		return open
	case []any:
		for i, part := range value {
			value[i] = openParts(part)
		}
	}
	return value
}

func decodeNumbers(data []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber() // integers above 2^53 stay exact
	return decoder.Decode(into)
}
