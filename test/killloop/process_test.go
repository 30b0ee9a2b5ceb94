package killloop

import (
	"bufio"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// process is a child that was started.
type process struct {
	cmd    *exec.Cmd
	stdin  io.Closer
	stderr bytes.Buffer
	opened chan struct{} // closed when it has the store
	ended  chan struct{} // closed when all its lines were read
	once   sync.Once
	lines  []line // to be read when ended
}

// startChild starts a child in its role. hear, unless nil, gets each line as it
// comes, on one goroutine.
func startChild(t *testing.T, r role, hear func(line)) *process {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	p := &process{cmd: exec.Command(program()), opened: make(chan struct{}), ended: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roleVariable+"="+string(encoded), "GORACE=atexit_sleep_ms=0")
	p.cmd.Stderr = &p.stderr
	out, err := p.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if p.stdin, err = p.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.kill)
	go p.read(out, hear)
	return p
}

// read takes the lines until the pipe ends. A line that the kill cut short was
// not told.
func (p *process) read(out io.Reader, hear func(line)) {
	defer close(p.ended)
	defer p.once.Do(func() { close(p.opened) })
	lines := bufio.NewReader(out)
	for {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		var l line
		if err := json.Unmarshal(text, &l); err != nil {
			l = line{Kind: lineTrouble, Text: fmt.Sprintf("it said %q", text)}
		}
		if l.Kind == lineOpened {
			p.once.Do(func() { close(p.opened) })
		}
		if hear != nil {
			hear(l)
		}
		p.lines = append(p.lines, l)
	}
}

func (p *process) kill() { _ = p.cmd.Process.Kill() } // it may have ended

// wait returns what it said, when it has ended.
func (p *process) wait(t *testing.T, longest time.Duration) (lines []line, err error) {
	t.Helper()
	select {
	case <-p.ended:
	case <-time.After(longest):
		p.kill()
		t.Fatalf("a child did not end within %s\n%s", longest, p.stderr.String())
	}
	err = p.cmd.Wait()
	p.stdin.Close()
	lines, p.lines = p.lines, nil // the test's clean-up still holds p
	return lines, err
}

// pluginsOf lists the living plugin processes of a project: those that have their
// folders in its state directory.
func pluginsOf(t *testing.T, dir string) (found []string) {
	t.Helper()
	entries, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range entries {
		data, err := os.ReadFile(entry)
		if err != nil || !bytes.HasPrefix(data, []byte(program()+"\x00plugins\x00serve\x00")) {
			continue
		}
		environ, err := os.ReadFile(filepath.Join(filepath.Dir(entry), "environ"))
		if err != nil || len(environ) == 0 || !strings.Contains(string(environ), filepath.Join(dir, "state")) {
			continue // it has ended, or is another test's
		}
		found = append(found, filepath.Base(filepath.Dir(entry)))
	}
	return found
}

// pluginsLeft waits for the end of the plugins of a killed engine: P7 gives them
// a second.
func pluginsLeft(t *testing.T, dir string) (problems []string) {
	t.Helper()
	for deadline := time.Now().Add(time.Second); ; time.Sleep(5 * time.Millisecond) {
		left := pluginsOf(t, dir)
		if len(left) == 0 {
			return nil
		}
		if time.Now().After(deadline) {
			return []string{fmt.Sprintf("P7: plugins %v are alive a second after the engine was killed", left)}
		}
	}
}
