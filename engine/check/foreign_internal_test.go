package check

import (
	"math/rand/v2"
	"testing"

	"github.com/flowrun/flowrun/engine/spec"
)

// TestWhereNoFormBeginsNoneIsFound: a text that is not looked through has nothing that would
// have been found in it.
func TestWhereNoFormBeginsNoneIsFound(t *testing.T) {
	random, found, spared := rand.New(rand.NewPCG(1, 2)), 0, 0
	parts := []string{"$", "{", "{{", "}}", "}", "(", ")", "${{ ", "inputs", ".a", " ", "-", "$(", "${"}
	for range 100_000 {
		source := ""
		for range random.IntN(8) {
			source += parts[random.IntN(len(parts))]
		}
		looked := &text{node: &spec.Node{Text: source}}
		if length := len(source); length > 0 && random.IntN(2) == 0 { // with an expression of ours somewhere in it
			from := random.IntN(length)
			looked.parts = []part{{isExpr: true, offset: from, source: source[from : from+1+random.IntN(length-from)]}}
		}
		matches := 0
		for _, form := range foreignForms() {
			for _, at := range form.FindAllStringIndex(source, -1) {
				if (at[0] == 0 || source[at[0]-1] != '$') && !looked.within(at[0]) {
					matches++
				}
			}
		}
		switch looks := looked.mayBeForeign(); {
		case matches > 0 && !looks:
			t.Fatalf("%q with %+v: %d forms, and none may begin", source, looked.parts, matches)
		case matches > 0:
			found++
		case !looks:
			spared++
		}
	}
	if found < 500 || spared < 1000 {
		t.Errorf("forms in %d texts, %d are spared", found, spared)
	}
	if ours := (&text{node: &spec.Node{Text: "n: ${{ steps.one.outputs.n }}"}, parts: []part{{offset: 0, source: "n: "}, {isExpr: true, offset: 6, source: " steps.one.outputs.n "}}}); ours.mayBeForeign() {
		t.Error("a text with our own expression alone is looked through")
	}
}
