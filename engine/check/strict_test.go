package check

import "testing"

// TestRule4StrictTellsOnce: what a step makes of unknown type is told there, not
// at everything that reads it.
func TestRule4StrictTellsOnce(t *testing.T) {
	for text, want := range map[string]string{
		"inputs: {any: {}}\nsteps:\n  - id: a\n    let: {x: \"${{ inputs.any }}\"}\n  - let: {y: \"${{ steps.a.outputs.x }}\"}\noutputs: {z: \"${{ steps.a.outputs.x }}\"}\n": "FR3017 5:14",
		"inputs: {any: {}}\nsteps:\n  - let: {x: \"${{ inputs.any.a.b.c + 1 }}\"}\n":                                                                                          "FR3017 4:30",
		"inputs: {any: {}}\nsteps:\n  - if: inputs.any\n    let: {x: \"${{ string(inputs.any) }}\"}\n":                                                                        "FR3017 4:9",
		"steps:\n  - let: {x: \"${{ {'a': 1}.a }}\", y: \"${{ [1, 'a'][1] }}\", z: \"${{ true ? 1 : 'a' }}\"}\n":                                                              "",
	} {
		if got := places(strictly(text)); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
	}
}
