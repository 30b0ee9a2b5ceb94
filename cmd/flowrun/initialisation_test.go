package main_test

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
)

// initialised is what the packages of a program take before its main: `init PACKAGE @0.1
// ms, 0.02 ms clock, 1024 bytes, 3 allocs`, a line each.
var initialised = regexp.MustCompile(`(?m)^init (\S+) @.* ms clock, (\d+) bytes, (\d+) allocs$`)

// Bounds of what all packages take together.
const (
	maxInitAllocs = 5000
	maxInitBytes  = 590_000
)

// TestIssue17_PackagesInitialiseLittle: a command pays for what its packages make before
// main, and once more for each bundled plugin. What is not needed by all is made when it
// is first used (ADR 75).
func TestIssue17_PackagesInitialiseLittle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := filepath.Join(dir, "flowrun")
	if err := testbuild.Program(binary, ".", "-tags=grpcnotrace"); err != nil { // as a release is built
		t.Fatal(err)
	}
	write(t, dir, "one.yaml", "flowrun: v1\nname: one\nsteps:\n  - id: one\n    let: {a: 1}\n")
	for _, args := range [][]string{{"run", "one.yaml"}, {"plugins", "serve", "tasks"}} {
		allocs, size, packages := -1, -1, 0
		for range 3 { // the least: what the runtime allocates beside them wobbles
			a, b, n := traceInit(t, binary, dir, args)
			if allocs < 0 || a < allocs {
				allocs = a
			}
			if size < 0 || b < size {
				size = b
			}
			packages = n
		}
		t.Logf("%v: %d packages, %d allocations, %d bytes", args, packages, allocs, size)
		if packages < 100 {
			t.Fatalf("%v: %d packages told of their initialisation", args, packages)
		}
		if allocs > maxInitAllocs || size > maxInitBytes {
			t.Errorf("%v: packages make %d allocations (at most %d) of %d bytes (at most %d) before main; GODEBUG=inittrace=1 tells which", args, allocs, maxInitAllocs, size, maxInitBytes)
		}
	}
}

// traceInit runs a command and adds up what its packages took.
func traceInit(t *testing.T, binary, dir string, args []string) (allocs, size, packages int) {
	t.Helper()
	command := exec.Command(binary, args...)
	command.Dir = dir
	command.Env = append(command.Environ(), "GODEBUG=inittrace=1", "HOME="+dir)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	_ = command.Run() // a plugin that nobody started says so and ends
	for _, line := range initialised.FindAllSubmatch(stderr.Bytes(), -1) {
		b, _ := strconv.Atoi(string(line[2])) // a number: the expression says so
		a, _ := strconv.Atoi(string(line[3]))
		allocs, size, packages = allocs+a, size+b, packages+1
	}
	return allocs, size, packages
}
