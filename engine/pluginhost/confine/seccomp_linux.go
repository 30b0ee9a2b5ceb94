package confine

import (
	"fmt"
	"unsafe"

	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"
)

// Where struct seccomp_data has what the filter reads.
const (
	callNumber = 0
	callArch   = 4
	callArgs   = 16
)

// What a filter answers.
const (
	answerAllow  = 0x7fff0000                       // SECCOMP_RET_ALLOW
	answerRefuse = 0x00050000 | uint32(unix.EPERM)  // SECCOMP_RET_ERRNO
	answerLacks  = 0x00050000 | uint32(unix.ENOSYS) // as if the kernel had no such call
	answerKill   = 0x80000000                       // SECCOMP_RET_KILL_PROCESS
	modeFilter   = 1                                // SECCOMP_SET_MODE_FILTER
	flagSpec     = 4                                // SECCOMP_FILTER_FLAG_SPEC_ALLOW: a filter costs no speculation
	sockDiag     = 4                                // NETLINK_SOCK_DIAG, which lists the sockets of others
	setParent    = unix.PR_SET_PDEATHSIG            // with 0 it would outlive the engine
)

// condition refuses a call by one of its arguments: (argument & mask) == value, or
// != 0 where value is 0 and mask is not.
type condition struct {
	call     uint32
	argument uint32
	mask     uint32
	value    uint32
}

// refusedCalls are of no use to a plugin, and of some to one that wants out.
func refusedCalls() []uint32 {
	return append(refusedHere(),
		// the memory and the descriptors of others
		unix.SYS_PTRACE, unix.SYS_PROCESS_VM_READV, unix.SYS_PROCESS_VM_WRITEV, unix.SYS_PIDFD_GETFD, unix.SYS_KCMP, unix.SYS_PROCESS_MADVISE,
		// another view of the files
		unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_CHROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN, unix.SYS_FSCONFIG,
		unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT, unix.SYS_SETNS, unix.SYS_SWAPON, unix.SYS_SWAPOFF,
		// the kernel's key rings
		unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
		// the kernel itself
		unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_KEXEC_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE,
		unix.SYS_REBOOT, unix.SYS_USERFAULTFD, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME,
		unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER, unix.SYS_FANOTIFY_INIT, unix.SYS_LOOKUP_DCOOKIE,
		// away from the group that ends with the plugin
		unix.SYS_SETSID,
	)
}

func conditions() []condition {
	return []condition{
		{call: unix.SYS_UNSHARE, argument: 0, mask: unix.CLONE_NEWUSER},
		{call: unix.SYS_CLONE, argument: 0, mask: unix.CLONE_NEWUSER},
		{call: unix.SYS_IOCTL, argument: 1, mask: ^uint32(0), value: unix.TIOCSTI},
		{call: unix.SYS_IOCTL, argument: 1, mask: ^uint32(0), value: unix.TIOCLINUX},
	}
}

// filter puts the filter on the thread. With into one clone3 of it passes.
func filter(pass uint32, into bool) (*oneClone, error) {
	if auditArch == 0 {
		return nil, lacks("the filter of system calls is not made for this processor")
	}
	raw, err := bpf.Assemble(program(pass, into))
	if err != nil {
		return nil, fmt.Errorf("assemble the filter of system calls: %w", err)
	}
	code := make([]unix.SockFilter, len(raw))
	for i, one := range raw {
		code[i] = unix.SockFilter{Code: one.Op, Jt: one.Jt, Jf: one.Jf, K: one.K}
	}
	loaded := unix.SockFprog{Len: uint16(len(code)), Filter: &code[0]}
	if into {
		listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, modeFilter, flagSpec|unix.SECCOMP_FILTER_FLAG_NEW_LISTENER, uintptr(unsafe.Pointer(&loaded)))
		if errno != 0 {
			return nil, fmt.Errorf("set the filter of system calls: %w", errno)
		}
		return letOneClonePass(int(listener))
	}
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, modeFilter, flagSpec, uintptr(unsafe.Pointer(&loaded)))
	if errno == unix.EINVAL { // before 4.17 there was no such flag
		_, _, errno = unix.Syscall(unix.SYS_SECCOMP, modeFilter, 0, uintptr(unsafe.Pointer(&loaded)))
	}
	switch errno {
	case 0:
		return nil, nil
	case unix.ENOSYS, unix.EINVAL:
		return nil, lacks("it has no filters of system calls (%v)", errno)
	}
	return nil, fmt.Errorf("set the filter of system calls: %w", errno)
}

