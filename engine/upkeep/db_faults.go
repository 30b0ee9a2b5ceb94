package upkeep

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// storeHint says what to do about a store that can't be used.
func storeHint(cause fault.StoreFault, stateDir string, err error) diag.Hint {
	switch cause {
	case fault.StoreCorrupt:
		return corruptHint(stateDir)
	case fault.StoreRolledBack:
		return diag.Say("put the newer file back where you have it; or take this one with --accept-rollback, given once: schedules may start slots again that ran since, " +
			"runs of since are gone, what they did may be done again, calls of effect `once` too; what was open then is paused")
	case fault.StoreNewer:
		return diag.Sayf("use that version or a newer one; or go back with %s and a backup that an older one made; or name another folder with --state", diag.Command{"db", "restore"})
	case fault.StoreFull:
		return fullHint()
	}
	switch {
	case errors.Is(err, syscall.EROFS):
		return diag.Say("the disk is mounted read-only: mount it for writing (after an error of the disk the system makes it so: look at its log), or name another folder with --state")
	case errors.Is(err, fs.ErrPermission):
		return diag.Say("give this user the right to read and write the state folder and the files in it, or name another folder with --state")
	case errors.Is(err, syscall.EIO):
		return diag.Sayf("the disk reported an error: look at the system's log; %s tells whether the store is whole", diag.Command{"db", "check"})
	}
	return diag.Hint{}
}

// fullHint says what to do about a full disk or store.
func fullHint() diag.Hint {
	return diag.Sayf("free space on that disk; %s shows what the store holds, a shorter `retention` in flowrun.yaml lets old runs go, %s gives their room back",
		diag.Command{"db", "stats"}, diag.Command{"db", "compact"})
}

func corruptHint(stateDir string) diag.Hint {
	if stateDir == "" {
		return diag.Hint{}
	}
	if backup := NewestBackup(stateDir); backup != nil {
		return diag.Sayf("the newest good backup is of %s: %s puts it in its place and keeps the damaged file beside",
			backup.At.Format(time.RFC3339), diag.Command{"db", "restore", backup.Path})
	}
	return diag.Sayf("%s lists the damage; there is no good backup in %s: put one back with %s",
		diag.Command{"db", "check"}, filepath.Join(stateDir, BackupFolder), diag.Command{"db", "restore", "FILE"})
}

// PressureFault is the refusal of a run for want of space, without what it was
// that asked: the reason names the disk and its bytes.
func PressureFault(stateDir string, err error) error {
	if pressure, ok := errors.AsType[*store.PressureError](err); ok {
		err = pressure
	}
	return &fault.StoreError{Fault: fault.StoreFull, Path: stateDir, Err: err, Hint: fullHint()}
}

// owner is what owner.json says of the process that holds the store.
type owner struct {
	PID int `json:"pid"`
}

// Fault makes our own errors of the store's: a run that is not there, and a
// store that is damaged or has stopped, which ends the process with its own exit
// code. Others stay as they are.
func (u *Upkeep) Fault(err error) error {
	switch {
	case errors.Is(err, store.ErrRunNotFound):
		return fault.ErrRunNotFound
	case errors.Is(err, store.ErrPressure):
		return PressureFault(u.config.StateDir, err)
	case errors.Is(err, store.ErrFailed), errors.Is(err, store.ErrCorrupt):
		return StoreError(filepath.Join(u.config.StateDir, workspace.StoreFile), u.config.StateDir, err)
	}
	return err
}

// StoreError classifies what opening or using the store gave.
func StoreError(path, stateDir string, err error) error {
	var locked *store.LockedError
	var corrupt *store.CorruptError
	var stopped *store.FailedError
	if errors.As(err, &locked) {
		var holder owner
		if data, readErr := os.ReadFile(filepath.Join(stateDir, "owner.json")); readErr == nil {
			_ = json.Unmarshal(data, &holder) // a half-written file only costs the pid in the message
		}
		return &fault.LockedError{Path: path, PID: holder.PID}
	}
	cause := fault.StoreIO
	switch {
	case errors.As(err, &corrupt):
		cause = fault.StoreCorrupt
	case errors.Is(err, store.ErrNewer):
		cause = fault.StoreNewer
	case store.IsRolledBack(err):
		cause = fault.StoreRolledBack
	case errors.As(err, &stopped) && stopped.Full, errors.Is(err, store.ErrNoSpace):
		cause = fault.StoreFull
	}
	return &fault.StoreError{Fault: cause, Path: path, Err: err, Hint: storeHint(cause, stateDir, err)}
}
