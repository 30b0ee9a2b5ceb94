//go:build unix && !linux

package process

import (
	"os"
	"syscall"
)

// launch starts a program as the leader of a group, which is signaled as a whole.
func launch(p *Process, program string, argv []string, attr *os.ProcAttr) (*os.Process, error) {
	started, grouped, err := groupOrNone(program, argv, attr, func(*syscall.SysProcAttr) {})
	if err != nil {
		return nil, err
	}
	p.Signal, p.Leave = toGroup(started.Pid, grouped), func() {}
	return started, nil
}
