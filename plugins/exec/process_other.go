//go:build unix && !linux

package exec

import (
	"os"
	"syscall"
)

// launch starts a program as the leader of a group, which is signaled as a whole.
func launch(p *process, program string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	started, grouped, err := groupOrNone(program, argv, attr, func(*syscall.SysProcAttr) {})
	if err != nil {
		return nil, err
	}
	p.signal, p.leave = toGroup(started.Pid, grouped), func() {}
	return started, nil
}
