package pluginhost

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/proto/handshake"
)

// crowdTick is how often the processes of a plugin are counted; where that takes
// long, since the machine has many, the pause is crowdRest times as long.
const (
	crowdTick = 500 * time.Millisecond
	crowdRest = 50
)

// watchCrowd kills a plugin that has started too many processes.
func (r *processRunner) watchCrowd(ended <-chan struct{}) {
	limit := r.limits.Processes
	if limit < 0 {
		return
	}
	timer := time.NewTimer(crowdTick)
	defer timer.Stop()
	for {
		var began time.Time
		select {
		case <-ended:
			return
		case began = <-timer.C:
		}
		crowd := descendants(r.cmd.Process.Pid)
		timer.Reset(max(crowdTick, crowdRest*time.Since(began)))
		if len(crowd) < limit {
			continue
		}
		r.output.write("host", fmt.Appendf(nil, "\nkilled by flowrun: it was %d processes, %d are allowed\n", len(crowd)+1, limit))
		r.killGroup()
		for _, pid := range crowd {
			_ = syscall.Kill(pid, syscall.SIGKILL) // those that left the group
		}
	}
}

// markRounds is how often what carries the mark of an ended plugin is looked for:
// one that is just being killed may have started another.
const markRounds = 5

// killMarked kills what carries the launch token of a process that has ended.
func killMarked(token string) {
	entry := handshake.EnvLaunchToken + "=" + token
	for range markRounds {
		left := processesWith(func(environ string) bool {
			for variable := range strings.SplitSeq(environ, "\x00") {
				if variable == entry {
					return true
				}
			}
			return false
		})
		if len(left) == 0 {
			return
		}
		for _, pid := range left {
			_ = syscall.Kill(pid, syscall.SIGKILL) // gone meanwhile: as it should be
		}
	}
}
