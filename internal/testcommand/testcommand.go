// Package testcommand runs flowrun's commands in the process of a test: a program
// that only asks, checks or prints need not be started for that. Its plugins are
// processes as ever.
package testcommand

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/internal/cli"
)

// Command is what a flowrun in this process takes from its surroundings. What is
// killed, gets signals, has a terminal, or asks while a child of this process begins
// to own the store is started as a process: a child of an owner of the store is
// taken for one of its plugins.
type Command struct {
	Dir        string   // the working directory
	Executable string   // a flowrun, which is run again for the bundled plugins
	Environ    []string // all of the environment
	User       string
	Stdin      io.Reader      // nil = it is empty
	Location   *time.Location // times are shown in it; nil = UTC
}

// errExit says that a command ended its process.
var errExit = errors.New("the process was to end at once")

// Run runs `flowrun args...` and returns its exit code. A panic is an error. Safe
// for concurrent use where the writers are.
func (c Command) Run(stdout, stderr io.Writer, args ...string) (code int, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("flowrun %q panicked: %v\n%s", args, cause, debug.Stack())
		}
	}()
	if c.Stdin == nil {
		c.Stdin = strings.NewReader("")
	}
	if c.Location == nil {
		c.Location = time.UTC
	}
	return cli.Run(args, cli.System{
		Stdout: stdout, Stderr: stderr, Stdin: c.Stdin,
		Environ: c.Environ, Dir: c.Dir, Executable: c.Executable, Host: "localhost", User: c.User, PID: os.Getpid(), Version: "dev",
		Now: time.Now, Entropy: rand.Reader, Location: c.Location,
		Signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
		Exit:    func(int) { panic(errExit) },
	}), nil
}

// Output runs `flowrun args...` and returns what it prints.
func (c Command) Output(args ...string) (code int, stdout, stderr string, err error) {
	var out, errs Buffer
	code, err = c.Run(&out, &errs, args...)
	return code, out.String(), errs.String(), err
}

// Combined runs `flowrun args...` and returns what it prints, stdout and stderr in
// the order of the writes.
func (c Command) Combined(args ...string) (code int, output string, err error) {
	var all Buffer
	code, err = c.Run(&all, &all, args...)
	return code, all.String(), err
}

// Buffer keeps what is written to it. Safe for concurrent use.
type Buffer struct {
	mu  sync.Mutex
	all bytes.Buffer
}

// Write keeps the data.
func (b *Buffer) Write(data []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.Write(data)
}

// String is what was written until now.
func (b *Buffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.all.String()
}
