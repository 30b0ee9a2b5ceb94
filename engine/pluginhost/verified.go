package pluginhost

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flowrun/flowrun/engine/plugintree"
)

// openTries is how often a copy that is not what was hashed is made anew from its
// source before the start is given up.
const openTries = 3

// code is the open file of what is about to run, and how it was when it was compared
// with its digest.
type code struct {
	file   *os.File
	stamp  fileStamp
	path   string
	copied bool
	script bool   // it begins with #!
	tree   string // what was compared is this folder, and stamp is its; "" = it is the file
}

// errWritten says that somebody has the file open for writing.
var errWritten = errors.New("somebody is writing to it")

// foreignCode says that a file is not what was hashed.
type foreignCode struct{ path, want string }

func (e *foreignCode) Error() string {
	return fmt.Sprintf("%s is not what was hashed: its sha256 is not %s", e.path, e.want)
}

// goneRevision says that nothing has the bytes of a revision any more.
type goneRevision struct {
	digest string
	told   bool // it was told something
}

func (e *goneRevision) Error() string {
	if e.told {
		return fmt.Sprintf("its revision %.12s is gone: what it said of itself is not kept any more, and the plugin and what it is told now make another one", e.digest)
	}
	return fmt.Sprintf("its revision %.12s is gone: neither the copy in the state folder nor the file as it is now has these bytes", e.digest)
}

// open opens the executable of a revision, compared with its digest: what is executed is
// this descriptor, whatever its name stands for by then. A private copy that somebody has
// changed or removed is made anew from the source, where that still has the same bytes.
func (l *library) open(s Source, exe executable) (*code, error) {
	for try := 1; ; try++ {
		c, err := l.verified(exe)
		if err == nil {
			return c, nil
		}
		var foreign *foreignCode
		retry := errors.As(err, &foreign) || errors.Is(err, errWritten) || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENOTDIR)
		if !exe.copied && exe.tree == "" || !retry || try == openTries {
			return nil, err
		}
		l.replace(s, exe)
		if now, err := l.resolve(s); err != nil || now.digest != exe.digest {
			return nil, &goneRevision{digest: exe.digest}
		}
	}
}

// replace drops a copy that can't be used, so that resolve makes another.
func (l *library) replace(s Source, exe executable) {
	if exe.tree != "" {
		_ = os.RemoveAll(exe.tree)
		l.forget(s.executable())
		l.forget(exe.tree)
		return
	}
	folder := filepath.Dir(exe.path)
	if info, err := os.Lstat(folder); err == nil && !info.IsDir() {
		_ = os.Remove(folder) // a link: what it leads to is not ours
	} else {
		_ = os.RemoveAll(exe.path)
	}
	l.forget(s.executable())
	l.forget(exe.path)
}

// verified opens the file and holds it against the digest: by its stamp, or by
// reading it where the stamp is not the one that was recorded.
func (l *library) verified(exe executable) (*code, error) {
	if exe.tree != "" {
		return l.verifiedTree(exe)
	}
	file, err := l.openCode(exe)
	if err != nil {
		return nil, err
	}
	c := &code{file: file, path: exe.path, copied: exe.copied}
	if err = keepWritersOut(file); err == nil {
		err = l.compare(c, exe.digest)
	}
	if err != nil {
		c.close()
		return nil, err
	}
	c.script = isScript(file)
	return c, nil
}

// compare holds the open file, which nobody writes to now, against the digest.
func (l *library) compare(c *code, digest string) error {
	stamp, err := stampOf(c.file)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return err
	}
	if entry, ok := l.digests[c.path]; ok && entry.fileStamp == stamp && entry.SHA256 == digest && entry.settled() {
		c.stamp = stamp
		return nil
	}
	at, err := fileTime()
	if err != nil {
		return err
	}
	sum, err := hashTo(io.Discard, c.file)
	if err != nil {
		return err
	}
	if after, err := stampOf(c.file); err != nil || after != stamp || sum != digest {
		return &foreignCode{path: c.path, want: digest}
	}
	c.stamp = stamp
	return l.record(c.path, digestEntry{fileStamp: stamp, SHA256: sum, At: at})
}

// openCode opens a private copy without following a link, in a folder that is none,
// and a bundled program as it stands.
func (l *library) openCode(exe executable) (*os.File, error) {
	if !exe.copied {
		file, err := os.Open(exe.path)
		if err != nil {
			return nil, fmt.Errorf("open %s: %w", exe.path, err)
		}
		return file, nil
	}
	folder, err := unix.Open(filepath.Dir(exe.path), unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", filepath.Dir(exe.path), err)
	}
	defer func() { _ = unix.Close(folder) }()
	fd, err := unix.Openat(folder, filepath.Base(exe.path), unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", exe.path, err)
	}
	return os.NewFile(uintptr(fd), exe.path), nil
}

// changed reports whether what was started may be other than what was compared: the
// bytes were written to, or, for a script, whose interpreter may open it by its name
// again, the name stands for another file. It is asked when the process has shown its
// handshake, before it is told anything.
func (c *code) changed() bool {
	if c.tree != "" {
		now, err := treeStamp(plugintree.Tree{Dir: c.tree, Limits: plugintree.DefaultLimits()})
		return err != nil || now != c.stamp
	}
	if now, err := stampOf(c.file); err != nil || now != c.stamp {
		return true
	}
	if !c.copied || !c.script && executesFiles {
		return false
	}
	info, err := os.Lstat(c.path)
	if err != nil {
		return true
	}
	now, err := stampIn(c.path, info)
	return err != nil || now != c.stamp
}

func (c *code) close() {
	if c != nil {
		letWritersIn(c.file)
		_ = c.file.Close()
	}
}

func isScript(file *os.File) bool {
	var head [2]byte
	n, _ := file.ReadAt(head[:], 0)
	return n == 2 && string(head[:]) == "#!"
}
