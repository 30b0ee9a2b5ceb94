package project

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/quota"
)

// TestP17TheDrainIsALimitWithACeiling: a positive duration of at most ten minutes.
func TestP17TheDrainIsALimitWithACeiling(t *testing.T) {
	tests := map[string]struct {
		want    time.Duration
		problem string
	}{
		"90s": {want: 90 * time.Second},
		"10m": {want: 10 * time.Minute},
		"11m": {problem: "at most 10m"},
		"0s":  {problem: "greater than 0"},
		"25":  {problem: "25"},
	}
	for text, tt := range tests {
		parsed, problems := Parse("flowrun.yaml", []byte("limits: {drain: "+text+"}\n"))
		if tt.problem != "" {
			if !problems.HasErrors() || !strings.Contains(problems.Err().Error(), tt.problem) {
				t.Errorf("%s: %v, want a problem with %q", text, problems, tt.problem)
			}
			continue
		}
		if problems.HasErrors() || parsed.Limits.Drain != tt.want {
			t.Errorf("%s: %s, %v, want %s", text, parsed.Limits.Drain, problems, tt.want)
		}
	}
}

// Each quota of the table can be set up to its ceiling, and not beyond.
func TestQuotasHaveCeilings(t *testing.T) {
	for _, quota := range quota.All() {
		unit := "B"
		if quota.Count {
			unit = ""
		}
		for value, fits := range map[int64]bool{1: true, quota.Ceiling: true, quota.Ceiling + 1: false} {
			parsed, problems := Parse("flowrun.yaml", []byte(fmt.Sprintf("limits: {%s: %d%s}\n", quota.Name, value, unit)))
			if problems.HasErrors() == fits || fits && parsed.Limits.Quotas[quota.Name] != value {
				t.Errorf("%s: %d gives %v, %v", quota.Name, value, parsed.Limits.Quotas, problems)
			}
		}
	}
}
