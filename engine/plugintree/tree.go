package plugintree

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/engine/order"
)

// Limits bound a tree. They keep a wrong folder, or an archive made to fill a disk, from
// being taken.
type Limits struct {
	Files int   // files, folders and links
	Bytes int64 // of all files
}

// DefaultLimits hold a plugin with its modules.
func DefaultLimits() Limits { return Limits{Files: 20_000, Bytes: 1 << 30} }

// TooLargeError says which limit a tree is above.
type TooLargeError struct{ What string }

func (e *TooLargeError) Error() string { return "it is too large for a plugin: " + e.What }

// Tree is a folder that is read whole.
type Tree struct {
	Dir    string
	Limits Limits
	// Source is set where people and their tools work in the folder: what they keep there
	// for themselves (.git, .flowrun, __pycache__, .DS_Store) is no part of the plugin.
	Source bool
}

// skipped are no part of a tree, by name.
func skipped(name string) bool {
	return slices.Contains([]string{".git", ".hg", ".svn", ".flowrun", "__pycache__", ".DS_Store"}, name)
}

// entry is one file, folder or link of a tree.
type entry struct {
	path string // with slashes, from the top
	info fs.FileInfo
}

// walk lists a tree in the order of its paths.
func (t Tree) walk(root *os.Root) ([]entry, error) {
	var entries []entry
	var bytes int64
	err := fs.WalkDir(root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err //nolint:wrapcheck // it names the path
		}
		if name == "." {
			return nil
		}
		if t.Source && skipped(d.Name()) {
			if d.IsDir() {
				return fs.SkipDir
			}
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err //nolint:wrapcheck // it names the path
		}
		if mode := info.Mode().Type(); mode != 0 && mode != fs.ModeDir && mode != fs.ModeSymlink {
			return fmt.Errorf("%s is neither a file, a folder nor a link", name)
		}
		if info.Mode().IsRegular() {
			bytes += info.Size()
		}
		entries = append(entries, entry{path: name, info: info})
		return t.Limits.check(len(entries), bytes)
	})
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", t.Dir, err)
	}
	order.Sort(entries, func(a, b entry) int { return strings.Compare(a.path, b.path) })
	return entries, nil
}

func (l Limits) check(files int, bytes int64) error {
	switch {
	case files > l.Files:
		return &TooLargeError{What: fmt.Sprintf("more than %d files", l.Files)}
	case bytes > l.Bytes:
		return &TooLargeError{What: fmt.Sprintf("more than %d MiB", l.Bytes>>20)}
	}
	return nil
}

// Digest is the sha256 over all that the tree holds, hex: sorted paths, whether a file
// may be executed, contents, and where links lead. Empty folders, owners, times and other
// modes are no part of it.
func (t Tree) Digest() (string, error) { return t.digest(nil) }

// CopyTo writes the tree into an empty folder, files without the right to write, and
// returns the digest of what was written.
func (t Tree) CopyTo(dir string) (string, error) {
	to, err := os.OpenRoot(dir)
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", t.Dir, err)
	}
	defer func() { _ = to.Close() }()
	return t.digest(to)
}

