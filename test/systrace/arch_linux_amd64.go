package systrace

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// oldShapes are calls that newer architectures have no more.
func oldShapes() map[uint64]shape {
	return map[uint64]shape{
		unix.SYS_OPEN: {Open, "open", func(t *thread, c *Call, args [6]uint64) error {
			c.Flags = int(args[1])
			return readPath(t, c, args)
		}},
		unix.SYS_CREAT: {Open, "creat", func(t *thread, c *Call, args [6]uint64) error {
			c.Flags = unix.O_CREAT | unix.O_WRONLY | unix.O_TRUNC
			return readPath(t, c, args)
		}},
		unix.SYS_RENAME: {Rename, "rename", readTwoPaths},
		unix.SYS_LINK:   {Link, "link", readTwoPaths},
		unix.SYS_UNLINK: {Remove, "unlink", readPath},
		unix.SYS_RMDIR:  {Remove, "rmdir", readPath},
		unix.SYS_MKDIR:  {MakeDir, "mkdir", readPath},
	}
}

func readTwoPaths(t *thread, c *Call, args [6]uint64) (err error) {
	if err := readPath(t, c, args); err != nil {
		return err
	}
	c.Target, err = t.pathAt(unix.AT_FDCWD, args[1])
	return err
}

// skip makes a thread that stands before a call go past it.
func skip(thread int) error {
	var registers unix.PtraceRegs
	if err := unix.PtraceGetRegs(thread, &registers); err != nil {
		return err
	}
	registers.Orig_rax = ^uint64(0)
	return unix.PtraceSetRegs(thread, &registers)
}

// answer gives the thread that stands behind a call an error as its result.
func answer(thread int, result syscall.Errno) error {
	var registers unix.PtraceRegs
	if err := unix.PtraceGetRegs(thread, &registers); err != nil {
		return err
	}
	registers.Rax = uint64(-int64(result))
	return unix.PtraceSetRegs(thread, &registers)
}
