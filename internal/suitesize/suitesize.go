// Package suitesize says how much of a long suite of tests runs. `go test ./...` tries
// a part of it that is another one after each commit; FLOWRUN_SUITES=all, as .ci/run
// has it, tries what every change must pass; the variable of the suite itself, as its
// make target has it, any number.
package suitesize

import (
	"hash/fnv"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// share is what of a suite a run of all tests tries: one of so many.
const share = 3

// All reports whether everything runs that a change must pass.
func All() bool { return os.Getenv("FLOWRUN_SUITES") == "all" }

// Of is the size of a suite whose full form is asked for by the variable: its value,
// from 1; else the size that every change must pass, or a part of it.
func Of(t testing.TB, variable string, size int) int {
	t.Helper()
	text := os.Getenv(variable)
	switch {
	case text == "" && All():
		return size
	case text == "":
		return max(size/share, 1)
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		t.Fatalf("%s=%s: want a number from 1", variable, text)
	}
	return n
}

// Part returns what is tried of a suite's parts: all of them, or each third, beginning
// with another one after each commit.
func Part[T any](t testing.TB, all []T) []T {
	t.Helper()
	if All() {
		return all
	}
	var part []T
	for i := int(Commit(t) % share); i < len(all); i += share {
		part = append(part, all[i])
	}
	t.Logf("%d of %d parts; FLOWRUN_SUITES=all tries each", len(part), len(all))
	return part
}

// Commit is a number that is another one after each commit: what a sample is taken by.
func Commit(t testing.TB) uint64 {
	t.Helper()
	commit, err := exec.CommandContext(t.Context(), "git", "rev-parse", "HEAD").Output()
	if err != nil {
		t.Logf("no commit to take a sample by: %v", err) // a copy without git: always the same sample
	}
	sum := fnv.New64a()
	_, _ = sum.Write(commit) // never fails
	return sum.Sum64()
}
