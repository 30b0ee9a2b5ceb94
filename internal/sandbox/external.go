package sandbox

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"time"
)

// How long a simulator of somebody else's may take.
const (
	answerWithin = 30 * time.Second // to print its config
	endWithin    = 3 * time.Second  // to end by itself when its stdin has ended
)

// maxConfig bounds the config that a simulator prints, in bytes.
const maxConfig = 1 << 20

// stderrKept is how much of the end of a simulator's stderr is shown.
const stderrKept = 4 << 10

// External is a simulator of somebody else's.
type External struct {
	Name    string   // of the connection or the plugin, for messages
	Command []string // program and arguments
	Dir     string   // where it runs
	Env     []string // its whole environment
	// Hold is the command that holds it: a process that runs Command in its own
	// group and kills the group when its stdin ends, however this process ends.
	Hold []string
}

// ExternalError says why a simulator can't be used.
type ExternalError struct {
	Name, Program string
	Reason        string
	Stderr        string // the last of it
}

func (e *ExternalError) Error() string {
	text := fmt.Sprintf("the simulator of %s (%s) %s", e.Name, e.Program, e.Reason)
	if e.Stderr != "" {
		text += "; it wrote:\n" + e.Stderr
	}
	return text
}

// external is one that runs.
type external struct {
	command *exec.Cmd
	stdin   io.Closer
	ended   chan struct{} // closed when it is reaped
}

// Run starts a simulator and returns the config that it prints. It ends with the
// sandbox.
func (s *Sandbox) Run(ctx context.Context, e External) (json.RawMessage, error) {
	failed := func(stderr string, format string, args ...any) error {
		return &ExternalError{Name: e.Name, Program: strings.Join(e.Command, " "), Reason: fmt.Sprintf(format, args...), Stderr: strings.TrimSpace(stderr)}
	}
	argv := append(append([]string{}, e.Hold...), e.Command...)
	command := exec.Command(argv[0], argv[1:]...) //nolint:gosec // the user's own command
	command.Dir, command.Env = e.Dir, e.Env
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	stdin, err := command.StdinPipe()
	if err != nil {
		return nil, err
	}
	stdout, err := command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	errs := &tail{most: stderrKept}
	command.Stderr = errs
	if err := command.Start(); err != nil {
		return nil, failed("", "does not start: %v", err)
	}
	running := &external{command: command, stdin: stdin, ended: make(chan struct{})}
	s.externals = append(s.externals, running)
	printed := make(chan config, 1)
	go func() {
		printed <- readConfig(stdout)
		_, _ = io.Copy(io.Discard, stdout) // what it says later is nobody's
		_ = command.Wait()                 // its end is told by what it printed
		close(running.ended)
	}()
	timer := time.NewTimer(answerWithin)
	defer timer.Stop()
	select {
	case got := <-printed:
		if got.err != nil {
			running.end()
			return nil, failed(errs.String(), "%s", got.err)
		}
		return got.document, nil
	case <-timer.C:
		running.end()
		return nil, failed(errs.String(), "printed no config within %s", answerWithin)
	case <-ctx.Done():
		running.end()
		return nil, ctx.Err()
	}
}

type config struct {
	document json.RawMessage
	err      error
}

// readConfig reads one JSON object.
func readConfig(from io.Reader) config {
	var document map[string]json.RawMessage
	limited := &io.LimitedReader{R: from, N: maxConfig}
	decoder := json.NewDecoder(limited)
	err := decoder.Decode(&document)
	switch {
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) && limited.N > 0:
		return config{err: errors.New("ended before it printed its config")}
	case limited.N <= 0:
		return config{err: fmt.Errorf("printed more than %d bytes", maxConfig)}
	case err != nil || document == nil:
		return config{err: errors.New("did not print its config as one JSON object")}
	}
	encoded, err := json.Marshal(document)
	return config{document: encoded, err: err}
}

// end ends a simulator: it is asked to by the end of its stdin, and its group is
// killed when that does not help.
func (e *external) end() {
	_ = e.stdin.Close()
	select {
	case <-e.ended:
		return
	case <-time.After(endWithin):
	}
	_ = syscall.Kill(-e.command.Process.Pid, syscall.SIGKILL) // it may have ended just now
	<-e.ended
}

// tail keeps the last bytes that are written to it. Safe for concurrent use.
type tail struct {
	most int
	mu   sync.Mutex
	data []byte
}

// Write keeps the end of data.
func (t *tail) Write(data []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.data = append(t.data, data...)
	if over := len(t.data) - t.most; over > 0 {
		t.data = bytes.Clone(t.data[over:])
	}
	return len(data), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return string(t.data)
}

// Environ is the environment of a simulator: what a program needs to run, and no
// secret of flowrun's.
func Environ(environ []string) []string {
	var kept []string
	for _, entry := range environ {
		name, _, _ := strings.Cut(entry, "=")
		switch name {
		case "PATH", "HOME", "USER", "LANG", "LC_ALL", "TZ", "TMPDIR", "XDG_CACHE_HOME", "GOCACHE", "GOPATH", "GOMODCACHE", "GOFLAGS":
			kept = append(kept, entry)
		}
	}
	return append(kept, "FLOWRUN_SANDBOX=1")
}

// Hold runs a command in this process's group until it ends or lifeline does, and
// kills the whole group then. It returns the command's exit code where it ended by
// itself. stdout and stderr are the command's.
func Hold(argv []string, lifeline io.Reader, stdout, stderr io.Writer) int {
	if len(argv) == 0 {
		return 2
	}
	in, keep, err := os.Pipe()
	if err != nil {
		fmt.Fprintln(stderr, err)
		return 1
	}
	command := exec.Command(argv[0], argv[1:]...) //nolint:gosec // the user's own command
	command.Stdin, command.Stdout, command.Stderr = in, stdout, stderr
	command.SysProcAttr = withParent()
	if err := command.Start(); err != nil {
		fmt.Fprintln(stderr, err)
		return 127
	}
	_ = in.Close()
	if own, ok := stdout.(io.Closer); ok {
		_ = own.Close() // the command's alone: its end is the end of what is printed
	}
	ended := make(chan int, 1)
	go func() {
		_ = command.Wait() // its exit code tells
		ended <- command.ProcessState.ExitCode()
	}()
	gone := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, lifeline)
		close(gone)
	}()
	code := 0
	select {
	case code = <-ended:
	case <-gone:
		_ = keep.Close()
		_ = command.Process.Signal(syscall.SIGTERM)
		select {
		case <-ended:
		case <-time.After(holdGrace):
		}
	}
	killGroup() // what the command has started, and this process with it
	return code
}

// holdGrace is how long a command may take to end by itself.
const holdGrace = time.Second

// killGroup kills the group that this process leads; a process that leads none
// kills nothing.
func killGroup() {
	if syscall.Getpgrp() == os.Getpid() {
		_ = syscall.Kill(0, syscall.SIGKILL)
	}
}
