package sound

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/mutant"
)

// noticed is how long a mutant may live.
const noticed = 60 * time.Second

// TestSoundMutantsFitTheSource fails when the checker has changed and a mutant no
// longer says what to spoil. It builds nothing.
func TestSoundMutantsFitTheSource(t *testing.T) {
	all := mutants(t)
	if len(all) < 28 {
		t.Errorf("there are %d mutants, of 28 at least", len(all))
	}
	for _, m := range all {
		if _, err := m.Source(root); err != nil {
			t.Errorf("%s: %v", m, err)
		}
	}
}

// root is the module's folder.
const root = "../.."

// mutants are rules of the checker that are wrong: one edit each.
func mutants(t *testing.T) []mutant.Mutant {
	t.Helper()
	all, err := mutant.Read("mutants/checker.txt")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// TestSoundMutants breaks one rule of the checker at a time: the trials must notice
// each within a minute. FLOWRUN_SOUND_MUTANTS says that it is to run.
func TestSoundMutants(t *testing.T) {
	if amount(t, "SOUND_MUTANTS", 0) == 0 {
		t.Skip("make sound-mutants runs this: it builds the checker once for each mutant")
	}
	for _, m := range mutants(t) {
		t.Run(m.Name, func(t *testing.T) {
			binary := mutated(t, m)
			took, out := trial(t, binary)
			if !strings.Contains(out, "fails:") && !strings.Contains(out, "workflow ") {
				t.Fatalf("not noticed within %s:\n%.2000s", noticed, out)
			}
			t.Logf("noticed within %.1f s", took.Seconds())
		})
	}
}

// mutated builds the trials with one edit.
func mutated(t *testing.T, m mutant.Mutant) string {
	t.Helper()
	folder := t.TempDir()
	overlay, err := mutant.Overlay(folder, root, m)
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(folder, "sound.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", binary, ".")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// trial runs both trials in turns, each turn with draws of its own, until one
// notices something. A turn is short, since a trial tells at its end.
func trial(t *testing.T, binary string) (time.Duration, string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), noticed)
	defer cancel()
	began := time.Now()
	var all strings.Builder
	for seed := 1; ctx.Err() == nil; seed++ {
		for _, name := range []string{"TestSoundExpressions", "TestSoundWorkflows"} {
			run := exec.CommandContext(ctx, binary, "-test.run", "^"+name+"$")
			run.Env = append(os.Environ(), "FLOWRUN_SOUND_PROGRAMS=40000", "FLOWRUN_SOUND_WORKFLOWS=150", "FLOWRUN_SEED="+strconv.Itoa(seed))
			out, err := run.CombinedOutput()
			if err != nil && ctx.Err() == nil {
				return time.Since(began), string(out)
			}
			all.Write(out)
		}
	}
	return noticed, all.String()
}