// program is the filter. A call of another architecture (32 bits on 64) is refused
// as a whole: its numbers mean other things.
func program(pass uint32, into bool) []bpf.Instruction {
	p := []bpf.Instruction{
		bpf.LoadAbsolute{Off: callArch, Size: 4},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: auditArch, SkipTrue: 1},
		bpf.RetConstant{Val: answerRefuse},
		bpf.LoadAbsolute{Off: callNumber, Size: 4},
	}
	if foreignFrom != 0 {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpGreaterOrEqual, Val: foreignFrom, SkipFalse: 1}, bpf.RetConstant{Val: answerLacks})
	}
	for _, number := range refusedCalls() {
		p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: number, SkipFalse: 1}, bpf.RetConstant{Val: answerRefuse})
	}
	// Its arguments lie in memory, where a filter can't read: programs fall back to clone.
	clone3 := answerLacks
	if into {
		clone3 = unix.SECCOMP_RET_USER_NOTIF
	}
	p = append(p, bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_CLONE3, SkipFalse: 1}, bpf.RetConstant{Val: clone3})
	for _, c := range conditions() {
		p = append(p, c.instructions()...)
	}
	p = append(p, pair(unix.SYS_SOCKET, unix.AF_NETLINK, 2, sockDiag)...)
	p = append(p, pair(unix.SYS_PRCTL, setParent, 1, 0)...)
	p = append(p, groupCalls(pass)...)
	return append(p, bpf.RetConstant{Val: answerAllow})
}

func argument(n uint32) bpf.Instruction {
	return bpf.LoadAbsolute{Off: callArgs + 8*n, Size: 4}
}

func (c condition) instructions() []bpf.Instruction {
	test := bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.value, SkipFalse: 1}
	if c.value == 0 {
		test = bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipTrue: 1}
	}
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: c.call, SkipFalse: 5},
		argument(c.argument),
		bpf.ALUOpConstant{Op: bpf.ALUOpAnd, Val: c.mask},
		test,
		bpf.RetConstant{Val: answerRefuse},
		bpf.LoadAbsolute{Off: callNumber, Size: 4}, // for the tests that follow
	}
}

// pair refuses a call whose first argument and another one have these values.
func pair(call, first, second, value uint32) []bpf.Instruction {
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: call, SkipFalse: 6},
		argument(0),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: first, SkipFalse: 3},
		argument(second),
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: value, SkipFalse: 1},
		bpf.RetConstant{Val: answerRefuse},
		bpf.LoadAbsolute{Off: callNumber, Size: 4},
	}
}

// groupCalls lets setpgid pass for who knows the pass alone: the kernel reads the
// lower half of the group's number, the filter the upper one too. The process that is
// being started makes a group of its own with it (Group). Everybody else is told no,
// and who tries to guess the pass is killed.
func groupCalls(pass uint32) []bpf.Instruction {
	upper := bpf.LoadAbsolute{Off: callArgs + 8*1 + 4, Size: 4}
	return []bpf.Instruction{
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SETPGID, SkipFalse: 6},
		upper,
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: 0, SkipFalse: 1},
		bpf.RetConstant{Val: answerRefuse},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: pass, SkipFalse: 1},
		bpf.RetConstant{Val: answerAllow},
		bpf.RetConstant{Val: answerKill},
	}
}

// Group is the number of the group that a process which is being started asks for: a
// group of its own, with the pass in what the kernel does not read.
func Group(pass uint32) int { return int(uint64(pass) << 32) }
