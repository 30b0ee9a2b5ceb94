package view

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/internal/cli/term"
)

func listedRuns() []runs.Run {
	return []runs.Run{
		{ID: "01k8zq4c0vdx3y6t7k9m2n5p8r", Workflow: "weekly-review", Status: runs.RunPaused, Paused: runs.PausedUnknownOutcome, Trigger: "manual", StartedAt: start.Add(-time.Minute)},
		{ID: "01k8zq4c0vdx3y6t7k9m2n5p8q", Workflow: "digest", Status: runs.RunFailed, Trigger: "every-morning", StartedAt: start.Add(-2 * time.Hour), FinishedAt: after(0), DurationMS: 2500,
			Error: &runs.Error{Step: "domains[example.com].whois", Kind: plan.KindTimeout, Message: "no answer of the service\nwithin " + strings.Repeat("a long time, ", 9) + "at all"}},
	}
}

// TestAListOfRunsFitsTheTerminal: nothing of a run is cut, whatever the width; of an error
// two lines are shown. What is no terminal gets each run in one line.
func TestAListOfRunsFitsTheTerminal(t *testing.T) {
	for width, want := range map[int]string{
		0: `RUN                         WORKFLOW       STATUS                    TRIGGER        STARTED              TOOK
01k8zq4c0vdx3y6t7k9m2n5p8r  weekly-review  paused (unknown_outcome)  manual         2026-03-01 14:02:00
01k8zq4c0vdx3y6t7k9m2n5p8q  digest         failed                    every-morning  2026-03-01 12:03:00  2.5s
`,
		30: `01k8zq4c0vdx3y6t7k9m2n5p8r
    weekly-review
    paused (unknown_outcome)
    manual · 1m ago
01k8zq4c0vdx3y6t7k9m2n5p8q
    digest · failed
    every-morning · 2h ago
    took 2.5s
    domains[example.com].whoi
    s: timeout: no answer of…
`,
		40: `01k8zq4c0vdx3y6t7k9m2n5p8r
    weekly-review
    paused (unknown_outcome) · manual
    1m ago
01k8zq4c0vdx3y6t7k9m2n5p8q  failed
    digest · every-morning · 2h ago
    took 2.5s
    domains[example.com].whois:
    timeout: no answer of the service …
`,
		80: `01k8zq4c0vdx3y6t7k9m2n5p8r  paused (unknown_outcome)
    weekly-review · manual · 1m ago
01k8zq4c0vdx3y6t7k9m2n5p8q  failed
    digest · every-morning · 2h ago · took 2.5s
    domains[example.com].whois: timeout: no answer of the service within a long
    time, a long time, a long time, a long time, a long time, a long time, a …
`,
		90: `RUN                         WORKFLOW       STATUS                    STARTED  TOOK
01k8zq4c0vdx3y6t7k9m2n5p8r  weekly-review  paused (unknown_outcome)  1m ago
01k8zq4c0vdx3y6t7k9m2n5p8q  digest         failed                    2h ago   2.5s
    domains[example.com].whois: timeout: no answer of the service within a long time, a
    long time, a long time, a long time, a long time, a long time, a long time, a long …
`,
		100: `RUN                         WORKFLOW       STATUS                    TRIGGER        STARTED  TOOK
01k8zq4c0vdx3y6t7k9m2n5p8r  weekly-review  paused (unknown_outcome)  manual         1m ago
01k8zq4c0vdx3y6t7k9m2n5p8q  digest         failed                    every-morning  2h ago   2.5s
    domains[example.com].whois: timeout: no answer of the service within a long time, a long time,
    a long time, a long time, a long time, a long time, a long time, a long time, a long time, at …
`,
		200: `RUN                         WORKFLOW       STATUS                    TRIGGER        STARTED              TOOK
01k8zq4c0vdx3y6t7k9m2n5p8r  weekly-review  paused (unknown_outcome)  manual         2026-03-01 14:02:00
01k8zq4c0vdx3y6t7k9m2n5p8q  digest         failed                    every-morning  2026-03-01 12:03:00  2.5s
    domains[example.com].whois: timeout: no answer of the service within a long time, a long time, a long time, a long time, a long time, a long time, a long time, a long time, a long time, at all
`,
	} {
		var out bytes.Buffer
		p := page()
		p.Width, p.Now = width, start
		p.Runs(&out, listedRuns())
		if diff := cmp.Diff(want, out.String()); diff != "" {
			t.Errorf("width %d (-want +got)\n%s\n%s", width, diff, out.String())
		}
		for line := range strings.Lines(out.String()) {
			if width > 0 && term.Width(strings.TrimSuffix(line, "\n")) >= width {
				t.Errorf("width %d: a line is wider: %s", width, line)
			}
		}
	}
}
