package process

import (
	"errors"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// launch starts a program from an OS thread of its own, which lives as long as the command.
//
// The sandbox of plugins lets no process make a group, so that none outlives its plugin. So
// the thread enters a Landlock domain of its own, which what it starts inherits and can't
// leave, and which can signal nothing outside of itself. A signal to all processes, sent by
// that thread, reaches the command and all that it has started, and nothing else: also what
// was orphaned meanwhile. Where the kernel has no such domain (before 6.12) the command gets
// a group, and where that is refused too it alone is signaled; what it has started ends with
// the plugin then.
func launch(p *Process, program string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	type result struct {
		process *os.Process
		err     error
	}
	started, orders, over := make(chan result), make(chan syscall.Signal), make(chan struct{})
	go func() {
		runtime.LockOSThread() // never unlocked: the thread ends with this goroutine, or stands still where it is the first
		dies := func(own *syscall.SysProcAttr) { own.Pdeathsig = syscall.SIGKILL }
		scoped := enterScope()
		if !scoped {
			process, grouped, err := groupOrNone(program, argv, attr, dies)
			if err == nil {
				p.Signal = toGroup(process.Pid, grouped)
			}
			started <- result{process, err}
			if err == nil {
				<-over // the death signal is of the thread
			}
			return
		}
		own := *attr
		own.Sys = &syscall.SysProcAttr{}
		dies(own.Sys)
		process, err := os.StartProcess(program, argv, &own)
		started <- result{process, err}
		if err != nil {
			return
		}
		for {
			select {
			case sig := <-orders:
				_ = unix.Kill(-1, sig) // this domain's alone; nothing is left to signal where it fails
			case <-over:
				return
			}
		}
	}()
	done := <-started
	if done.err != nil {
		return nil, done.err
	}
	if p.Signal == nil {
		p.Signal = func(sig syscall.Signal) {
			select {
			case orders <- sig:
			case <-over:
			}
		}
	}
	p.Leave = func() { close(over) }
	return done.process, nil
}

// enterScope puts the calling thread, and what it starts from now on, into a domain that
// signals nothing outside of itself. It reports whether that holds: it is tried before
// anything relies on it.
func enterScope() bool {
	attr := unix.LandlockRulesetAttr{Scoped: unix.LANDLOCK_SCOPE_SIGNAL}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), unsafe.Sizeof(attr), 0)
	if errno != 0 {
		return false
	}
	defer func() { _ = unix.Close(int(set)) }()
	if unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != nil {
		return false
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return false
	}
	return errors.Is(unix.Kill(unix.Getppid(), 0), unix.EPERM) // who started the plugin is outside
}
