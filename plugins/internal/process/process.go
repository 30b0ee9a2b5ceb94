// Package process starts programs for plugins: what a program starts in turn ends with it,
// as far as the system has means for that, and nothing of the plugin's own is handed on that
// was not named.
package process

import (
	"errors"
	"os"
	"syscall"
)

// Process is a program that runs, with what it has started.
type Process struct {
	PID    int
	Ended  chan struct{}    // closed when the program itself has ended
	State  *os.ProcessState // of its end
	Failed error            // of the wait for it

	Signal func(sig syscall.Signal) // to the program and all that it has started
	Leave  func()                   // gives up what Signal needs; once, at the end
}

// Streams are the three streams of a program, its ends of them.
type Streams struct{ Stdin, Stdout, Stderr *os.File }

// Start starts a program. What it starts in turn is ended with it, as far as the system
// has means for that: see launch.
func Start(program string, argv, env []string, dir string, s Streams) (*Process, error) {
	p := &Process{Ended: make(chan struct{})}
	started, err := launch(p, program, argv, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{s.Stdin, s.Stdout, s.Stderr}})
	if err != nil {
		return nil, err
	}
	p.PID = started.Pid
	go func() {
		defer close(p.Ended)
		p.State, p.Failed = started.Wait()
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
