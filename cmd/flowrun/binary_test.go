package main_test

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func buildBinary(t *testing.T) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), "flowrun")
	build := exec.Command("go", "build", "-o", binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, output)
	}
	return binary
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
		if strings.Count(text.String(), "rate:") == 5 { // one for each service
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
