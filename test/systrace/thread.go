//go:build linux && (amd64 || arm64)

package systrace

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"
)

// maxPath is more than the kernel takes as a path.
const maxPath = 4096

// thread is a traced thread.
type thread struct {
	id      int
	call    *Call      // that it is in the middle of; nil = none that is reported
	refused unix.Errno // what the call is answered with, 0 = it is done

}

// bytes copies memory of the thread's process.
func (t *thread) bytes(address, size uint64) ([]byte, error) {
	data := make([]byte, size)
	if size == 0 {
		return data, nil
	}
	local := []unix.Iovec{{Base: &data[0], Len: size}}
	n, err := unix.ProcessVMReadv(t.id, local, []unix.RemoteIovec{{Base: uintptr(address), Len: int(size)}}, 0)
	if err == nil && uint64(n) != size {
		err = fmt.Errorf("%d of %d bytes", n, size)
	}
	if err != nil {
		return nil, fmt.Errorf("read memory of thread %d: %w", t.id, err)
	}
	return data, nil
}

// text reads a text that ends with a zero byte. It does not reach over the end
// of a page that may be the last one.
func (t *thread) text(address uint64) (string, error) {
	var text []byte
	for len(text) < maxPath {
		part, err := t.bytes(address, 4096-address%4096)
		if err != nil {
			return "", err
		}
		if end := bytes.IndexByte(part, 0); end >= 0 {
			return string(append(text, part[:end]...)), nil
		}
		text = append(text, part...)
		address += uint64(len(part))
	}
	return "", fmt.Errorf("thread %d: a path without an end", t.id)
}

// pathOf returns what a descriptor refers to, "" when there is none.
func (t *thread) pathOf(descriptor int) string {
	path, _ := os.Readlink(fmt.Sprintf("/proc/%d/fd/%d", t.id, descriptor))
	return path
}

func (t *thread) pathAt(folder int, address uint64) (string, error) {
	path, err := t.text(address)
	if err != nil || filepath.IsAbs(path) {
		return filepath.Clean(path), err
	}
	base := t.pathOf(folder)
	if folder == unix.AT_FDCWD {
		base, _ = os.Readlink(fmt.Sprintf("/proc/%d/cwd", t.id))
	}
	return filepath.Join(base, path), nil
}
