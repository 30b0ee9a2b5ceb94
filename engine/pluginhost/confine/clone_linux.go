package confine

import (
	"errors"
	"fmt"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// oneClone lets the first clone3 of one thread pass, and no other one: the filter asks
// its listener, and says that there is no such call when it has none any more, which is
// so from the answer on. A program that the thread has started finds clone3 as missing
// as it does without a group.
//
// The thread that forks keeps Go's scheduler waiting until it has forked. So the one who
// answers runs outside of the scheduler from before the fork until its answer, as a
// blocked system call does: nothing that waits for the fork can keep it from answering.
type oneClone struct {
	listener int
	ready    int // an eventfd: who answers is there
	cancel   int // an eventfd: there will be no clone3
	thread   int
	done     chan struct{}

	polled [2]unix.PollFd
	asked  notification
	answer response
}

// notification is struct seccomp_notif.
type notification struct {
	id    uint64
	pid   uint32
	flags uint32
	call  int32
	arch  uint32
	ip    uint64
	args  [6]uint64
}

// response is struct seccomp_notif_resp.
type response struct {
	id    uint64
	value int64
	err   int32
	flags uint32
}

// letOneClonePass starts to answer for the calling thread. It takes the listener.
func letOneClonePass(listener int) (*oneClone, error) {
	ready, errReady := unix.Eventfd(0, unix.EFD_CLOEXEC)
	cancel, errCancel := unix.Eventfd(0, unix.EFD_CLOEXEC)
	if err := errors.Join(errReady, errCancel); err != nil {
		for _, fd := range []int{listener, ready, cancel} {
			_ = unix.Close(fd) // one that is -1 as well
		}
		return nil, fmt.Errorf("let a process be started into its group: %w", err)
	}
	o := &oneClone{listener: listener, ready: ready, cancel: cancel, thread: unix.Gettid(), done: make(chan struct{})}
	o.polled = [2]unix.PollFd{{Fd: int32(listener), Events: unix.POLLIN}, {Fd: int32(cancel), Events: unix.POLLIN}}
	go func() {
		defer close(o.done)
		o.serve()
	}()
	await(ready)
	return o, nil
}

// close ends it, with or without a clone3.
func (o *oneClone) close() {
	if o == nil {
		return
	}
	_, _ = unix.Write(o.cancel, raised[:])
	<-o.done
	_ = unix.Close(o.cancel)
	_ = unix.Close(o.ready)
}

// raised is what an eventfd is written with.
var raised = [8]byte{1}

// await blocks until an eventfd was raised.
func await(eventfd int) {
	var count [8]byte
	for {
		if _, err := unix.Read(eventfd, count[:]); !errors.Is(err, unix.EINTR) {
			return
		}
	}
}

//go:linkname enterBlocked runtime.entersyscallblock
func enterBlocked()

//go:linkname exitBlocked runtime.exitsyscall
func exitBlocked()

// serve answers, and closes the listener.
//
//go:nosplit
//go:norace
func (o *oneClone) serve() {
	enterBlocked()
	_, _, _ = syscall.RawSyscall(syscall.SYS_WRITE, uintptr(o.ready), uintptr(unsafe.Pointer(&raised)), uintptr(len(raised)))
	o.answerOne()
	_, _, _ = syscall.RawSyscall(syscall.SYS_CLOSE, uintptr(o.listener), 0, 0)
	exitBlocked()
}

// answerOne waits for the thread's clone3 and lets it pass. All others stay unanswered until
// the listener is closed.
//
//go:nosplit
//go:norace
func (o *oneClone) answerOne() {
	for {
		_, _, errno := syscall.RawSyscall6(unix.SYS_PPOLL, uintptr(unsafe.Pointer(&o.polled)), 2, 0, 0, 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 || o.polled[0].Revents&unix.POLLIN == 0 {
			return
		}
		o.asked = notification{}
		_, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(o.listener), unix.SECCOMP_IOCTL_NOTIF_RECV, uintptr(unsafe.Pointer(&o.asked)))
		if errno != 0 || o.asked.pid != uint32(o.thread) {
			continue // it was interrupted
		}
		o.answer = response{id: o.asked.id, flags: unix.SECCOMP_USER_NOTIF_FLAG_CONTINUE}
		_, _, errno = syscall.RawSyscall(syscall.SYS_IOCTL, uintptr(o.listener), unix.SECCOMP_IOCTL_NOTIF_SEND, uintptr(unsafe.Pointer(&o.answer)))
		if errno == 0 {
			return
		}
	}
}
