package exec

import (
	"errors"
	"os"
	"syscall"
)

// process is a command that runs, with what it has started.
type process struct {
	pid    int
	ended  chan struct{} // closed when the command itself has ended
	state  *os.ProcessState
	failed error // of the wait

	signal func(sig syscall.Signal) // to the command and all that it has started
	leave  func()                   // gives up what signal needs
}

// files are the three streams of a command.
type files struct{ stdin, stdout, stderr *os.File }

// start starts a program. What it starts in turn is ended with it, as far as the system
// has means for that: see launch.
func start(program string, argv, env []string, dir string, f files) (*process, error) {
	p := &process{ended: make(chan struct{})}
	started, err := launch(p, program, argv, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{f.stdin, f.stdout, f.stderr}})
	if err != nil {
		return nil, err
	}
	p.pid = started.Pid
	go func() {
		defer close(p.ended)
		p.state, p.failed = started.Wait()
	}()
	return p, nil
}

// groupOrNone starts a program as the leader of a group of its own, and where the sandbox
// refuses groups, without one. The error of the second try counts.
func groupOrNone(program string, argv []string, attr *os.ProcAttr, deathSignal func(*syscall.SysProcAttr)) (started *os.Process, grouped bool, err error) {
	own := *attr
	own.Sys = &syscall.SysProcAttr{Setpgid: true}
	deathSignal(own.Sys)
	if started, err = os.StartProcess(program, argv, &own); err == nil {
		return started, true, nil
	}
	if !errors.Is(err, syscall.EPERM) {
		return nil, false, err
	}
	own.Sys = &syscall.SysProcAttr{}
	deathSignal(own.Sys)
	started, err = os.StartProcess(program, argv, &own)
	return started, false, err
}

// toGroup signals a group, or the command alone where it has none.
func toGroup(pid int, grouped bool) func(sig syscall.Signal) {
	if grouped {
		pid = -pid
	}
	return func(sig syscall.Signal) { _ = syscall.Kill(pid, sig) } // what has ended hears nothing
}
