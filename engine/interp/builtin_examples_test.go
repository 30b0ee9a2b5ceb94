package interp

import (
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
)

// TestIssue12_16_ExamplesOfCoreActions: each has an input and an output that fit
// its schemas.
func TestIssue12_16_ExamplesOfCoreActions(t *testing.T) {
	for _, action := range Builtins() {
		if len(action.Examples) == 0 {
			t.Errorf("%s has no example", action.FullName())
		}
		input, err := schema.FromJSON(action.Input)
		if err != nil {
			t.Fatal(err)
		}
		for _, example := range action.Examples {
			if _, err := input.DecodeExact(example.Input); err != nil {
				t.Errorf("%s: input of %s: %v", action.FullName(), example.Name, err)
			}
			if len(example.Output) == 0 {
				t.Errorf("%s: %s has no output", action.FullName(), example.Name)
				continue
			}
			if action.Name == "approve" {
				continue // its outputs are the fields of the form
			}
			output, err := schema.FromJSON(action.Output)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := output.DecodeExact(example.Output); err != nil {
				t.Errorf("%s: output of %s: %v", action.FullName(), example.Name, err)
			}
		}
	}
}
