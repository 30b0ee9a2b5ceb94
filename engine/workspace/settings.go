package workspace

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/spec"
)

// ReadInputs reads a file of inputs: a YAML mapping, or JSON, which is YAML. A
// plain scalar becomes text that the input's type converts, everything else
// JSON.
func ReadInputs(file string, src []byte) (map[string]Input, diag.List) {
	root, problems := spec.ParseNode(file, src, spec.DataLimits())
	if root == nil || problems.HasErrors() {
		return nil, problems
	}
	if root.Kind != spec.Mapping {
		problems.Errorf(root.Pos, project.CodeShape, "a file of inputs must be a mapping of names")
		return nil, problems
	}
	inputs := map[string]Input{}
	for _, pair := range root.Pairs {
		if pair.Value.IsPlain() {
			inputs[pair.Key.Text] = Input{Text: pair.Value.Text}
			continue
		}
		value, err := plainJSON(pair.Value)
		if err != nil {
			problems.Errorf(pair.Value.Pos, project.CodeShape, "input `%s`: %v", pair.Key.Text, err)
			continue
		}
		inputs[pair.Key.Text] = Input{JSON: value}
	}
	return inputs, problems
}

// plainJSON is a node as in a free-form object (docs/language.md, "Files"), with its
// names in order.
func plainJSON(node *spec.Node) (json.RawMessage, error) {
	var value any
	if err := decodeNumbers(node.JSON(), &value); err != nil {
		return nil, err
	}
	return json.Marshal(value)
}

// Setting is one value of a settings file under its dotted key.
type Setting struct {
	Key   string
	Value string // lists as JSON
	Pos   diag.Pos
}

// ReadSettings flattens a YAML mapping: `limits: {max_active_runs: 100}` is the
// setting "limits.max_active_runs". They come in written order.
func ReadSettings(file string, src []byte) ([]Setting, diag.List) {
	root, problems := spec.ParseNode(file, src, spec.DefaultLimits())
	if root == nil || problems.HasErrors() {
		return nil, problems
	}
	var settings []Setting
	flatten(root, nil, &settings)
	return settings, problems
}

func flatten(node *spec.Node, path []string, settings *[]Setting) {
	if node.Kind == spec.Mapping {
		for _, pair := range node.Pairs {
			flatten(pair.Value, append(path[:len(path):len(path)], pair.Key.Text), settings)
		}
		return
	}
	value := node.Text
	if node.Kind == spec.Sequence {
		encoded, err := plainJSON(node)
		if err != nil {
			return
		}
		value = string(encoded)
	}
	*settings = append(*settings, Setting{Key: strings.Join(path, "."), Value: value, Pos: node.Pos})
}
