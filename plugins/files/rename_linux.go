package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// renameNew renames a file where nothing has the new name, in one step. Both names are
// without a slash, so that no link is followed.
func renameNew(from *os.Root, old string, to *os.Root, name string) error {
	return between(from, to, func(source, target int) error {
		err := unix.Renameat2(source, old, target, name, unix.RENAME_NOREPLACE)
		if errors.Is(err, unix.EINVAL) || errors.Is(err, unix.ENOSYS) { // a file system that knows no such thing
			return linkNew(source, old, target, name)
		}
		return err
	})
}

// linkNew gives a file another name where nothing has it, and takes the old one away.
func linkNew(source int, old string, target int, name string) error {
	if err := unix.Linkat(source, old, target, name, 0); err != nil {
		return err
	}
	return unix.Unlinkat(source, old, 0)
}
