package cli

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestExitCodesOfPipesAndPlugins(t *testing.T) {
	if got := exitCode(fmt.Errorf("write the list: %w", syscall.EPIPE)); got != 141 {
		t.Errorf("a reader that went away: %d", got)
	}
	for want, failure := range map[int]*runs.Error{
		11: {Kind: plan.KindCrashed, Applied: runs.NotApplied},
		5:  {Kind: plan.KindCrashed, Applied: runs.AppliedUnknown},
		4:  {Kind: plan.KindAuthRequired, Applied: runs.NotApplied},
		3:  {Kind: plan.KindInvalid, Applied: runs.NotApplied},
		0:  nil,
	} {
		if got := exitOfCall(failure); got != want {
			t.Errorf("%+v: %d, want %d", failure, got, want)
		}
	}
}
