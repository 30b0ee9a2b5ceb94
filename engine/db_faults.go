package engine

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/store"
)

// storeHint says what to do about a store that can't be used.
func storeHint(cause fault.StoreFault, stateDir string, err error) string {
	switch cause {
	case fault.StoreCorrupt:
		return corruptHint(stateDir)
	case fault.StoreRolledBack:
		return "put the newer file back where you have it; or take this one with --accept-rollback, given once: schedules may start slots again that ran since, " +
			"runs of since are gone, what they did may be done again, calls of effect `once` too; what was open then is paused"
	case fault.StoreNewer:
		return "use that version or a newer one; or go back with `flowrun db restore` and a backup that an older one made; or name another folder with --state"
	case fault.StoreFull:
		return fullHint
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return "the disk is mounted read-only: mount it for writing (after an error of the disk the system makes it so: look at its log), or name another folder with --state"
	case errors.Is(err, fs.ErrPermission):
		return "give this user the right to read and write the state folder and the files in it, or name another folder with --state"
	case errors.Is(err, syscall.EIO):
		return "the disk reported an error: look at the system's log; `flowrun db check` tells whether the store is whole"
	}
	return ""
}

// fullHint says what to do about a full disk or store.
const fullHint = "free space on that disk; `flowrun db stats` shows what the store holds, a shorter `retention` in flowrun.yaml lets old runs go, " +
	"`flowrun db compact` gives their room back"

func corruptHint(stateDir string) string {
	if stateDir == "" {
		return ""
	}
	if backup := NewestBackup(stateDir); backup != nil {
		return fmt.Sprintf("the newest good backup is of %s: `flowrun db restore %s` puts it in its place and keeps the damaged file beside",
			backup.At.Format(time.RFC3339), backup.Path)
	}
	return fmt.Sprintf("`flowrun db check` lists the damage; there is no good backup in %s: put one back with `flowrun db restore FILE`",
		filepath.Join(stateDir, BackupFolder))
}

// kernelWarning says that the kernel has a fault that can damage stores.
func kernelWarning() string {
	release, err := os.ReadFile("/proc/sys/kernel/osrelease")
	if err != nil {
		return "" // not Linux: the fault is one of its file systems
	}
	return boltstore.KernelWarning(strings.TrimSpace(string(release)))
}

// pressureFault is the refusal of a run for want of space, without what it was
// that asked: the reason names the disk and its bytes.
func pressureFault(stateDir string, err error) error {
	var pressure *store.PressureError
	if errors.As(err, &pressure) {
		err = pressure
	}
	return &fault.StoreError{Fault: fault.StoreFull, Path: stateDir, Err: err, Hint: fullHint}
}
