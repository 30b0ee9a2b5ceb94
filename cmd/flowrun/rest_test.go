//go:build linux

package main_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testcommand"
)

// TestPluginsEndWhileACommandPrints: a command that has seen the end of its run lets its
// plugins end before it prints what came of it, and closes the store beside their end (ADR 76).
func TestPluginsEndWhileACommandPrints(t *testing.T) {
	dir := oneStepProject(t, "auto")
	write(t, dir, "one.yaml", "flowrun: v1\nname: one\nsteps:\n  - {id: one, uses: files.read, with: {root: data, path: a.txt}}\noutputs: {text: \"${{ steps.one.outputs.text }}\"}\n")
	pids := filepath.Join(dir, ".flowrun", "state", "plugins", "pids.json")
	running := func() bool {
		data, err := os.ReadFile(pids)
		return err == nil && strings.Contains(string(data), `"files"`)
	}
	var began, printed, ended bool
	stderr := &seen{tell: func(text string) { began = began || strings.Contains(text, "one succeeded") && running() }}
	stdout := &seen{tell: func(string) {
		printed = true
		for until := time.Now().Add(20 * time.Second); !ended && time.Now().Before(until); time.Sleep(time.Millisecond) {
			ended = !running()
		}
	}}
	code, err := testcommand.Command{Dir: dir, Executable: buildBinary(t), Environ: append(os.Environ(), "HOME="+dir)}.Run(stdout, stderr, "run", "one.yaml")
	if err != nil {
		t.Fatal(err)
	}
	if code != 0 || !printed {
		t.Fatalf("exit %d, printed: %v\n%s", code, printed, stderr.text.String())
	}
	if !began || !ended {
		t.Errorf("the plugin ran when the step had ended: %v, and had ended before the outputs were printed: %v", began, ended)
	}
}

// seen is an output that tells of what is written before it is.
type seen struct {
	mu   sync.Mutex
	text bytes.Buffer
	tell func(text string)
}

func (s *seen) Write(data []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tell(string(data))
	return s.text.Write(data)
}
