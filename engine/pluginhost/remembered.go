package pluginhost

import (
	"os"
	"path/filepath"
	"slices"
)

// Remembered returns what a plugin has said of itself, where that is known of its file as it
// is now, and of what it is told now; nil where it is not, and of one that is a folder or is
// attached. It starts no process, reads no executable and writes nothing.
func (h *Host) Remembered(name string) *Description {
	p, ok := h.plugins[name]
	if !ok || !validName(name) || p.source.isTree() || p.source.Attach != "" || p.source.Refused != nil {
		return nil
	}
	seen := &library{dir: filepath.Dir(h.LogDir()), stat: os.Stat} // the host's own makes its folder
	digest, ok := seen.known(p.source.executable())
	if !ok || p.source.Locked != "" && p.source.Locked != digest {
		return nil
	}
	exe := executable{digest: digest, args: p.source.Command[min(1, len(p.source.Command)):]}
	if p.source.Settings != nil {
		base := readRecord(filepath.Join(seen.dir, filepath.Base(p.basePath(exe))), digest)
		if base == nil {
			return nil
		}
		told, err := p.source.Settings(base.SettingsSchema)
		if err != nil {
			return nil
		}
		exe.told = toldRevision(digest, name, told.digest())
	}
	return readRecord(filepath.Join(seen.dir, filepath.Base(p.recordPath(exe))), exe.revision())
}

// known returns the digest of a file that has not changed since it was read.
func (l *library) known(path string) (digest string, ok bool) {
	l.mu.Lock()
	err := l.load()
	l.mu.Unlock()
	if err != nil {
		return "", false
	}
	return l.recorded(path)
}

// RememberedActions are the full names of the actions of a remembered plugin, in order.
func (h *Host) RememberedActions(name string) (names []string) {
	description := h.Remembered(name)
	if description == nil {
		return nil
	}
	for _, action := range description.Actions {
		names = append(names, name+"."+action.Name)
	}
	slices.Sort(names)
	return names
}
