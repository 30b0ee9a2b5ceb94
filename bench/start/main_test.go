package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// TestATableStandsInItsPlace, over the one from before, and tells what is missed.
func TestATableStandsInItsPlace(t *testing.T) {
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(page, []byte("before\n"+begins+"old\n"+ends+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []*measured{
		{what: "version", program: "flowrun", goal: 8 * time.Millisecond, wall: []time.Duration{7e6, 9e6, 5e6}, cpu: []time.Duration{1e6}},
		{what: "version", program: "gh", wall: []time.Duration{40e6}, cpu: []time.Duration{30e6}},
		{what: "validate one file", program: "flowrun", goal: 40 * time.Millisecond, wall: []time.Duration{41e6}, cpu: []time.Duration{1e6}},
	}
	if err := write(page, table(all, 3)); err != nil {
		t.Fatal(err)
	}
	written, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	text := string(written)
	for _, part := range []string{
		"before\n" + begins, ends + "after\n", "| version | flowrun | 7.0 ms | 5.0 ms | 1.0 ms | 8ms | kept |", "| version | gh | 40.0 ms | 40.0 ms | 30.0 ms |  |  |",
		"| validate one file | flowrun | 41.0 ms | 41.0 ms | 1.0 ms | 40ms | missed |",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("there is no %q in\n%s", part, text)
		}
	}
	if strings.Contains(text, "old") {
		t.Errorf("the table from before is there still:\n%s", text)
	}
	if err := os.WriteFile(page, []byte("no place"), 0o600); err != nil {
		t.Fatal(err)
	}
	if write(page, "x") == nil {
		t.Error("a page without a place is written")
	}
}
