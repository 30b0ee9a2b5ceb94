package peer

import (
	"bytes"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"
)

// soPeerPidFD is SO_PEERPIDFD, of Linux 6.5: a descriptor of the very process that
// connected, whoever has its pid now.
const soPeerPidFD = 77

func of(conn net.Conn) (*Peer, error) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("it is no socket")
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return nil, err
	}
	var credentials *unix.Ucred
	holder := -1
	var asked error
	if err := control.Control(func(fd uintptr) {
		credentials, asked = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
		if found, err := unix.GetsockoptInt(int(fd), unix.SOL_SOCKET, soPeerPidFD); err == nil {
			holder = found
		}
	}); err != nil {
		return nil, err
	}
	if holder >= 0 {
		defer func() { _ = unix.Close(holder) }()
	}
	if asked != nil {
		return nil, asked
	}
	p := &Peer{UID: int(credentials.Uid), PID: int(credentials.Pid)}
	if p.PID > 0 {
		p.Command = command(p.PID)
	}
	if holder >= 0 && ended(holder) {
		return nil, ErrEnded
	}
	return p, nil
}

// ended reports whether the process of a descriptor has ended: it is readable then.
func ended(pidfd int) bool {
	fds := []unix.PollFd{{Fd: int32(pidfd), Events: unix.POLLIN}} //nolint:gosec // a descriptor
	n, err := unix.Poll(fds, 0)
	return err == nil && n > 0
}

// command is the program of a process: the file that the kernel runs, and where
// that may not be seen its short name. Arguments are the process's own to write, and
// may hold secrets.
func command(pid int) string {
	if path, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil {
		return path
	}
	name, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	if err != nil {
		return ""
	}
	return "[" + strings.ToValidUTF8(strings.TrimSpace(string(name)), "?") + "]"
}

func read(pid int) (process, error) {
	stat, err := ReadStat(pid)
	if err != nil {
		return process{}, err
	}
	started, err := strconv.ParseUint(stat.Started, 10, 64)
	if err != nil {
		return process{}, fmt.Errorf("read state of process %d: %w", pid, err)
	}
	return process{parent: stat.Parent, started: started}, nil
}

// Stat is what /proc/PID/stat says of a process.
type Stat struct {
	State   string // "Z" = it has ended, and nobody has waited for it
	Group   string
	Parent  int
	Started string // in clock ticks since the boot
}

// ReadStat reads what the kernel says of a process. It is asked for every process of a
// machine again and again, so that it makes little beside its answer.
func ReadStat(pid int) (Stat, error) {
	var room [statSize]byte
	data, err := readSmall("/proc/"+strconv.Itoa(pid)+"/stat", room[:])
	if err != nil {
		return Stat{}, fmt.Errorf("read state of process %d: %w", pid, err)
	}
	// The name in parentheses may hold anything; the fields follow the last ")".
	var fields [20][]byte
	rest := bytes.TrimSpace(data[bytes.LastIndexByte(data, ')')+1:])
	for i := range fields {
		if len(rest) == 0 {
			return Stat{}, fmt.Errorf("read state of process %d: %d fields", pid, i)
		}
		fields[i], rest, _ = bytes.Cut(rest, []byte{' '})
	}
	parent, err := strconv.Atoi(string(fields[1]))
	if err != nil {
		return Stat{}, fmt.Errorf("read state of process %d: %w", pid, err)
	}
	return Stat{State: string(fields[0]), Group: string(fields[2]), Parent: parent, Started: string(fields[19])}, nil
}

// statSize is more than the kernel says: 50 numbers and a name of 64 bytes at most.
const statSize = 2 << 10

// readSmall reads a file of /proc that is shorter than room, in one piece.
func readSmall(path string, room []byte) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	for err == unix.EINTR {
		fd, err = unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	}
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: path, Err: err}
	}
	defer func() { _ = unix.Close(fd) }()
	n, err := unix.Read(fd, room)
	for err == unix.EINTR {
		n, err = unix.Read(fd, room)
	}
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: path, Err: err}
	}
	return room[:n], nil
}
