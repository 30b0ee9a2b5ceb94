package main_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testparallel"
)

// suiteDir is a folder for what the tests of the package share; TestMain makes
// and removes it.
var suiteDir string

// built is flowrun, built once for all tests of the package.
var built = sync.OnceValues(func() (string, error) {
	binary := filepath.Join(suiteDir, "flowrun")
	return binary, testbuild.Program(binary, ".")
})

// buildBinary gives a flowrun at a path of the test's own: its processes can be
// told from those of tests beside it.
func buildBinary(t *testing.T) string {
	t.Helper()
	original, err := built()
	if err != nil {
		t.Fatal(err)
	}
	binary := filepath.Join(t.TempDir(), "flowrun")
	if err := testbuild.Copy(binary, original); err != nil {
		t.Fatal(err)
	}
	return binary
}

// buildEvil puts the plugin of testdata/evil into a folder, under a name.
func buildEvil(t *testing.T, dir, name string) {
	t.Helper()
	if err := testbuild.Program(filepath.Join(dir, name), "./testdata/evil", "-ldflags=-s -w -X main.name="+name); err != nil {
		t.Fatal(err)
	}
}

// suite is the tests of the package, with a folder for what they share.
type suite struct{ tests *testing.M }

// Run runs the tests and removes what they shared.
func (s suite) Run() int {
	testparallel.AtLeast(8)
	dir, err := os.MkdirTemp("", "flowrun-suite-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "a folder for the tests:", err)
		return 1
	}
	suiteDir = dir
	code := s.tests.Run()
	_ = os.RemoveAll(dir) // in the folder for temporary files
	return code
}

// startSandbox runs `flowrun sandbox` and stores the flowrun.yaml that it
// prints.
func startSandbox(t *testing.T, binary, dir string) string {
	t.Helper()
	sandbox := exec.Command(binary, "sandbox", "--approve-after", "never")
	sandbox.Dir = dir
	output, err := sandbox.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := sandbox.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = sandbox.Process.Signal(os.Interrupt)
		_ = sandbox.Wait() // ended by the signal
	})
	config := filepath.Join(dir, "flowrun.yaml")
	var text strings.Builder
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		text.WriteString(lines.Text() + "\n")
		if _, last, ok := strings.Cut(text.String(), "\n  tasks:\n"); ok && strings.Contains(last, "rate:") { // the last of them
			break
		}
	}
	go func() { _, _ = io.Copy(io.Discard, output) }()
	if err := os.WriteFile(config, []byte(text.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return config
}

var baseURL = regexp.MustCompile(`(?s)netinfo:.*?(http://127\.0\.0\.1:[0-9]+)`)
