package runs_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// TestIssue15_8_AFailedReadIsNotSaidToHaveBeenDone: a read changes nothing, so that nobody
// has to look whether it was done.
func TestIssue15_8_AFailedReadIsNotSaidToHaveBeenDone(t *testing.T) {
	for _, c := range []struct {
		effect  plan.Effect
		applied runs.Applied
		words   string
	}{
		{plan.EffectRead, runs.AppliedUnknown, ""},
		{plan.EffectRead, runs.NotApplied, "nothing was changed"},
		{plan.EffectOnce, runs.AppliedUnknown, "it may have been done"},
		{plan.EffectKeyed, runs.AppliedFully, "it was done"},
		{"", runs.AppliedUnknown, "it may have been done"},
		{"", "", ""},
	} {
		if got := (&runs.Error{Effect: c.effect, Applied: c.applied}).AppliedWords(); got != c.words {
			t.Errorf("a failed %q, %s: %q, want %q", c.effect, c.applied, got, c.words)
		}
	}
}
