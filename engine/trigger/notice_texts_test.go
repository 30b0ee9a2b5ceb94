package trigger

import (
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
)

// A notice says which run it is about and what to look at next.
func TestTheTextOfANotice(t *testing.T) {
	failed := runs.Run{ID: "01x", Workflow: "nightly", Status: runs.RunFailed, Error: &runs.Error{Step: "fetch", Message: "no route"}}
	late := failed
	late.Status, late.Error = runs.RunTimedOut, nil
	asks := runs.Run{ID: "01x", Workflow: "nightly", Status: runs.RunPaused, Paused: runs.PausedAuthRequired}
	for want, got := range map[string]string{
		"nightly: run 01x failed: step fetch: no route\nflowrun runs show 01x":             noticeText(noticeFailed, &failed, noticeState{}, 1),
		"nightly: run 01x timed out (3 in a row)\nflowrun runs show 01x":                   noticeText(noticeFailed, &late, noticeState{}, 3),
		"nightly: run 01x is paused (auth required)\nflowrun runs show 01x":                noticeText(noticePaused, &asks, noticeState{}, 1),
		"nightly: run 01x succeeded, after one that failed\nflowrun runs show 01x":         noticeText(noticeRecovered, &failed, noticeState{Failing: 1, Status: noticeFailed}, 0),
		"nightly: run 01x succeeded, after 4 in a row that did not\nflowrun runs show 01x": noticeText(noticeRecovered, &failed, noticeState{Failing: 4}, 0),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func TestTheNameOfATriggerIsQuotedForAShell(t *testing.T) {
	for name, want := range map[string]string{"a/b": "a/b", "täglich.1/b_c-d": "täglich.1/b_c-d", "site report/x": "'site report/x'", "it's/x": `'it'\''s/x'`} {
		if got := diag.ShellWord(name); got != want {
			t.Errorf("%s: %s", name, got)
		}
	}
}
