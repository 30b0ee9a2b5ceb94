package confine

import "golang.org/x/sys/unix"

const (
	auditArch   = unix.AUDIT_ARCH_X86_64
	foreignFrom = 0x40000000 // calls of x32
)

func refusedHere() []uint32 {
	return []uint32{unix.SYS_IOPL, unix.SYS_IOPERM, unix.SYS_KEXEC_FILE_LOAD}
}
