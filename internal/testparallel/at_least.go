// Package testparallel says how many tests of a package run beside each other.
package testparallel

import (
	"flag"
	"runtime"
	"strconv"
)

// AtLeast lets n parallel tests of this test binary run at a time, where fewer
// processors are there and -parallel says nothing: for tests that wait for
// processes and answers more than they compute. A TestMain calls it first.
func AtLeast(n int) {
	flag.Parse()
	said := false
	flag.Visit(func(f *flag.Flag) { said = said || f.Name == "test.parallel" })
	if said || runtime.GOMAXPROCS(0) >= n {
		return
	}
	if err := flag.Set("test.parallel", strconv.Itoa(n)); err != nil {
		panic(err) // not a test binary
	}
}
