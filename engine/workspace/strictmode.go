package workspace

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/strictmode"
)

// CheckStateFolder refuses a state folder that users other than this process's own
// and root could change, or whose path is a link that leads nowhere: *StoreError,
// with the commands that mend it. A folder that does not exist yet is made private.
func CheckStateFolder(stateDir string) error {
	faults, err := StateFolderFaults(stateDir)
	if err != nil {
		return err
	}
	return strictError(stateDir, faults)
}

// FolderFault is one place of a state folder's path or content that others could
// change.
type FolderFault = strictmode.Fault

// StateFolderFaults returns all that CheckStateFolder refuses.
func StateFolderFaults(stateDir string) ([]FolderFault, error) {
	path, err := filepath.Abs(stateDir)
	if err != nil {
		return nil, fmt.Errorf("find the state folder: %w", err)
	}
	return strictmode.Check(path, strictmode.Self()), nil
}

// maxFixes is how many commands a hint holds.
const maxFixes = 4

func strictError(stateDir string, faults []FolderFault) error {
	if len(faults) == 0 {
		return nil
	}
	text := "the state folder is not taken: " + faults[0].Error()
	if others := len(faults) - 1; others > 0 {
		text += fmt.Sprintf(" (and %d more)", others)
	}
	var fixes []string
	for _, fault := range faults[:min(len(faults), maxFixes)] {
		if fault.Fix != "" {
			fixes = append(fixes, fault.Fix)
		}
	}
	hint := "name another folder with --state"
	if len(fixes) > 0 {
		hint = "`" + strings.Join(fixes, " && ") + "`, or " + hint
	}
	return &fault.StoreError{Fault: fault.StoreIO, Path: stateDir, Err: errors.New(text), Hint: diag.Say(hint)}
}
