package runs_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
)

func TestWaitsAreReadFromTheirTexts(t *testing.T) {
	for text, want := range map[string]runs.Wait{
		"retry 2 of 4": {Kind: runs.WaitRetry, Attempt: 2, Of: 4}, "round 3": {Kind: runs.WaitRound, Attempt: 3},
		"rate limit": {Kind: runs.WaitRateLimit}, "approval": {Kind: runs.WaitApproval}, "retry 02 of 4": {Kind: "retry 02 of 4"}, "": {},
	} {
		if got := runs.ParseWait(text); got != want || got.String() != text {
			t.Errorf("%q is %+v, want %+v", text, got, want)
		}
	}
}

// TestNeeds: each row is a step and what a person must do; whether one is waited for,
// and whether the step goes on by itself.
func TestNeeds(t *testing.T) {
	prompt := &runs.Prompt{Title: "Log in"}
	for name, c := range map[string]struct {
		step            runs.Step
		need            runs.Need
		forPerson, open bool
	}{
		"an approval":            {runs.Step{Status: runs.StepWaiting, Wait: "approval", Uses: runs.CoreApprove}, runs.NeedApprove, true, false},
		"a signal":               {runs.Step{Status: runs.StepWaiting, Wait: "signal", Uses: runs.CoreWait}, runs.NeedSignal, true, false},
		"a prompt":               {runs.Step{Status: runs.StepWaiting, Wait: "poll", Uses: "a.b", Prompt: prompt}, runs.NeedLogin, true, false},
		"a prompt that is asked": {runs.Step{Status: runs.StepRunning, Uses: "a.b", Prompt: prompt}, runs.NeedLogin, true, true},
		"a login":                {runs.Step{Status: runs.StepFailed, Wait: "login", Uses: "a.b"}, runs.NeedLogin, false, false},
		"an unknown outcome":     {runs.Step{Status: runs.StepUnknown, Wait: "resolve", Uses: "a.b"}, runs.NeedResolve, false, false},
		"a sub-workflow's stop":  {runs.Step{Status: runs.StepWaiting, Wait: "resume", Uses: "./x.yaml"}, runs.NeedResume, false, false},
		"a poll":                 {runs.Step{Status: runs.StepWaiting, Wait: "poll", Uses: "a.b"}, runs.NeedNothing, false, true},
		"a retry":                {runs.Step{Status: runs.StepRetrying, Wait: "retry 2 of 4", Uses: "a.b"}, runs.NeedNothing, false, true},
		"a loop":                 {runs.Step{Status: runs.StepRunning}, runs.NeedNothing, false, false},
		"an end":                 {runs.Step{Status: runs.StepSucceeded, Uses: "a.b"}, runs.NeedNothing, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			if got := c.step.Needs(); got != c.need {
				t.Errorf("it needs %q, want %q", got, c.need)
			}
			if c.step.ForPerson() != c.forPerson || c.step.GoesOn() != c.open {
				t.Errorf("for a person: %v, goes on: %v", c.step.ForPerson(), c.step.GoesOn())
			}
		})
	}
}
