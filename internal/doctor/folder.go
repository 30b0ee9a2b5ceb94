package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// checkStrict tells what of the state folder others could change, each place with
// the command that ends that. Nothing is started from such a folder, so that what
// needs it is not looked at. Modes inside the folder are mended; what lies above is
// not ours to change.
func (e *examination) checkStrict(_ context.Context, check string) {
	faults, err := workspace.StateFolderFaults(e.Config.StateDir)
	if err != nil {
		e.failWith(check, "", err)
		return
	}
	for _, fault := range faults {
		e.refused = true
		inside := fault.Path == e.Config.StateDir || strings.HasPrefix(fault.Path, e.Config.StateDir+string(filepath.Separator))
		if inside && strings.HasPrefix(fault.Fix, "chmod ") {
			e.mend(Finding{Check: check, Status: Fail, Cause: StoreIO, Detail: fault.Error(), Hint: diag.Say(fault.Fix)}, func() error { return closeMode(fault.Path) })
			continue
		}
		e.fail(check, "", StoreIO, fault.Error(), fault.Fix)
	}
	if e.refused {
		again, err := workspace.StateFolderFaults(e.Config.StateDir)
		e.refused = err != nil || len(again) > 0
	}
}

// closeMode takes the right to write from all but the owner.
func closeMode(path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		return errors.New("it is a link")
	}
	return os.Chmod(path, info.Mode().Perm()&^0o022)
}

// checkFolder looks whose the state folder is, where it lies, and who may look into it.
func (e *examination) checkFolder(_ context.Context, check string) {
	dir := e.Config.StateDir
	info, err := os.Stat(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		e.ok(check, "", "%s is made when something runs", e.Words.Path(dir))
		return
	case err != nil:
		e.fail(check, "", StoreIO, err.Error(), "")
		return
	case !info.IsDir():
		e.fail(check, "", StoreIO, e.Words.Path(dir)+" is no folder", "name another one with --state")
		return
	}
	if network := upkeep.NetworkFileSystem(dir); network != "" && !e.Config.AllowNetworkFS {
		e.fail(check, "", StoreIO, fmt.Sprintf("%s lies on a network file system (%s), where locks and syncs can't be relied on", e.Words.Path(dir), network),
			"name a folder of a local disk with --state")
		return
	}
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Getuid() && os.Getuid() != 0 {
		e.fail(check, "", StoreIO, fmt.Sprintf("%s belongs to another user (uid %d)", e.Words.Path(dir), stat.Uid), fmt.Sprintf("run flowrun as that user, or: chown -R %d %s", os.Getuid(), diag.ShellWord(dir)))
		return
	}
	if err := writable(dir); err != nil {
		e.fail(check, "", StoreIO, err.Error(), "make the folder writable")
		return
	}
	if e.checkMode(check, dir, 0o077, 0o700) {
		e.ok(check, "", "%s, for its owner alone", e.Words.Path(dir))
	}
	for _, name := range []string{workspace.StoreFile, "key"} {
		if path := filepath.Join(dir, name); exists(path) {
			e.checkMode(name, path, 0o077, 0o600)
		}
	}
}

// writable makes and removes a file in a folder.
func writable(dir string) error {
	probe, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(probe.Close(), os.Remove(probe.Name()))
}

// checkMode reports a file or folder that others may use, and mends that. It
// tells whether there was nothing to report.
func (e *examination) checkMode(check, path string, forbidden, wanted fs.FileMode) bool {
	info, err := os.Stat(path)
	if err != nil || info.Mode().Perm()&forbidden == 0 {
		return true
	}
	e.mend(Finding{
		Check: check, Status: Fail, Cause: StoreIO, Detail: fmt.Sprintf("%s has the mode %04o: others may look into it", e.Words.Path(path), info.Mode().Perm()),
		Hint: diag.Sayf("chmod %04o %s", wanted, diag.ShellWord(path)),
	}, func() error { return os.Chmod(path, wanted) })
	return false
}

// Marks of free space (docs/reliability.md, P12).
const (
	diskWarn = 2 << 30
	diskFail = 512 << 20
)

// checkDisk looks at the free room of the state folder's disk.
func (e *examination) checkDisk(_ context.Context, check string) {
	dir := e.Config.StateDir
	for !exists(dir) && filepath.Dir(dir) != dir {
		dir = filepath.Dir(dir)
	}
	var stat syscall.Statfs_t
	if err := syscall.Statfs(dir, &stat); err != nil {
		e.fail(check, "", StoreIO, fmt.Sprintf("ask for the free space of %s: %v", dir, err), "")
		return
	}
	free, total := int64(stat.Bavail)*int64(stat.Bsize), int64(stat.Blocks)*int64(stat.Bsize) //nolint:unconvert // Bsize has another type on other systems
	text := fmt.Sprintf("%s free of %s", e.Words.Size(free), e.Words.Size(total))
	switch {
	case free < diskFail || free < total/20:
		e.fail(check, "", StoreFull, text+": no run is accepted below 512 MiB or 5 %", "free the disk, or name a folder of another one with --state")
	case free < diskWarn || free < total/10:
		e.warn(check, "", text, "free the disk: no run is accepted below 512 MiB or 5 %")
	default:
		e.ok(check, "", "%s", text)
	}
}

// exists reports whether there is something of that name; what else is wrong
// with it is told by whoever opens it.
func exists(path string) bool {
	_, err := os.Stat(path)
	return !errors.Is(err, fs.ErrNotExist)
}