// digest reads the tree, and copies it where to is not nil.
func (t Tree) digest(to *os.Root) (string, error) {
	from, err := os.OpenRoot(t.Dir)
	if err != nil {
		return "", fmt.Errorf("open %s: %w", t.Dir, withoutPath(err))
	}
	defer func() { _ = from.Close() }()
	entries, err := t.walk(from)
	if err != nil {
		return "", err
	}
	sum := sha256.New()
	sum.Write([]byte("flowrun tree 1\n"))
	left := t.Limits.Bytes
	for _, e := range entries {
		if err := addEntry(sum, from, to, e, &left); err != nil {
			return "", fmt.Errorf("read %s: %w", t.Dir, err)
		}
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

func addEntry(sum hash.Hash, from, to *os.Root, e entry, left *int64) error {
	switch {
	case e.info.IsDir():
		return nil // its files make it
	case e.info.Mode().Type() == fs.ModeSymlink:
		target, err := from.Readlink(filepath.FromSlash(e.path))
		if err != nil {
			return err //nolint:wrapcheck // it names the path
		}
		if err := checkLink(e.path, target); err != nil {
			return err
		}
		fmt.Fprintf(sum, "link %s %s\n", strconv.Quote(target), strconv.Quote(e.path))
		return writeLink(to, e.path, target)
	}
	kind := "file"
	if e.info.Mode().Perm()&0o100 != 0 {
		kind = "exec"
	}
	file, err := from.OpenFile(filepath.FromSlash(e.path), os.O_RDONLY|syscall.O_NONBLOCK|syscall.O_NOFOLLOW, 0)
	if err != nil {
		return err //nolint:wrapcheck // it names the path
	}
	defer file.Close()
	content := sha256.New()
	if err := copyFile(to, e.path, kind == "exec", io.TeeReader(file, content), left); err != nil {
		return err
	}
	fmt.Fprintf(sum, "%s %x %s\n", kind, content.Sum(nil), strconv.Quote(e.path))
	return nil
}

// copyFile writes one file, or reads it alone where to is nil, and takes its bytes from
// what is left.
func copyFile(to *os.Root, name string, executable bool, content io.Reader, left *int64) error {
	out := io.Discard
	if to != nil {
		if err := to.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
			return err //nolint:wrapcheck // it names the path
		}
		mode := fs.FileMode(0o400)
		if executable {
			mode = 0o500
		}
		file, err := to.OpenFile(filepath.FromSlash(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if err != nil {
			return err //nolint:wrapcheck // it names the path
		}
		defer file.Close()
		out = file
	}
	n, err := io.Copy(out, io.LimitReader(content, *left+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if *left -= n; *left < 0 {
		return &TooLargeError{What: "its files have more bytes than are allowed"}
	}
	return nil
}

func writeLink(to *os.Root, name, target string) error {
	if to == nil {
		return nil
	}
	if err := to.MkdirAll(filepath.FromSlash(path.Dir(name)), 0o700); err != nil {
		return err //nolint:wrapcheck // it names the path
	}
	return to.Symlink(filepath.FromSlash(target), filepath.FromSlash(name)) //nolint:wrapcheck // it names the path
}

// checkLink refuses a link that could lead out of the tree: it is relative, goes up first
// and then down alone. So each link that it passes on its way is held by the same rule.
func checkLink(name, target string) error {
	slashed := filepath.ToSlash(target)
	outside := fmt.Errorf("the link %s leads to %s: links stay inside the tree", name, target)
	if slashed == "" || path.IsAbs(slashed) || !filepath.IsLocal(filepath.FromSlash(path.Join(path.Dir(name), slashed))) {
		return outside
	}
	down := false
	for part := range strings.SplitSeq(slashed, "/") {
		if part == ".." && down {
			return outside
		}
		down = down || part != ".." && part != "." && part != ""
	}
	return nil
}

// Stamp tells whether a tree changed without reading its files: a sha256 over paths,
// inodes, sizes, modes and times, the bytes of all, and the newest change of status in
// nanoseconds.
func (t Tree) Stamp() (sum [32]byte, bytes, changed int64, err error) {
	root, err := os.OpenRoot(t.Dir)
	if err != nil {
		return sum, 0, 0, fmt.Errorf("open %s: %w", t.Dir, withoutPath(err))
	}
	defer func() { _ = root.Close() }()
	entries, err := t.walk(root)
	if err != nil {
		return sum, 0, 0, err
	}
	all := sha256.New()
	for _, e := range entries {
		stat, ok := e.info.Sys().(*syscall.Stat_t)
		if !ok {
			return sum, 0, 0, fmt.Errorf("read state of %s: this system gives no inode", e.path)
		}
		at := statusChange(stat)
		changed = max(changed, at)
		if e.info.IsDir() {
			fmt.Fprintf(all, "dir %q\n", e.path) // what comes into it and goes shows in its entries
			continue
		}
		bytes += e.info.Size()
		fmt.Fprintf(all, "%q %d %d %o %d %d\n", e.path, stat.Ino, e.info.Size(), e.info.Mode(), e.info.ModTime().UnixNano(), at)
	}
	return [32]byte(all.Sum(nil)), bytes, changed, nil
}

func withoutPath(err error) error {
	if failed, ok := errors.AsType[*fs.PathError](err); ok {
		return failed.Err
	}
	return err
}
