//go:build linux && (amd64 || arm64)

package systrace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ErrRefused says that this system does not let a process be traced.
var ErrRefused = errors.New("tracing is refused")

// Command is a process to be traced. Its files are handed over as they are: a
// reader of a pipe's other end is the caller's.
type Command struct {
	Path  string
	Args  []string // with the program's own name first
	Env   []string
	Dir   string
	Files []*os.File // standard input, output, error and so on; nil = closed
}

// Outcome is how the process ended.
type Outcome struct {
	Exit   int            // the exit code, -1 when a signal ended it
	Signal syscall.Signal // that ended it
}

// Run starts the command, reports the calls of all its threads to the handler
// and waits for its end. Processes that it starts itself are not followed. The
// process leads a process group, and is killed when ctx ends. Errors: ErrRefused when tracing is not
// allowed here, the error of ctx, else that of the system.
//
// Run keeps its own thread of the operating system; several may run at the same
// time.
func Run(ctx context.Context, command Command, handler Handler) (Outcome, error) {
	runtime.LockOSThread() // a tracer is a thread, not a process
	defer runtime.UnlockOSThread()
	process, err := os.StartProcess(command.Path, command.Args, &os.ProcAttr{
		Dir: command.Dir, Env: command.Env, Files: command.Files,
		Sys: &syscall.SysProcAttr{Ptrace: true, Setpgid: true},
	})
	if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.EACCES) && runnable(command.Path) {
		return Outcome{}, fmt.Errorf("trace %s: %w: %w", command.Path, ErrRefused, err)
	}
	if err != nil {
		return Outcome{}, fmt.Errorf("trace %s: %w", command.Path, err)
	}
	defer func() { _ = process.Release() }()
	t := &tracer{pid: process.Pid, handler: handler, threads: map[int]*thread{}, shapes: shapes()}
	ended := context.AfterFunc(ctx, func() { _ = unix.Kill(t.pid, unix.SIGKILL) })
	defer ended()
	if err := t.run(); err != nil {
		_ = unix.Kill(t.pid, unix.SIGKILL)
		t.reap()
		return t.outcome, fmt.Errorf("trace %s: %w", command.Path, err)
	}
	if t.outcome.Exit < 0 && ctx.Err() != nil {
		return t.outcome, fmt.Errorf("trace %s: %w", command.Path, ctx.Err())
	}
	return t.outcome, nil
}

// runnable reports whether a refusal is not that of the file itself.
func runnable(path string) bool { return unix.Access(path, unix.X_OK) == nil }

type tracer struct {
	pid     int
	handler Handler
	shapes  map[uint64]shape
	threads map[int]*thread
	stops   uint64
	outcome Outcome
}

const traceOptions = unix.PTRACE_O_TRACESYSGOOD | unix.PTRACE_O_TRACECLONE | unix.PTRACE_O_TRACEEXEC | unix.PTRACE_O_EXITKILL

// syscallStop is the signal of a stop at a call.
const syscallStop = unix.SIGTRAP | 0x80

// run takes the process from its first stop to its end. Only its own group of
// processes is waited for: other children of this program are not ours, though
// this thread may have started them.
func (t *tracer) run() error {
	if _, _, err := t.wait(); err != nil { // it stops after its exec
		return err
	}
	if err := unix.PtraceSetOptions(t.pid, traceOptions); err != nil {
		return fmt.Errorf("set options: %w", err)
	}
	t.threads[t.pid] = &thread{id: t.pid}
	if err := resume(t.pid, 0); err != nil {
		return err
	}
	for {
		id, status, err := t.wait()
		switch {
		case errors.Is(err, unix.ECHILD):
			return nil // all threads have ended
		case err != nil:
			return err
		case status.Exited() || status.Signaled():
			t.ended(id, status)
			continue
		}
		pass, err := t.stopped(id, status)
		if err != nil {
			return err
		}
		if err := resume(id, pass); err != nil {
			return err
		}
	}
}

// wait returns the next stop or end of a thread.
func (t *tracer) wait() (int, unix.WaitStatus, error) {
	for {
		var status unix.WaitStatus
		found, err := unix.Wait4(-t.pid, &status, unix.WALL|unix.WNOTHREAD, nil)
		if !errors.Is(err, unix.EINTR) {
			return found, status, err
		}
	}
}

