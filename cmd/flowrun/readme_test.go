package main_test

import "testing"

// TestTheReadmeIsTrue types what the README shows.
func TestTheReadmeIsTrue(t *testing.T) {
	t.Parallel()
	pageIsTrue(t, "../../README.md")
}

// TestThePageOfCommandsIsTrue is the same for docs/commands.md.
func TestThePageOfCommandsIsTrue(t *testing.T) {
	t.Parallel()
	pageIsTrue(t, "../../docs/commands.md")
}

func pageIsTrue(t *testing.T, page string) {
	t.Helper()
	r := newPageReader(t, page)
	r.read(nil)
	if r.typed < 3 {
		t.Errorf("%s shows %d commands with their output only", page, r.typed)
	}
}
