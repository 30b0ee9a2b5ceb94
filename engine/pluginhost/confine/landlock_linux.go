package confine

import (
	"errors"
	"fmt"
	"unsafe"

	"golang.org/x/sys/unix"
)

// What x/sys does not have yet.
const ruleNetPort = 2 // LANDLOCK_RULE_NET_PORT

type netPort struct{ access, port uint64 } // struct landlock_net_port_attr

// The rights of Landlock that belong to ours.
const (
	readRights  = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	writeRights = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	fileRights = unix.LANDLOCK_ACCESS_FS_EXECUTE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_READ_FILE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
)

// landed tells what of Landlock is held; nil = it is.
type landed struct{ files, ports, signals error }

// restrict puts the thread into a Landlock domain of its own.
func restrict(r Rules) landed {
	abi, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, 0, 0, unix.LANDLOCK_CREATE_RULESET_VERSION)
	if errno != 0 {
		err := lacks("it has no Landlock (%v)", errno)
		return landed{err, err, err}
	}
	var l landed
	attr := unix.LandlockRulesetAttr{Access_fs: handled(int(abi))}
	if abi < 4 {
		l.ports = lacks("its Landlock of version %d knows no ports, 4 does", abi)
	} else if r.Ports != nil {
		attr.Access_net = unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	}
	if abi < 6 {
		l.signals = lacks("its Landlock of version %d knows no signals, 6 does", abi)
	} else {
		attr.Scoped = unix.LANDLOCK_SCOPE_SIGNAL | unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET
	}
	if err := enforce(attr, r); err != nil {
		return landed{err, errors.Join(l.ports, err), errors.Join(l.signals, err)}
	}
	return l
}

// handled are the rights that a Landlock of some version knows.
func handled(abi int) uint64 {
	rights := uint64(unix.LANDLOCK_ACCESS_FS_EXECUTE | readRights | writeRights | unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK)
	if abi < 2 {
		rights &^= unix.LANDLOCK_ACCESS_FS_REFER
	}
	if abi < 3 {
		rights &^= unix.LANDLOCK_ACCESS_FS_TRUNCATE
	}
	if abi < 5 {
		rights &^= unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	return rights
}

func enforce(attr unix.LandlockRulesetAttr, r Rules) error {
	size := unsafe.Sizeof(attr)
	switch { // an older kernel takes no longer one than it knows
	case attr.Scoped == 0 && attr.Access_net == 0:
		size = unsafe.Offsetof(attr.Access_net)
	case attr.Scoped == 0:
		size = unsafe.Offsetof(attr.Scoped)
	}
	set, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), size, 0)
	if errno != 0 {
		return fmt.Errorf("make a Landlock ruleset: %w", errno)
	}
	defer func() { _ = unix.Close(int(set)) }()
	for _, path := range r.Paths {
		if err := allowPath(int(set), path, attr.Access_fs); err != nil {
			return err
		}
	}
	if attr.Access_net != 0 {
		for _, port := range r.Ports {
			rule := netPort{access: unix.LANDLOCK_ACCESS_NET_CONNECT_TCP, port: uint64(port)}
			if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, set, ruleNetPort, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
				return fmt.Errorf("let port %d pass: %w", port, errno)
			}
		}
	}
	if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, set, 0, 0); errno != 0 {
		return fmt.Errorf("enter the Landlock domain: %w", errno)
	}
	return nil
}

func allowPath(set int, path Path, known uint64) error {
	var fd int
	if path.File != nil {
		fd = int(path.File.Fd())
	} else {
		var err error
		if fd, err = unix.Open(path.Name, unix.O_PATH|unix.O_CLOEXEC, 0); err != nil {
			return nil //nolint:nilerr // what can't be reached needs no rule
		}
		defer func() { _ = unix.Close(fd) }()
	}
	var stat unix.Stat_t
	if err := unix.Fstat(fd, &stat); err != nil {
		return fmt.Errorf("open %s to a plugin: %w", path.Name, err)
	}
	rights := rightsOf(path.Rights) & known
	if stat.Mode&unix.S_IFMT != unix.S_IFDIR {
		rights &= fileRights
	}
	if rights == 0 {
		return nil
	}
	rule := unix.LandlockPathBeneathAttr{Allowed_access: rights, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(set), unix.LANDLOCK_RULE_PATH_BENEATH, uintptr(unsafe.Pointer(&rule)), 0, 0, 0); errno != 0 {
		return fmt.Errorf("open %s to a plugin: %w", path.Name, errno)
	}
	return nil
}

func rightsOf(r Right) uint64 {
	var rights uint64
	if r&Read != 0 {
		rights |= readRights
	}
	if r&Run != 0 {
		rights |= unix.LANDLOCK_ACCESS_FS_EXECUTE
	}
	if r&Write != 0 {
		rights |= writeRights
	}
	return rights
}
