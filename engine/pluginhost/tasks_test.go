package pluginhost

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strconv"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// takeTasks is a plugin that makes threads or processes, or reaches for the files of its
// control group, whose folder is the input's text.
func takeTasks(r *pluginv1.ExecuteRequest, complete func(any) error) error {
	var input struct {
		Size int
		Text string
	}
	if err := json.Unmarshal(r.GetInput().GetJson(), &input); err != nil {
		return err
	}
	switch r.GetAction() {
	case "group":
		return complete(map[string]any{"text": reach(input.Text)})
	case "threads":
		for range input.Size {
			go func() {
				runtime.LockOSThread()
				time.Sleep(time.Minute)
			}()
			time.Sleep(100 * time.Microsecond) // each gets its own before the next one
		}
		time.Sleep(time.Second)
	case "forks":
		for range input.Size {
			if err := exec.Command("/bin/sleep", "60").Start(); err != nil {
				time.Sleep(time.Millisecond)
			}
		}
	}
	return complete(map[string]any{"count": input.Size})
}

// reach tells what of a control group could be changed.
func reach(dir string) (got string) {
	self := strconv.Itoa(os.Getpid())
	for _, write := range [][2]string{
		{"memory.max", "max"}, {"pids.max", "max"}, {"cgroup.procs", self}, {"../engine/cgroup.procs", self}, {"../cgroup.procs", self},
		{"memory.oom.group", "0"}, {"cgroup.kill", "0"}, {"../cgroup.subtree_control", "-memory"},
	} {
		file, err := os.OpenFile(filepath.Join(dir, write[0]), os.O_WRONLY, 0)
		if err == nil {
			_, _ = file.WriteString(write[1])
			_ = file.Close()
			got += write[0] + " "
		}
	}
	if os.Mkdir(filepath.Join(dir, "below"), 0o700) == nil {
		got += "a new group "
	}
	return got
}
