package pluginhost

import (
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/plugintree"
)

// youngCopy is how long a copy stays whatever is needed: another process may have made it
// a moment ago, to ask it what it is.
const youngCopy = time.Minute

// isDigest reports whether a text is a SHA-256 sum as names of files have it.
func isDigest(text string) bool {
	return len(text) == 64 && strings.Trim(text, "0123456789abcdef") == ""
}

// DropRevisions ends the revisions of local plugins that are neither in force nor needed:
// a process that serves no call ends, and its copy and its description are removed from
// the state folder. It returns how many copies are left that are not in force.
func (h *Host) DropRevisions(needed func(plugin, digest string) bool) (left int) {
	if h.ready() != nil {
		return 0
	}
	for _, p := range h.plugins {
		if !p.source.Bundled || p.source.Settings != nil {
			p.drop(needed)
		}
	}
	h.dropTold(needed)
	entries, err := os.ReadDir(h.dir)
	if err != nil {
		return 0
	}
	for _, entry := range entries {
		if entry.IsDir() && isDigest(entry.Name()) {
			left += h.dropCopies(entry.Name(), needed)
		}
	}
	return left
}

// drop forgets the revisions that nobody needs; one with a call in flight stays.
func (p *plugin) drop(needed func(plugin, digest string) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for digest, u := range p.revisions {
		if u == p.inForce || needed(p.source.Name, digest) || !u.drop() {
			continue
		}
		s := u.status()
		p.starts, p.crashes = p.starts+s.Starts, p.crashes+s.AllCrashes
		delete(p.revisions, digest)
	}
}

// drop takes no calls any more and ends the process, unless it is in use or is being asked
// what it is.
func (u *unit) drop() bool {
	if !u.describing.TryLock() {
		return false
	}
	defer u.describing.Unlock()
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.starting != nil || len(u.old) > 0 || u.process != nil && u.process.inFlight > 0 {
		return false
	}
	u.dropped = true
	if u.process != nil {
		u.retire(u.process)
	}
	return true
}

// dropCopies removes the copies of one digest that nobody needs, and returns how many
// stay that are not in force.
func (h *Host) dropCopies(digest string, needed func(plugin, digest string) bool) (left int) {
	folder := filepath.Join(h.dir, digest)
	if manifest, err := plugintree.ReadManifest(os.DirFS(folder)); err == nil {
		for name, p := range h.plugins {
			if p.source.Settings == nil || name == manifest.Name {
				continue // what is told something may have another name than its manifest has
			}
			if inForce, known := h.knows(name, digest); inForce {
				return 0
			} else if known {
				return 1
			}
		}
		return h.dropOne(folder, digest, manifest.Name, needed)
	}
	copies, err := os.ReadDir(folder)
	if err != nil {
		return 0
	}
	for _, one := range copies {
		if !validName(one.Name()) || !one.Type().IsRegular() {
			return left // nothing that a host has put there
		}
		left += h.dropOne(filepath.Join(folder, one.Name()), digest, one.Name(), needed)
	}
	_ = os.Remove(folder) // where it is empty
	return left
}

// dropOne removes one copy, a file or a folder, unless somebody needs it.
func (h *Host) dropOne(path, digest, name string, needed func(plugin, digest string) bool) (left int) {
	inForce, known := h.knows(name, digest)
	info, err := os.Lstat(path)
	switch {
	case inForce || err != nil:
		return 0
	case known || needed(name, digest) || h.options.Now().Sub(info.ModTime()) < youngCopy:
		return 1
	}
	h.removeCopy(path, digest, name)
	return 0
}

// knows reports whether the plugin has a revision of that digest in memory, and whether it
// is the one in force.
func (h *Host) knows(name, digest string) (inForce, known bool) {
	p := h.plugins[name]
	if p == nil {
		return false, false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, u := range p.revisions { // of an executable that was told several things
		if u.exe.digest == digest {
			inForce, known = inForce || u == p.inForce, true
		}
	}
	return inForce, known || p.ranAs(digest)
}

func (h *Host) removeCopy(path, digest, name string) {
	if err := os.RemoveAll(path); err != nil {
		h.options.Log.Warn("copy of an old plugin not removed", "plugin", name, "error", err)
		return
	}
	h.options.Log.Info("copy of an old plugin removed", "plugin", name, "digest", digest)
	h.library.forget(path)
	_ = os.Remove(filepath.Join(h.dir, digest+describeSuffix))
	_ = os.Remove(filepath.Join(h.dir, digest+"."+name+describeSuffix))
	_ = os.Remove(filepath.Join(h.dir, digest+"."+name+baseSuffix))
	_ = updateJSON(h.library.recordPath(), func(all *map[string]digestEntry) { delete(*all, path) })
}
