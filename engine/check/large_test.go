package check

import (
	"fmt"
	"strings"
	"testing"
)

// A workflow of 3,000 steps (near the largest file) that each name and read the one above is checked
// in a time that people wait for.
func TestThreeThousandSteps(t *testing.T) {
	var b strings.Builder
	b.WriteString("flowrun: v1\nsteps:\n  - id: s0\n    let: {x: 1}\n")
	for i := 1; i < 3_000; i++ {
		fmt.Fprintf(&b, "  - id: s%d\n    needs: [s%d]\n    let: {x: \"${{ steps.s%d.outputs.x + 1 }}\"}\n", i, i-1, i-1)
	}
	w := mustPlan(t, fake(), b.String())
	if len(w.Steps) != 3_000 {
		t.Errorf("%d steps", len(w.Steps))
	}
}
