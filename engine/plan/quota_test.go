package plan_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

func TestAQuotaGoesUpToItsCeiling(t *testing.T) {
	for _, quota := range plan.Quotas() {
		for set, want := range map[int64]int64{
			0: quota.Default, -1: quota.Default, 1: 1, quota.Ceiling: quota.Ceiling, quota.Ceiling + 1: quota.Ceiling, 1 << 62: quota.Ceiling,
		} {
			if got := (plan.QuotaValues{quota.Name: set}).Of(quota.Name); got != want {
				t.Errorf("%s set to %d is %d, want %d", quota.Name, set, got, want)
			}
		}
		if got := (plan.QuotaValues)(nil).Of(quota.Name); got != quota.Default || quota.Default > quota.Ceiling {
			t.Errorf("%s is %d, its default %d, its ceiling %d", quota.Name, got, quota.Default, quota.Ceiling)
		}
	}
	if got := (plan.QuotaValues)(nil).Of("nothing"); got != 0 {
		t.Errorf("what there is no quota for is %d", got)
	}
}

func TestSizesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{"1B": 1, "16 KiB": 16 << 10, "64MiB": 64 << 20, "1GiB": 1 << 30} {
		if got, err := plan.ParseSize(text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "64", "0B", "-1B", "1.5MiB", "1MB", "1mib", "1  B", "999999999999GiB", "1B "} {
		if got, err := plan.ParseSize(text); err == nil {
			t.Errorf("%q is taken for %d bytes", text, got)
		}
	}
}
