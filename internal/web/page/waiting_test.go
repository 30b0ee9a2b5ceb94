package page

import (
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// TestWhatAPersonIsAskedFor: each row is a step of a run that goes on, and what its page
// asks for.
func TestWhatAPersonIsAskedFor(t *testing.T) {
	s := newSite(Options{Now: time.Now})
	prompt := &runs.Prompt{Title: "Log in"}
	for name, c := range map[string]struct {
		step runs.Step
		want string // "" = nothing
	}{
		"a lost answer":             {runs.Step{Status: runs.StepUnknown, Wait: "resolve"}, "resolve"},
		"one that is resolved":      {runs.Step{Status: runs.StepUnknown, Wait: "resolve", Decision: &runs.Decision{Held: true}}, ""},
		"a second lost answer":      {runs.Step{Status: runs.StepUnknown, Wait: "resolve", Decision: &runs.Decision{By: "ann"}}, "resolve"},
		"a login":                   {runs.Step{Status: runs.StepWaiting, Wait: "poll", Uses: "a.b", Prompt: prompt}, "login"},
		"a login while it is asked": {runs.Step{Status: runs.StepRunning, Uses: "a.b", Prompt: prompt}, "login"},
		"a login that has ended":    {runs.Step{Status: runs.StepSucceeded, Uses: "a.b", Prompt: prompt}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if waits := s.waitingFor(runs.Run{Status: runs.RunPaused}, c.step); waits != nil {
				got = waits.Kind
			}
			if got != c.want {
				t.Errorf("it asks for %q, want %q", got, c.want)
			}
		})
	}
}
