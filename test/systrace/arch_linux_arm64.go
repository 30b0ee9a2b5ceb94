package systrace

import (
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// The register sets of elf.h.
const (
	registerSet   = 1     // NT_PRSTATUS
	systemCallSet = 0x404 // NT_ARM_SYSTEM_CALL
)

// oldShapes are calls that newer architectures have no more.
func oldShapes() map[uint64]shape { return nil }

// skip makes a thread that stands before a call go past it.
func skip(thread int) error {
	number := int32(-1)
	vector := unix.Iovec{Base: (*byte)(unsafe.Pointer(&number)), Len: uint64(unsafe.Sizeof(number))}
	_, _, failure := unix.RawSyscall6(unix.SYS_PTRACE, unix.PTRACE_SETREGSET, uintptr(thread), systemCallSet,
		uintptr(unsafe.Pointer(&vector)), 0, 0)
	if failure != 0 {
		return failure
	}
	return nil
}

// answer gives the thread that stands behind a call an error as its result.
func answer(thread int, result syscall.Errno) error {
	var registers unix.PtraceRegsArm64
	if err := unix.PtraceGetRegSetArm64(thread, registerSet, &registers); err != nil {
		return err
	}
	registers.Regs[0] = uint64(-int64(result))
	return unix.PtraceSetRegSetArm64(thread, registerSet, &registers)
}
