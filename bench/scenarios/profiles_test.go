package main

import (
	"os"
	"path/filepath"
	"testing"
)

// profilesAreWritten looks that each work leaves a profile, which its sample names.
func profilesAreWritten(t *testing.T, b *bench) {
	t.Helper()
	b.profiles, b.samples = filepath.Join(t.TempDir(), "profiles"), nil
	if err := b.writeProfiles(t.Context()); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for _, s := range b.samples {
		if info, err := os.Stat(s.Profile); err != nil || info.Size() == 0 {
			t.Errorf("%s of %s has no profile: %v", s.Scenario, s.Program, err)
		}
		if seen[s.Profile] = true; s.Units != 500 && s.Units != 200 {
			t.Errorf("%s of %s says %d units, which is not ten rounds", s.Scenario, s.Program, s.Units)
		}
	}
	if len(seen) != 8 {
		t.Errorf("%d profiles, not 8", len(seen))
	}
}
