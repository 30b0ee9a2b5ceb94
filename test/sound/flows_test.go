package sound

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// runsOfFlow is how often each accepted workflow runs, with other answers.
const runsOfFlow = 4

// TestSoundWorkflows: a workflow that the strict check accepts fails at no step by
// a type, by null or by a missing field, whatever conforming answers it gets.
func TestSoundWorkflows(t *testing.T) {
	flows, first := suitesize.Of(t, "FLOWRUN_SOUND_WORKFLOWS", 250), seed(t)
	accepted, drawn, failed := 0, 0, 0
	refused, excused := map[string]int{}, map[string]int{}
	for i := uint64(0); accepted < flows && drawn < 40*flows; i++ {
		drawn++
		d := newDraws(first<<32 + 1<<31 + i)
		f := d.flow()
		workflow, problems := f.accepted()
		if workflow == nil {
			for _, p := range problems {
				refused[p.Code]++
				break
			}
			continue
		}
		accepted++
		program, err := interp.Compile(workflow)
		if err != nil {
			t.Fatalf("workflow %d: %v\n%s", i, err, f.source)
		}
		for range runsOfFlow {
			if found := f.run(d, program, excused); len(found) > 0 {
				failed++
				t.Errorf("workflow %d:\n%s\n%s", i, strings.Join(found, "\n"), f.source)
				break
			}
		}
		if failed >= 3 {
			break
		}
	}
	t.Logf("%d workflows drawn, %d accepted, each run %d times; first refusals %v; excused failures %v", drawn, accepted, runsOfFlow, refused, excused)
	if share := fmt.Sprintf("%d of %d", accepted, drawn); failed == 0 && (accepted < flows || accepted == drawn) {
		t.Errorf("%s workflows are accepted: both verdicts must be tried", share)
	}
}
