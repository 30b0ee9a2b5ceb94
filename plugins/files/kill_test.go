package files_test

import (
	"bufio"
	"crypto/rand"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/plugins/files"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// The environment that makes this test binary a writer: the root, and the step at which it
// kills itself; "" = it writes on and on, and is killed.
const (
	writerRoot = "FILES_TEST_ROOT"
	writerStep = "FILES_TEST_STEP"
)

// size is large enough that a write is not one page.
const size = 1 << 20

func content(n int) string { return strings.Repeat(string(rune('a'+n%26)), size) }

// TestWriter is no test: it is what the tests below kill.
func TestWriter(t *testing.T) {
	root := os.Getenv(writerRoot)
	if root == "" {
		t.Skip("it is run by the others")
	}
	n := 1
	at := os.Getenv(writerStep)
	p := sdktest.Open(t, files.NewWith(files.Options{Now: time.Now, Random: rand.Reader, Step: func(step string) error {
		if step == at {
			_ = syscall.Kill(syscall.Getpid(), syscall.SIGKILL)
			select {} // until it has come
		}
		return nil
	}}), map[string]any{"roots": map[string]any{"r": map[string]any{"path": root, "write": true}}})
	for ; ; n++ {
		if failed := p.Call("write", map[string]any{"path": "f", "content": content(n)}).Err; failed != nil {
			t.Fatal(failed)
		}
		fmt.Println("wrote")
	}
}

// writer starts one.
func writer(t *testing.T, root, step string) (*exec.Cmd, *bufio.Scanner) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestWriter$") //nolint:gosec // this binary
	cmd.Env = append(os.Environ(), writerRoot+"="+root, writerStep+"="+step)
	output, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, bufio.NewScanner(output)
}

// whole reports the letter of a file that was written as a whole.
func whole(t *testing.T, root string) byte {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(root, "f"))
	if err != nil || len(raw) != size || strings.Count(string(raw), string(raw[:1])) != size {
		t.Fatalf("%d bytes, %v: it is half of one and half of another", len(raw), err)
	}
	return raw[0]
}

// A writer that is killed at any of its steps leaves the old file or the new one.
func TestAWriterThatIsKilledLeavesAWholeFile(t *testing.T) {
	for step, want := range map[string]byte{"write": 'a', "flush": 'a', "rename": 'a', "sync": 'b'} {
		root := t.TempDir()
		if err := os.WriteFile(filepath.Join(root, "f"), []byte(content(0)), 0o600); err != nil {
			t.Fatal(err)
		}
		cmd, lines := writer(t, root, step)
		for lines.Scan() {
			t.Errorf("%s: it says %s", step, lines.Text())
		}
		_ = cmd.Wait() // it was killed
		if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
			t.Errorf("%s: it ended with %v", step, cmd.ProcessState)
		}
		if got := whole(t, root); got != want {
			t.Errorf("killed at %s it leaves %c, want %c", step, got, want)
		}
	}
}

// One that is killed anywhere, many times, too. It goes on from the file that was left.
func TestAWriterThatIsKilledAnywhereLeavesAWholeFile(t *testing.T) {
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "f"), []byte(content(0)), 0o600); err != nil {
		t.Fatal(err)
	}
	tries := 40
	if testing.Short() {
		tries = 10
	}
	left := 0
	for try := range tries {
		cmd, lines := writer(t, root, "")
		if !lines.Scan() {
			t.Fatal("it ended by itself")
		}
		for len(temporaries(t, root)) == left { // until it is inside of a write
			if t.Context().Err() != nil {
				t.Fatal("it writes no more")
			}
		}
		for range try * 200 { // some way on
			_ = os.Getpid()
		}
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for lines.Scan() { // until its end
		}
		_ = cmd.Wait() // it was killed
		whole(t, root)
		left = len(temporaries(t, root))
	}
	if left == 0 {
		t.Errorf("of %d writers none was killed inside of a write", tries)
	}
}

// temporaries are the files that are being written, or were when their writer was killed.
func temporaries(t *testing.T, root string) []string {
	t.Helper()
	left, err := filepath.Glob(filepath.Join(root, ".flowrun-*.tmp"))
	if err != nil {
		t.Fatal(err)
	}
	return left
}
