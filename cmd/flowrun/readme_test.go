package main_test

import (
	"os"
	"testing"
)

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
	shipped, err := os.ReadFile("../../workflows/weekly-review.yaml")
	if err != nil {
		t.Fatal(err)
	}
	r := newPageReader(t, page)
	write(t, r.typist.Dir, "weekly-review.yaml", string(shipped))
	r.read(nil)
	if r.typed < 3 {
		t.Errorf("%s shows %d commands with their output only", page, r.typed)
	}
}
