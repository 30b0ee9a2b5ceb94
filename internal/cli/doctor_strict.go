package cli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/internal/cli/view"
)

// checkStrict tells what of the state folder others could change, each place with
// the command that ends that. Nothing is started from such a folder, so that what
// needs it is not looked at. Modes inside the folder are mended; what lies above is
// not ours to change.
func (d *doctor) checkStrict(context.Context) {
	const check = "state folder"
	faults, err := engine.StateFolderFaults(d.at.stateDir)
	if err != nil {
		d.failWith(check, "", err)
		return
	}
	for _, fault := range faults {
		d.refused = true
		inside := fault.Path == d.at.stateDir || strings.HasPrefix(fault.Path, d.at.stateDir+string(filepath.Separator))
		if inside && strings.HasPrefix(fault.Fix, "chmod ") {
			d.mend(view.Finding{Check: check, Status: view.FindingFail, Detail: fault.Error(), Hint: fault.Fix}, exitStoreIO, func() error { return closeMode(fault.Path) })
			continue
		}
		d.fail(check, "", exitStoreIO, fault.Error(), fault.Fix)
	}
	if d.refused {
		again, err := engine.StateFolderFaults(d.at.stateDir)
		d.refused = err != nil || len(again) > 0
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
