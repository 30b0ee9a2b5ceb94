package confine

import "golang.org/x/sys/unix"

const (
	auditArch   = unix.AUDIT_ARCH_AARCH64
	foreignFrom = 0
)

func refusedHere() []uint32 { return []uint32{unix.SYS_KEXEC_FILE_LOAD} }
