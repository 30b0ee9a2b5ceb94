package pluginhost

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// socketRoom is what stands behind the socket folder in the longest socket
// path: the process's folder, go-plugin's two temporary names of ten digits.
const socketRoom = len("/12345678/plugin-dir1234567890/plugin1234567890")

// shortPrefix begins the name of a socket folder outside of StateDir.
const shortPrefix = "flowrun-"

// setUp makes the host's folders at the first need and fails for good when it
// can't: a host that only serves cached descriptions still needs them.
func (h *Host) setUp() error {
	state, err := filepath.Abs(h.options.StateDir) // plugins run in another folder
	if err != nil {
		return fmt.Errorf("find state folder: %w", err)
	}
	h.dir = filepath.Join(state, "plugins")
	if err := os.MkdirAll(h.dir, 0o700); err != nil {
		return fmt.Errorf("make plugin folder: %w", err)
	}
	h.library = &library{dir: h.dir, lookPath: h.lookPath, stat: os.Stat}
	h.pids = pidRecordIn(h.dir)
	return nil
}

// LogDir returns the folder in which the last of what plugins print is kept.
func (h *Host) LogDir() string { return LogDirIn(h.options.StateDir) }

// LogDirIn is LogDir of a state folder.
func LogDirIn(stateDir string) string { return filepath.Join(stateDir, "plugins", "logs") }

// ready returns the error of setUp.
func (h *Host) ready() error {
	h.setUpOnce.Do(func() { h.setUpErr = h.setUp() })
	return h.setUpErr
}

// socketDir returns the folder of all sockets: below StateDir, or a short one in
// the temporary folder when a socket's path would be too long.
func (h *Host) socketDir() (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.sockets != "" {
		return h.sockets, nil
	}
	dir := filepath.Join(h.dir, "sock")
	if len(dir)+socketRoom <= maxSocketPath {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return "", fmt.Errorf("make socket folder: %w", err)
		}
		h.sockets = dir
		return dir, nil
	}
	tmp, ok := lookup(h.options.Environ, "TMPDIR")
	if !ok || len(tmp)+len("/flowrun-1234567890")+socketRoom > maxSocketPath {
		tmp = "/tmp"
	}
	dir, err := os.MkdirTemp(tmp, shortPrefix)
	if err != nil {
		return "", fmt.Errorf("make socket folder: %w", err)
	}
	h.sockets, h.removeSockets = dir, true
	return dir, nil
}

// makeFolders makes the private places of one process. The home stays for the
// next one.
func (h *Host) makeFolders(plugin, id string) (folders, error) {
	sockets, err := h.socketDir()
	if err != nil {
		return folders{}, err
	}
	f := folders{
		home:   filepath.Join(h.dir, "home", plugin),
		tmp:    filepath.Join(h.dir, "tmp", plugin+"-"+id),
		socket: filepath.Join(sockets, id),
	}
	for _, dir := range []string{f.home, f.tmp, f.socket} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			f.remove()
			return folders{}, fmt.Errorf("make folder of plugin %s: %w", plugin, err)
		}
	}
	return f, nil
}

// removeLeftFolders removes what a killed host could not. Only places that a
// host makes are touched, whatever the record says.
func (h *Host) removeLeftFolders(entry pidEntry) {
	if filepath.Dir(entry.TMP) == filepath.Join(h.dir, "tmp") {
		_ = os.RemoveAll(entry.TMP)
	}
	parent := filepath.Dir(entry.Socket)
	switch {
	case parent == filepath.Join(h.dir, "sock"):
		_ = os.RemoveAll(entry.Socket)
	case strings.HasPrefix(filepath.Base(parent), shortPrefix):
		_ = os.RemoveAll(entry.Socket)
		_ = os.Remove(parent) // stays when it is not empty
	}
}
