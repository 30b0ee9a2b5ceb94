package files

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// between does something with the descriptors of two folders.
func between(from, to *os.Root, do func(source, target int) error) error {
	source, err := from.Open(".")
	if err != nil {
		return err
	}
	target, err := to.Open(".")
	if err != nil {
		return errors.Join(err, source.Close())
	}
	err = do(int(source.Fd()), int(target.Fd())) // neither is read or written, so that blocking does not matter
	return errors.Join(err, source.Close(), target.Close())
}

// renameOver renames across two folders, over what has the new name.
func renameOver(from *os.Root, old string, to *os.Root, name string) error {
	return between(from, to, func(source, target int) error { return unix.Renameat(source, old, target, name) })
}
