package workspace

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/project"
)

func TestRetentionThatIsNotWritten(t *testing.T) {
	for file, want := range map[string]project.Retention{
		"secrets: [env]\n":                               {Keep: 90 * 24 * time.Hour, MaxRuns: 1000, MaxTotal: 100_000},
		"retention: {max_runs: 7}\n":                     {Keep: 90 * 24 * time.Hour, MaxRuns: 7, MaxTotal: 100_000},
		"retention: {keep: 2d, max_runs: 200000}\n":      {Keep: 48 * time.Hour, MaxRuns: 200_000, MaxTotal: 200_000},
		"retention: {max_total: 50, max_runs: 10}\n":     {Keep: 90 * 24 * time.Hour, MaxRuns: 10, MaxTotal: 50},
		"retention: {keep: 1h, max_total: 3}\n":          {Keep: time.Hour, MaxRuns: 1000, MaxTotal: 3},
		"limits: {drain: 10s}\nretention: {keep: 10d}\n": {Keep: 240 * time.Hour, MaxRuns: 1000, MaxTotal: 100_000},
	} {
		if got := projectOf(t, file, nil).Retention().Retention; got != want {
			t.Errorf("%q: %+v, want %+v", file, got, want)
		}
	}
}
