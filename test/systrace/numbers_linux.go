//go:build linux && (amd64 || arm64)

package systrace

import "golang.org/x/sys/unix"

// shape says how the arguments of a system call are read.
type shape struct {
	kind Kind
	name string
	read func(*thread, *Call, [6]uint64) error
}

// descriptor reads a register that holds a descriptor, AT_FDCWD among them.
func descriptor(arg uint64) int { return int(int32(arg)) }

// shapes are the calls that are the same on every architecture.
func shapes() map[uint64]shape {
	table := map[uint64]shape{
		unix.SYS_OPENAT:    {Open, "openat", readOpenAt},
		unix.SYS_WRITE:     {Write, "write", readWrite},
		unix.SYS_PWRITE64:  {Write, "pwrite64", readPwrite},
		unix.SYS_FTRUNCATE: {Truncate, "ftruncate", readTruncate},
		unix.SYS_FSYNC:     {Sync, "fsync", readFD},
		unix.SYS_FDATASYNC: {Sync, "fdatasync", readFD},
		unix.SYS_RENAMEAT:  {Rename, "renameat", readRenameAt},
		unix.SYS_RENAMEAT2: {Rename, "renameat2", readRenameAt},
		unix.SYS_LINKAT:    {Link, "linkat", readRenameAt},
		unix.SYS_UNLINKAT:  {Remove, "unlinkat", readPathAt},
		unix.SYS_MKDIRAT:   {MakeDir, "mkdirat", readPathAt},

		unix.SYS_WRITEV:          {Other, "writev", readFD},
		unix.SYS_PWRITEV:         {Other, "pwritev", readFD},
		unix.SYS_PWRITEV2:        {Other, "pwritev2", readFD},
		unix.SYS_FALLOCATE:       {Other, "fallocate", readFD},
		unix.SYS_SYNC_FILE_RANGE: {Other, "sync_file_range", readFD},
		unix.SYS_SENDFILE:        {Other, "sendfile", readFD},
		unix.SYS_COPY_FILE_RANGE: {Other, "copy_file_range", readThirdFD},
		unix.SYS_SPLICE:          {Other, "splice", readThirdFD},
		unix.SYS_TRUNCATE:        {Other, "truncate", readPath},
	}
	for number, entry := range oldShapes() {
		table[number] = entry
	}
	return table
}

func readFD(t *thread, c *Call, args [6]uint64) error {
	c.FD = descriptor(args[0])
	c.Path = t.pathOf(c.FD)
	return nil
}

func readThirdFD(t *thread, c *Call, args [6]uint64) error {
	return readFD(t, c, [6]uint64{args[2]})
}

func readWrite(t *thread, c *Call, args [6]uint64) (err error) {
	if err := readFD(t, c, args); err != nil {
		return err
	}
	c.Offset = -1
	c.Data, err = t.bytes(args[1], args[2])
	return err
}

func readPwrite(t *thread, c *Call, args [6]uint64) error {
	if err := readWrite(t, c, args); err != nil {
		return err
	}
	c.Offset = int64(args[3])
	return nil
}

func readTruncate(t *thread, c *Call, args [6]uint64) error {
	c.Size = int64(args[1])
	return readFD(t, c, args)
}

func readOpenAt(t *thread, c *Call, args [6]uint64) error {
	c.Flags = int(args[2])
	return readPathAt(t, c, args)
}

func readPathAt(t *thread, c *Call, args [6]uint64) (err error) {
	c.Path, err = t.pathAt(descriptor(args[0]), args[1])
	return err
}

func readPath(t *thread, c *Call, args [6]uint64) (err error) {
	c.Path, err = t.pathAt(unix.AT_FDCWD, args[0])
	return err
}

func readRenameAt(t *thread, c *Call, args [6]uint64) (err error) {
	if c.Path, err = t.pathAt(descriptor(args[0]), args[1]); err != nil {
		return err
	}
	c.Target, err = t.pathAt(descriptor(args[2]), args[3])
	return err
}
