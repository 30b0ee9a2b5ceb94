package cli

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

func TestExitCodesOfPipesAndPlugins(t *testing.T) {
	if got := exitCode(fmt.Errorf("write the list: %w", syscall.EPIPE)); got != 141 {
		t.Errorf("a reader that went away: %d", got)
	}
	for want, failure := range map[int]*plan.Error{
		11: {Kind: plan.KindCrashed, Applied: plan.NotApplied},
		5:  {Kind: plan.KindCrashed, Applied: plan.AppliedUnknown},
		4:  {Kind: plan.KindAuthRequired, Applied: plan.NotApplied},
		3:  {Kind: plan.KindInvalid, Applied: plan.NotApplied},
		0:  nil,
	} {
		if got := exitOfCall(failure); got != want {
			t.Errorf("%+v: %d, want %d", failure, got, want)
		}
	}
}
