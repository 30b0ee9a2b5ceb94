package pluginhost

import (
	"errors"
	"os/exec"
	"runtime"
	"sync"
)

var errClosed = errors.New("the plugin host is closed")

// spawner starts all processes of a host from one OS thread. Linux sends the
// parent-death signal when the *thread* that started the child ends, so this
// thread lives as long as the host does.
type spawner struct {
	requests chan spawnRequest
	once     sync.Once
	stop     chan struct{}
	done     chan struct{}
}

type spawnRequest struct {
	cmd   *exec.Cmd
	reply chan error
}

func newSpawner() *spawner {
	return &spawner{requests: make(chan spawnRequest), stop: make(chan struct{}), done: make(chan struct{})}
}

// start starts cmd on the long-lived thread.
func (s *spawner) start(cmd *exec.Cmd) error {
	s.once.Do(func() { go s.run() })
	request := spawnRequest{cmd: cmd, reply: make(chan error, 1)}
	select {
	case s.requests <- request:
		return <-request.reply
	case <-s.stop:
		return errClosed
	}
}

func (s *spawner) run() {
	// Never unlocked: the thread ends with this goroutine.
	runtime.LockOSThread()
	defer close(s.done)
	for {
		select {
		case request := <-s.requests:
			request.reply <- request.cmd.Start()
		case <-s.stop:
			return
		}
	}
}

// close ends the thread; every process must have ended before. Call it once.
func (s *spawner) close() {
	close(s.stop)
	s.once.Do(func() { close(s.done) }) // it never ran
	<-s.done
}