// resume lets a thread go on. One that was killed meanwhile is told by wait.
func resume(id int, signal int) error {
	if err := unix.PtraceSyscall(id, signal); err != nil && !errors.Is(err, unix.ESRCH) {
		return fmt.Errorf("resume thread %d: %w", id, err)
	}
	return nil
}

func (t *tracer) ended(id int, status unix.WaitStatus) {
	delete(t.threads, id)
	if id != t.pid {
		return
	}
	t.outcome = Outcome{Exit: status.ExitStatus()}
	if status.Signaled() {
		t.outcome = Outcome{Exit: -1, Signal: status.Signal()}
	}
}

// stopped handles a stop and returns the signal that the thread shall get.
func (t *tracer) stopped(id int, status unix.WaitStatus) (pass int, err error) {
	at, known := t.threads[id]
	if !known {
		at = &thread{id: id}
		t.threads[id] = at
		if status.StopSignal() == unix.SIGSTOP {
			return 0, nil // a new thread begins with it
		}
	}
	switch signal := status.StopSignal(); {
	case signal == syscallStop:
		err := t.atCall(at)
		if errors.Is(err, unix.ESRCH) {
			err = nil // killed meanwhile
		}
		return 0, err
	case signal == unix.SIGTRAP && status.TrapCause() > 0:
		return 0, nil // a new thread, or a new program
	default:
		return int(signal), nil
	}
}

// callInfo is struct ptrace_syscall_info of ptrace.h.
type callInfo struct {
	op          uint8
	_           [3]uint8
	_           uint32
	_, _        uint64
	nrOrResult  uint64
	argsOrError [6]uint64
	_           uint64
}

const (
	atEntry = 1
	atExit  = 2
)

func getCallInfo(id int) (*callInfo, error) {
	info := new(callInfo)
	_, _, failure := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_GET_SYSCALL_INFO, uintptr(id),
		unsafe.Sizeof(*info), uintptr(unsafe.Pointer(info)), 0, 0)
	switch failure {
	case 0:
		return info, nil
	case unix.EIO:
		return nil, fmt.Errorf("%w: the kernel is older than 5.3", ErrRefused)
	}
	return nil, fmt.Errorf("ask for the call of thread %d: %w", id, failure)
}

func (t *tracer) atCall(at *thread) error {
	info, err := getCallInfo(at.id)
	if err != nil {
		return err
	}
	t.stops++
	switch info.op {
	case atEntry:
		return t.enter(at, info)
	case atExit:
		return t.exit(at, info)
	}
	return nil
}

func (t *tracer) enter(at *thread, info *callInfo) error {
	at.call, at.refused = nil, 0
	known, ok := t.shapes[info.nrOrResult]
	if !ok {
		return nil
	}
	call := &Call{Thread: at.id, Kind: known.kind, Name: known.name, FD: -1, Offset: -1, Began: t.stops}
	if err := known.read(at, call, info.argsOrError); err != nil {
		return fmt.Errorf("%s: %w", known.name, err)
	}
	at.call = call
	if t.handler.Enter == nil {
		return nil
	}
	if at.refused = t.handler.Enter(call); at.refused != 0 {
		return skip(at.id)
	}
	return nil
}

func (t *tracer) exit(at *thread, info *callInfo) error {
	call := at.call
	if call == nil {
		return nil
	}
	at.call = nil
	call.Ended = t.stops
	call.Result = int64(info.nrOrResult)
	if at.refused != 0 {
		if err := answer(at.id, at.refused); err != nil {
			return fmt.Errorf("%s: %w", call.Name, err)
		}
		call.Result = -int64(at.refused)
	}
	if call.Result < 0 {
		call.Err = syscall.Errno(-call.Result)
	}
	if t.handler.Exit != nil {
		t.handler.Exit(call)
	}
	return nil
}

// reap takes the rest of a killed process away.
func (t *tracer) reap() {
	for {
		id, status, err := t.wait()
		if err != nil {
			return
		}
		if status.Exited() || status.Signaled() {
			t.ended(id, status)
			continue
		}
		_ = unix.PtraceCont(id, int(unix.SIGKILL))
	}
}
