package schedules

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
)

// role is what a child is told.
type role struct {
	Dir    string `json:"dir"`
	KillAt int    `json:"kill_at"` // it dies at this commit; 0 = at none
	Stage  string `json:"stage"`   // before or after it
	// Apart is the control: runs are started, and what was fired is noted
	// afterwards, in a file of its own.
	Apart bool `json:"apart"`
}

// clockFile holds how far the clock is set forward, in nanoseconds.
const clockFile = "clock"

// clock is the wall clock of a child: its tests set it while it runs.
type clock struct{ ahead atomic.Int64 }

func (c *clock) now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

// follow reads the clock's file again and again.
func (c *clock) follow(dir string) {
	for {
		c.read(dir)
		time.Sleep(5 * time.Millisecond)
	}
}

func (c *clock) read(dir string) {
	text, err := os.ReadFile(filepath.Join(dir, clockFile))
	if err != nil {
		return // it is being written
	}
	if ahead, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil {
		c.ahead.Store(ahead)
	}
}

func setClock(t *testing.T, dir string, ahead time.Duration) {
	t.Helper()
	next := filepath.Join(dir, clockFile+".next")
	if err := os.WriteFile(next, strconv.AppendInt(nil, int64(ahead), 10), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(next, filepath.Join(dir, clockFile)); err != nil {
		t.Fatal(err)
	}
}

func config(dir string, now func() time.Time, reached func(stage string)) workspace.Config {
	return workspace.Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, Environ: os.Environ(),
		Executable: os.Args[0], Version: "test", Now: now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler), OnCommit: reached,
	}
}

func open(c workspace.Config) (*engine.Engine, error) {
	project, err := engine.LoadProject(context.Background(), c)
	if err != nil {
		return nil, fmt.Errorf("load project: %w", err)
	}
	return engine.Open(context.Background(), project)
}

// serve serves until the process is killed.
func (r role) serve() int {
	c := new(clock)
	c.read(r.Dir)
	go c.follow(r.Dir)
	commits := atomic.Int64{}
	e, err := open(config(r.Dir, c.now, func(stage string) {
		if stage == "before" {
			commits.Add(1)
		}
		if r.KillAt > 0 && stage == r.Stage && commits.Load() >= int64(r.KillAt) {
			_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
			select {}
		}
	}))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	if r.Apart {
		err = serveApart(e, r.Dir, c.now)
	} else {
		err = e.AlwaysOn(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 3
	}
	fmt.Println("serves")
	fmt.Fprintln(os.Stderr, <-e.Failed())
	return 4
}

// serveApart is a scheduler as one would write it first: the run, then the note
// that its slot was fired.
func serveApart(e *engine.Engine, dir string, now func() time.Time) error {
	noted := filepath.Join(dir, "fired")
	done := now().Truncate(time.Second)
	switch text, err := os.ReadFile(noted); {
	case err == nil:
		if done, err = time.Parse(time.RFC3339, string(text)); err != nil {
			return err
		}
	case !errors.Is(err, fs.ErrNotExist):
		return err
	}
	go func() {
		for {
			for slot := done.Add(time.Second); !slot.After(now()); slot = slot.Add(time.Second) {
				_, problems, err := e.StartNamed(context.Background(), "many", engine.NamedStart{ScheduledAt: slot})
				if err != nil || problems.HasErrors() {
					fmt.Fprintln(os.Stderr, err, problems)
					os.Exit(4)
				}
				if err := os.WriteFile(noted, []byte(slot.Format(time.RFC3339)), 0o600); err != nil {
					fmt.Fprintln(os.Stderr, err)
					os.Exit(4)
				}
				done = slot
			}
			time.Sleep(10 * time.Millisecond)
		}
	}()
	return nil
}

// child is a server that was started.
type child struct {
	cmd   *exec.Cmd
	out   bytes.Buffer
	ended chan struct{}
}

func (r role) start(t *testing.T) *child {
	t.Helper()
	encoded, err := json.Marshal(r)
	if err != nil {
		t.Fatal(err)
	}
	c := &child{cmd: exec.Command(os.Args[0]), ended: make(chan struct{})}
	c.cmd.Env = append(os.Environ(), roleVariable+"="+string(encoded))
	c.cmd.Stderr = &c.out
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait() // how it ended stands in ProcessState
		close(c.ended)
	}()
	return c
}

// live waits until the child has died by itself, or kills it after a while.
func (c *child) live(t *testing.T, most time.Duration) {
	t.Helper()
	select {
	case <-c.ended:
	case <-time.After(most):
		c.kill()
	}
	if status, ok := c.cmd.ProcessState.Sys().(syscall.WaitStatus); !ok || status.Signal() != syscall.SIGKILL {
		t.Fatalf("the server ended by itself: %v\n%s", c.cmd.ProcessState, c.out.String())
	}
}

func (c *child) kill() {
	_ = c.cmd.Process.Kill() // it may have died just now
	<-c.ended
}
