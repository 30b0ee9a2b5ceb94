//go:build unix

package sdk

import (
	"os"
	"os/exec"

	"golang.org/x/sys/unix"
)

// teeStderr has what the process writes to stderr written to a file too, for the flowrun
// that is attached: also what the runtime writes as the process dies, since a process of
// its own stands between. Where there is no `tee`, flowrun sees nothing of it.
func teeStderr(path string) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL, 0o600) // tee keeps the mode
	if err != nil {
		return
	}
	_ = file.Close()
	r, w, err := os.Pipe()
	if err != nil {
		return
	}
	defer r.Close()
	defer w.Close()                         // what is descriptor 2 by then stays open
	tee := exec.Command("tee", "-ia", path) // -i: Ctrl-C is for the plugin, whose last words it still writes
	tee.Stdin, tee.Stdout = r, os.Stderr
	if tee.Start() == nil {
		_ = unix.Dup2(int(w.Fd()), 2)
	}
}
