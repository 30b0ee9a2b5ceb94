package pluginhost

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// executable is what is run for a plugin.
type executable struct {
	path   string // of the private copy, or of the program itself when bundled
	args   []string
	digest string // sha256 of the file, hex
	// told names the revision where the plugin was told something: a sha256, hex, over the
	// file's and what it was told. "" = it was told nothing.
	told   string
	copied bool   // path is a private copy
	tree   string // the private copy of the folder that it is part of; "" = it is one file
}

// revision is the digest that names what is run, for all who know revisions.
func (e executable) revision() string { return cmp.Or(e.told, e.digest) }

// fileStamp tells whether a file changed without reading it.
type fileStamp struct {
	Inode uint64 `json:"inode"`
	Size  int64  `json:"size"`
	MTime int64  `json:"mtime"` // nanoseconds
	CTime int64  `json:"ctime"` // nanoseconds
}

type digestEntry struct {
	fileStamp
	SHA256 string `json:"sha256"`
	At     int64  `json:"at,omitempty"` // when reading began, nanoseconds of the clock that stamps files; 0 = not known
}

// settleTime is how old a file's last change must be when it is read, so that its
// stamp stands for its bytes: a change within the same tick leaves the same stamp.
// Clocks of file systems tick each second at the slowest.
const settleTime = 2 * time.Second

// settled reports whether every later change of the file shows in its stamp.
func (e digestEntry) settled() bool { return e.At-e.CTime > int64(settleTime) }

// fileTime is the clock that stamps files: the kernel's.
func fileTime() (int64, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_REALTIME, &now); err != nil {
		return 0, fmt.Errorf("ask for the time of files: %w", err)
	}
	return now.Nano(), nil
}

// library finds executables, knows their digests and keeps the private copies.
// Safe for concurrent use, also by several processes on one folder.
type library struct {
	dir      string                   // StateDir/plugins
	lookPath func(name string) string // a program of the system; "" = there is none
	stat     func(path string) (os.FileInfo, error)

	mu      sync.Mutex
	digests map[string]digestEntry // by path; nil = the file was not read yet
}

// resolve returns what to run for a source. A local file is copied first, and
// again whenever inode, size, mtime or ctime changed; the copy is what was
// hashed, so that exchanging the file in between runs the old bytes or the new,
// never bytes of another digest.
func (l *library) resolve(s Source) (executable, error) {
	if s.Refused != nil {
		return executable{}, s.Refused
	}
	exe, err := l.find(s)
	if err == nil && s.Locked != "" && exe.digest != s.Locked {
		return executable{}, notLocked(s, exe)
	}
	return exe, err
}

func (l *library) find(s Source) (executable, error) {
	if s.isTree() {
		return l.findTree(s)
	}
	if s.Bundled {
		if len(s.Command) == 0 {
			return executable{}, errors.New("it is bundled but has no command")
		}
		digest, err := l.digest(s.Command[0], func(file *os.File) (string, error) { return hashTo(io.Discard, file) })
		return executable{path: s.Command[0], args: s.Command[1:], digest: digest}, err
	}
	path := s.executable()
	copyOf := func(file *os.File) (string, error) { return l.copy(file, s.Name) }
	digest, err := l.digest(path, copyOf)
	if err != nil {
		return executable{}, err
	}
	if _, err := os.Stat(l.copyPath(digest, s.Name)); err != nil {
		// The digest is known but the copy is gone, or has another name.
		l.forget(path)
		if digest, err = l.digest(path, copyOf); err != nil {
			return executable{}, err
		}
	}
	return l.copyOf(s, digest), nil
}

// copyOf is what is run for a revision of a local source, whether its copy is there or not.
func (l *library) copyOf(s Source, digest string) executable {
	return executable{path: l.copyPath(digest, s.Name), args: s.Command[min(1, len(s.Command)):], digest: digest, copied: true}
}

// executable is the local file that is run.
func (s Source) executable() string {
	if s.Path == "" && len(s.Command) > 0 {
		return s.Command[0]
	}
	return s.Path
}

