package pluginhost

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plugintree"
)

// A plugin that comes as a folder, or as an archive of one, is copied whole, and its
// digest is one over all files: a wrapper script is held with what it starts (ADR 49).

// isTree reports whether the source is a folder or an archive.
func (s Source) isTree() bool {
	if s.Bundled || s.Path == "" {
		return false
	}
	info, err := os.Stat(s.Path)
	return plugintree.IsArchive(s.Path) || err == nil && info.IsDir()
}

// Tree returns the private copy of the folder that a plugin came in, and its digest; "" =
// it is one file. The error is a *PluginError.
func (h *Host) Tree(plugin string) (dir, digest string, err error) {
	p, err := h.plugin(plugin)
	if err != nil {
		return "", "", err
	}
	u, err := p.unit(h.life, "")
	if err != nil {
		return "", "", err
	}
	return u.exe.tree, u.exe.digest, nil
}

// TreeOf is Tree for the revision of a digest.
func (h *Host) TreeOf(plugin, digest string) (dir string, err error) {
	p, err := h.plugin(plugin)
	if err != nil {
		return "", err
	}
	u, err := p.unit(h.life, digest)
	if err != nil {
		return "", err
	}
	return u.exe.tree, nil
}

// findTree returns what to run for a folder or an archive, copied anew where it changed.
func (l *library) findTree(s Source) (executable, error) {
	stamp, err := sourceStamp(s.Path)
	if err != nil {
		return executable{}, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return executable{}, err
	}
	digest := l.digests[s.Path].SHA256
	if l.digests[s.Path].fileStamp != stamp || digest == "" || !isFolder(filepath.Join(l.dir, digest)) {
		if digest, err = l.takeTree(s.Path, stamp); err != nil {
			return executable{}, err
		}
	}
	tree := filepath.Join(l.dir, digest)
	program, arguments, err := l.commandOf(tree, s)
	return executable{path: program, args: arguments, digest: digest, tree: tree}, err
}

// kept returns what is run for a revision of a local source from its copy; false where
// there is none.
func (l *library) kept(s Source, digest string) (executable, bool) {
	tree := filepath.Join(l.dir, digest)
	if _, err := os.Lstat(filepath.Join(tree, plugintree.ManifestName)); err == nil {
		program, arguments, err := l.commandOf(tree, s)
		return executable{path: program, args: arguments, digest: digest, tree: tree}, err == nil
	}
	exe := l.copyOf(s, digest)
	info, err := os.Lstat(exe.path)
	return exe, err == nil && info.Mode().IsRegular()
}

// SourceStamp tells the states of a plugin's source apart without reading it, a folder's
// with those of all files in it; the zero value where there is none.
func (h *Host) SourceStamp(plugin string) (inode uint64, size, modified, changed int64) {
	p := h.plugins[plugin]
	if p == nil {
		return 0, 0, 0, 0
	}
	var stamp fileStamp
	if p.source.isTree() {
		stamp, _ = sourceStamp(p.source.Path)
	} else if info, err := os.Stat(p.source.executable()); err == nil {
		stamp, _ = stampIn(p.source.Path, info)
	}
	return stamp.Inode, stamp.Size, stamp.MTime, stamp.CTime
}

// takeTree copies a folder, or unpacks an archive, to its place by digest. l.mu is held.
func (l *library) takeTree(source string, stamp fileStamp) (string, error) {
	at, err := fileTime()
	if err != nil {
		return "", err
	}
	fresh, err := os.MkdirTemp(l.dir, ".copy-*")
	if err != nil {
		return "", fmt.Errorf("copy %s: %w", source, err)
	}
	defer func() { _ = os.RemoveAll(fresh) }() // gone already when the copy took its place
	top, digest, err := copyTree(source, fresh)
	if err != nil {
		return "", err
	}
	if after, err := sourceStamp(source); err != nil || after != stamp {
		return "", fmt.Errorf("%s changed while it was read", source)
	}
	// What lies there may be in use; open holds it against the digest.
	place := filepath.Join(l.dir, digest)
	if !isFolder(place) {
		if err := os.Rename(top, place); err != nil {
			return "", fmt.Errorf("copy %s: %w", source, err)
		}
	}
	return digest, l.record(source, digestEntry{fileStamp: stamp, SHA256: digest, At: at})
}

// copyTree fills a fresh folder and returns where in it the tree begins, and its digest.
func copyTree(source, fresh string) (top, digest string, err error) {
	limits := plugintree.DefaultLimits()
	if !plugintree.IsArchive(source) {
		digest, err = plugintree.Tree{Dir: source, Limits: limits, Source: true}.CopyTo(fresh)
		return fresh, digest, err //nolint:wrapcheck // it names the folder
	}
	archive, err := os.Open(source)
	if err != nil {
		return "", "", fmt.Errorf("%s can't be opened: %w", source, cause(err))
	}
	defer archive.Close()
	if top, err = plugintree.Unpack(archive, fresh, limits); err != nil {
		return "", "", err //nolint:wrapcheck // it names the archive
	}
	digest, err = plugintree.Tree{Dir: top, Limits: limits}.Digest()
	return top, digest, err //nolint:wrapcheck // it names the folder
}

