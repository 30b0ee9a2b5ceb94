//go:build unix && !linux

package files

import (
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file where nothing has the new name. Both names are without a slash.
func renameNew(from *os.Root, old string, to *os.Root, name string) error {
	return between(from, to, func(source, target int) error {
		if err := unix.Linkat(source, old, target, name, 0); err != nil {
			return err
		}
		return unix.Unlinkat(source, old, 0)
	})
}
