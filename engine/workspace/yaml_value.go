package workspace

import (
	"encoding/json"
	"errors"

	"github.com/flowrun/flowrun/engine/spec"
)

// ReadYAML reads one value that a person has typed as YAML.
func ReadYAML(text string) (json.RawMessage, error) {
	root, problems := spec.ParseNode("value", []byte(text), spec.DataLimits())
	for _, problem := range problems {
		return nil, errors.New(problem.Message)
	}
	if root == nil {
		return nil, errors.New("there is no value")
	}
	return plainJSON(root)
}
