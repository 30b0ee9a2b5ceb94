//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/test/systrace"
)

// childVariable makes the test program play a child process: a verb, then its
// arguments in JSON.
const childVariable = "STOREFAULTS_CHILD"

func TestMain(m *testing.M) {
	if role, ok := os.LookupEnv(childVariable); ok {
		os.Exit(child(role))
	}
	os.Exit(m.Run())
}

func child(role string) int {
	verb, argument, _ := strings.Cut(role, " ")
	switch verb {
	case "work":
		return work(argument)
	case "large":
		return largeWork(argument)
	case "judge":
		return judge(os.Stdin, os.Stdout)
	case "fill":
		return fill(argument)
	}
	fmt.Fprintln(os.Stderr, "unknown role", role)
	return 2
}

func childEnv(verb, argument string) []string {
	return append(os.Environ(), childVariable+"="+verb+" "+argument, "GORACE=atexit_sleep_ms=0", "GOMAXPROCS=2", "GOGC=400")
}

// testSeed is the same at every commit; FLOWRUN_SEED=random, or a number, takes
// another.
func testSeed(t *testing.T) uint64 {
	t.Helper()
	seed := uint64(1)
	switch text := os.Getenv("FLOWRUN_SEED"); text {
	case "":
	case "random":
		seed = uint64(time.Now().UnixNano())
	default:
		parsed, err := strconv.ParseUint(text, 10, 64)
		if err != nil {
			t.Fatalf("FLOWRUN_SEED=%s: %v", text, err)
		}
		seed = parsed
	}
	t.Logf("seed: FLOWRUN_SEED=%d", seed)
	return seed
}

func skipWhereRefused(t *testing.T, err error) {
	t.Helper()
	if errors.Is(err, systrace.ErrRefused) {
		t.Skipf("SKIPPED, this system does not let a process be traced: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// scratch returns a folder in memory where there is one: images are many, and
// none needs a disk.
func scratch(t *testing.T) string {
	t.Helper()
	var memory syscall.Statfs_t
	if err := syscall.Statfs("/dev/shm", &memory); err != nil || memory.Bavail*uint64(memory.Bsize) < 1<<30 {
		return t.TempDir()
	}
	folder, err := os.MkdirTemp("/dev/shm", "flowrun-")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return folder
}

// keep saves the first files that a suite does not like to the folder of
// FLOWRUN_KEEP: each failure becomes a fixture.
func keep(t *testing.T, images map[string]image) {
	folder := os.Getenv("FLOWRUN_KEEP")
	if folder == "" {
		return
	}
	for n := range 20 {
		at := filepath.Join(folder, fmt.Sprintf("%s-%d", filepath.Base(t.Name()), n))
		if err := os.Mkdir(at, 0o700); err != nil {
			continue
		}
		t.Logf("kept in %s: %v", at, writeImages(at, images))
		return
	}
}
