// Package leaktest finds goroutines that tests leave behind. It is here because what the
// SDK's tests import, each author of a plugin would inherit.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"
	"time"
)

// patience is how long goroutines may take to end after the last test.
const patience = 5 * time.Second

// Run runs the tests, and makes them fail when goroutines of theirs are left. It returns
// the exit code of the test program.
func Run(m *testing.M) int {
	code := m.Run()
	if code != 0 {
		return code
	}
	var left []string
	for waited := time.Duration(0); waited < patience; waited += patience / 500 {
		if left = Left(); len(left) == 0 {
			return 0
		}
		time.Sleep(patience / 500)
	}
	fmt.Fprintf(os.Stderr, "the tests left %d goroutines:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
	return 1
}

// Left are the stacks of the goroutines beside the caller's, but those of the testing
// package and of the runtime.
func Left() []string {
	stacks := make([]byte, 1<<20)
	stacks = stacks[:runtime.Stack(stacks, true)]
	all := strings.Split(strings.TrimSpace(string(stacks)), "\n\n")
	var left []string
	for _, stack := range all[1:] { // the first is the caller's
		if !mayStay(stack) {
			left = append(left, stack)
		}
	}
	return left
}

// mayStay reports a goroutine that is nobody's of the tests.
func mayStay(stack string) bool {
	for _, own := range []string{"created by testing.", "_testmain.go:", "os/signal.loop", "runtime.ReadTrace("} {
		if strings.Contains(stack, own) {
			return true
		}
	}
	return false
}
