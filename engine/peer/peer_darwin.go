package peer

import (
	"errors"
	"net"
	"syscall"

	"golang.org/x/sys/unix"
)

func of(conn net.Conn) (*Peer, error) {
	raw, ok := conn.(syscall.Conn)
	if !ok {
		return nil, errors.New("it is no socket")
	}
	control, err := raw.SyscallConn()
	if err != nil {
		return nil, err
	}
	p := &Peer{}
	var asked error
	if err := control.Control(func(fd uintptr) {
		credentials, err := unix.GetsockoptXucred(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
		if err != nil {
			asked = err
			return
		}
		p.UID = int(credentials.Uid)
		p.PID, asked = unix.GetsockoptInt(int(fd), unix.SOL_LOCAL, unix.LOCAL_PEERPID)
	}); err != nil {
		return nil, err
	}
	if asked != nil {
		return nil, asked
	}
	if info, err := unix.SysctlKinfoProc("kern.proc.pid", p.PID); err == nil {
		p.Command = "[" + unix.ByteSliceToString(info.Proc.P_comm[:]) + "]"
	}
	return p, nil
}

func read(pid int) (process, error) {
	info, err := unix.SysctlKinfoProc("kern.proc.pid", pid)
	if err != nil {
		return process{}, err
	}
	if int(info.Proc.P_pid) != pid {
		return process{}, ErrEnded
	}
	started := info.Proc.P_starttime
	return process{parent: int(info.Eproc.Ppid), started: uint64(started.Sec)*1_000_000 + uint64(started.Usec)}, nil //nolint:gosec // a time after 1970
}

// Adopt does nothing: the system has no such thing. A process that has left its
// parents can't be told from others here.
func Adopt() (stop func(), err error) { return func() {}, nil }

// Adopts is false: see Adopt.
func Adopts() bool { return false }

// Descendants lists nothing: the system does not list the children of a process.
func Descendants(int) (pids []int, listed bool) { return nil, false }
