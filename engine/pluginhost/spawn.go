package pluginhost

import (
	"errors"
	"os"
	"os/exec"
	"sync"

	"github.com/flowrun/flowrun/engine/pluginhost/confine"
)

var errClosed = errors.New("the plugin host is closed")

// spawner starts all processes of a host, each from an OS thread of its own that
// lives as long as the process: the thread is put under the process's rules, which the
// process inherits, and Linux sends the parent-death signal when the *thread* that
// started the child ends.
type spawner struct {
	mu      sync.Mutex
	closed  bool
	threads sync.WaitGroup
}

func newSpawner() *spawner { return &spawner{} }

// start starts cmd under the rules; nil = under none. The channel is closed when the
// process has ended and is not reaped yet.
func (s *spawner) start(cmd *exec.Cmd, rules *confine.Rules) (ended <-chan struct{}, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, errClosed
	}
	// What os learns of the kernel once is learned here, where nothing is closed.
	_, _ = os.FindProcess(os.Getpid())
	started, over := make(chan error), make(chan struct{})
	s.threads.Add(1)
	onThread(func() {
		defer s.threads.Done()
		if err := startUnder(rules, cmd); err != nil {
			started <- err
			return
		}
		started <- nil
		awaitExit(cmd.Process.Pid)
		close(over)
	})
	return over, <-started
}

// startUnder puts the calling thread under the rules and starts cmd from it.
func startUnder(rules *confine.Rules, cmd *exec.Cmd) error {
	if rules != nil {
		done, err := confine.Apply(*rules)
		if err != nil {
			return err
		}
		defer done()
	}
	return cmd.Start()
}

// close waits for the threads; every process must have ended before.
func (s *spawner) close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.threads.Wait()
}