// digest returns the sha256 of the file, from the record when its stamp is the
// same. read is given the open file otherwise.
func (l *library) digest(path string, read func(*os.File) (string, error)) (string, error) {
	if sum, ok := l.recorded(path); ok {
		return sum, nil
	}
	file, err := os.Open(path)
	if err != nil {
		if failed, ok := errors.AsType[*fs.PathError](err); ok {
			err = failed.Err
		}
		return "", fmt.Errorf("%s can't be opened: %w", path, err)
	}
	defer file.Close()
	stamp, err := stampOf(file)
	if err != nil {
		return "", err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return "", err
	}
	if entry, exists := l.digests[path]; exists && entry.fileStamp == stamp {
		return entry.SHA256, nil
	}
	at, err := fileTime()
	if err != nil {
		return "", err
	}
	sum, err := read(file)
	if err != nil {
		return "", err
	}
	if after, err := stampOf(file); err != nil || after != stamp {
		return "", fmt.Errorf("executable %s changed while it was read", path)
	}
	return sum, l.record(path, digestEntry{fileStamp: stamp, SHA256: sum, At: at})
}

// record keeps what was hashed. l.mu is held.
func (l *library) record(path string, entry digestEntry) error {
	l.digests[path] = entry
	return updateJSON(l.recordPath(), func(all *map[string]digestEntry) {
		if *all == nil {
			*all = map[string]digestEntry{}
		}
		(*all)[path] = entry
	})
}

func (l *library) recordPath() string { return filepath.Join(l.dir, "digests.json") }

// load reads the record, once. l.mu is held.
func (l *library) load() error {
	if l.digests != nil {
		return nil
	}
	l.digests = map[string]digestEntry{}
	return readJSON(l.recordPath(), &l.digests)
}

// recorded returns the digest of a file that has not changed, without opening
// it.
func (l *library) recorded(path string) (string, bool) {
	info, err := l.stat(path)
	if err != nil {
		return "", false
	}
	stamp, err := stampIn(path, info)
	if err != nil {
		return "", false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	entry, ok := l.digests[path]
	return entry.SHA256, ok && entry.fileStamp == stamp
}

func (l *library) forget(path string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.digests, path)
}

func (l *library) copyPath(digest, name string) string { return filepath.Join(l.dir, digest, name) }

// copy writes the file to its place by digest and returns the digest. What lies there
// is not known by that: somebody may have written to it on the way (verified reads it).
// l.mu is held.
func (l *library) copy(file *os.File, name string) (string, error) {
	fresh, err := os.CreateTemp(l.dir, ".copy-*")
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", file.Name(), err)
	}
	defer fresh.Close()
	defer func() { _ = os.Remove(fresh.Name()) }() // gone already when the copy took its place
	digest, err := hashTo(fresh, file)
	if err == nil {
		err = fresh.Chmod(0o500)
	}
	if err == nil {
		err = fresh.Sync()
	}
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", file.Name(), err)
	}
	place := l.copyPath(digest, name)
	if err := os.MkdirAll(filepath.Dir(place), 0o700); err != nil {
		return "", fmt.Errorf("copy %s: %w", file.Name(), err)
	}
	if err := os.Rename(fresh.Name(), place); err != nil {
		return "", fmt.Errorf("copy %s: %w", file.Name(), err)
	}
	return digest, nil
}

func hashTo(w io.Writer, file *os.File) (string, error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", fmt.Errorf("read %s: %w", file.Name(), err)
	}
	sum := sha256.New()
	if _, err := io.Copy(io.MultiWriter(sum, w), file); err != nil {
		return "", fmt.Errorf("read %s: %w", file.Name(), err)
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func stampOf(file *os.File) (fileStamp, error) {
	info, err := file.Stat()
	if err != nil {
		return fileStamp{}, fmt.Errorf("read state of %s: %w", file.Name(), err)
	}
	return stampIn(file.Name(), info)
}

func stampIn(path string, info os.FileInfo) (fileStamp, error) {
	if !info.Mode().IsRegular() {
		return fileStamp{}, fmt.Errorf("%s is not a regular file", path)
	}
	if info.Mode().Perm()&0o111 == 0 {
		return fileStamp{}, fmt.Errorf("%s is not executable", path)
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fileStamp{}, fmt.Errorf("read state of %s: this system gives no inode", path)
	}
	return fileStamp{
		Inode: stat.Ino, Size: info.Size(), MTime: info.ModTime().UnixNano(), CTime: changeTime(stat),
	}, nil
}
