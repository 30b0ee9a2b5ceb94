package quota_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/quota"
)

func TestAQuotaGoesUpToItsCeiling(t *testing.T) {
	for _, which := range quota.All() {
		for set, want := range map[int64]int64{
			0: which.Default, -1: which.Default, 1: 1, which.Ceiling: which.Ceiling, which.Ceiling + 1: which.Ceiling, 1 << 62: which.Ceiling,
		} {
			if got := (quota.Values{which.Name: set}).Of(which.Name); got != want {
				t.Errorf("%s set to %d is %d, want %d", which.Name, set, got, want)
			}
		}
		if got := (quota.Values)(nil).Of(which.Name); got != which.Default || which.Default > which.Ceiling {
			t.Errorf("%s is %d, its default %d, its ceiling %d", which.Name, got, which.Default, which.Ceiling)
		}
	}
	if got := (quota.Values)(nil).Of("nothing"); got != 0 {
		t.Errorf("what there is no quota for is %d", got)
	}
}

func TestSizesHaveUnits(t *testing.T) {
	for text, want := range map[string]int64{"1B": 1, "16 KiB": 16 << 10, "64MiB": 64 << 20, "1GiB": 1 << 30} {
		if got, err := quota.ParseSize(text); err != nil || got != want {
			t.Errorf("%s is %d, %v", text, got, err)
		}
	}
	for _, text := range []string{"", "64", "0B", "-1B", "1.5MiB", "1MB", "1mib", "1  B", "999999999999GiB", "1B "} {
		if got, err := quota.ParseSize(text); err == nil {
			t.Errorf("%q is taken for %d bytes", text, got)
		}
	}
}