// commandOf returns the program that the manifest of a copy names for this platform, and
// its arguments: a file of the tree, or a program of the system.
// One that is told something may have another name in the project.
func (l *library) commandOf(tree string, s Source) (program string, arguments []string, err error) {
	manifest, err := plugintree.ReadManifest(os.DirFS(tree))
	if err != nil {
		return "", nil, err //nolint:wrapcheck // it names the file
	}
	if manifest.Name != s.Name && s.Settings == nil {
		return "", nil, &Refusal{
			Message: fmt.Sprintf("its %s calls it %s", plugintree.ManifestName, manifest.Name),
			Hint:    diag.Say("name it so in `plugins` of flowrun.yaml: a plugin has one name"),
		}
	}
	command, err := manifest.Command(runtime.GOOS + "/" + runtime.GOARCH)
	if err != nil {
		return "", nil, err //nolint:wrapcheck // it says all
	}
	if plugintree.OfTree(command[0]) {
		return filepath.Join(tree, filepath.FromSlash(command[0])), command[1:], nil
	}
	if program = l.lookPath(command[0]); program == "" {
		return "", nil, &Refusal{
			Message: command[0] + ", which starts it, is not in PATH",
			Hint:    diag.Sayf("install %s on this machine, or let the PATH of flowrun name its folder", command[0]),
		}
	}
	return program, command[1:], nil
}

// verifiedTree opens the program of a copied tree and holds the whole tree against its
// digest: by its stamp, or by reading it where the stamp is not the one recorded.
func (l *library) verifiedTree(exe executable) (*code, error) {
	tree := plugintree.Tree{Dir: exe.tree, Limits: plugintree.DefaultLimits()}
	foreign := &foreignCode{path: exe.tree, want: exe.digest}
	if info, err := os.Lstat(exe.tree); err != nil || !info.IsDir() {
		return nil, foreign
	}
	stamp, err := treeStamp(tree)
	if err != nil {
		return nil, foreign
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.load(); err != nil {
		return nil, err
	}
	entry, known := l.digests[exe.tree]
	if !known || entry.fileStamp != stamp || entry.SHA256 != exe.digest || !entry.settled() {
		at, err := fileTime()
		if err != nil {
			return nil, err
		}
		digest, err := tree.Digest()
		if err != nil || digest != exe.digest {
			return nil, foreign
		}
		if after, err := treeStamp(tree); err != nil || after != stamp {
			return nil, foreign
		}
		if err := l.record(exe.tree, digestEntry{fileStamp: stamp, SHA256: digest, At: at}); err != nil {
			return nil, err
		}
	}
	file, err := os.Open(exe.path)
	if errors.Is(err, fs.ErrNotExist) { // of the source too: the copy is what it was
		return nil, &Refusal{
			Message: fmt.Sprintf("%s, which starts it, is not in its folder", strings.TrimPrefix(exe.path, exe.tree+string(filepath.Separator))),
			Hint:    diag.Sayf("build it into the folder: it is the `command` of %s", plugintree.ManifestName),
		}
	}
	if err != nil {
		return nil, fmt.Errorf("its command %s can't be started: %w", filepath.Base(exe.path), cause(err))
	}
	return &code{file: file, path: exe.path, tree: exe.tree, stamp: stamp, script: isScript(file)}, nil
}

// sourceStamp is the stamp of a folder as a source, or of an archive.
func sourceStamp(path string) (fileStamp, error) {
	if !plugintree.IsArchive(path) {
		return treeStamp(plugintree.Tree{Dir: path, Limits: plugintree.DefaultLimits(), Source: true})
	}
	info, err := os.Stat(path)
	if err != nil {
		return fileStamp{}, fmt.Errorf("%s can't be opened: %w", path, cause(err))
	}
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok || !info.Mode().IsRegular() {
		return fileStamp{}, fmt.Errorf("%s is not a regular file", path)
	}
	return fileStamp{Inode: stat.Ino, Size: info.Size(), MTime: info.ModTime().UnixNano(), CTime: changeTime(stat)}, nil
}

// treeStamp is the stamp of all files of a tree, in the form of one file's.
func treeStamp(tree plugintree.Tree) (fileStamp, error) {
	sum, bytes, changed, err := tree.Stamp()
	if err != nil {
		return fileStamp{}, err //nolint:wrapcheck // it names the folder
	}
	return fileStamp{
		Inode: binary.BigEndian.Uint64(sum[:8]), Size: bytes, CTime: changed,
		MTime: int64(binary.BigEndian.Uint64(sum[8:16])), //nolint:gosec // bits of a sum, no number
	}, nil
}

func isFolder(path string) bool {
	info, err := os.Lstat(path)
	return err == nil && info.IsDir()
}

// notLocked refuses what is not what the lock has.
func notLocked(s Source, exe executable) *Refusal {
	return &Refusal{
		Message: fmt.Sprintf("its source is not what flowrun.lock has: its digest is sha256:%s, that of the lock sha256:%s", exe.digest, s.Locked),
		Hint:    diag.Sayf("when the change is meant, look at it and take it over: %s", diag.Command{"plugins", "update", s.Name}),
	}
}
