package strictmode

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// entries looks at what lies in a state folder and is believed: the store with
// what belongs to it, the key, the socket and its owner, the plugins' copies and
// records. What a plugin keeps in its own home is the plugin's.
func (c *check) entries(folder string) {
	for _, entry := range list(folder) {
		name := entry.Name()
		switch path := filepath.Join(folder, name); {
		case name == "plugins":
			if real, info := c.entry(path); info != nil && info.IsDir() {
				c.plugins(real)
			}
		case name == "backups", name == "key", name == "owner.json", name == "flowrun.sock",
			strings.HasPrefix(name, "key."), strings.HasPrefix(name, "flowrun.db"):
			c.entry(path)
		}
	}
}

// plugins looks at the folder of the plugin host: records, sockets, and one folder
// for each copy, named by its digest.
func (c *check) plugins(folder string) {
	for _, entry := range list(folder) {
		real, info := c.entry(filepath.Join(folder, entry.Name()))
		if info == nil || !info.IsDir() {
			continue
		}
		switch entry.Name() {
		case "home", "tmp", "sock":
			continue // what is inside is the plugins', each in a folder of its own
		}
		for _, file := range list(real) {
			c.entry(filepath.Join(real, file.Name()))
		}
	}
}

// entry looks at one file or folder; a link is followed.
func (c *check) entry(path string) (real string, found fs.FileInfo) {
	info, err := os.Lstat(path)
	if err != nil {
		return "", nil
	}
	real = path
	if info.Mode()&fs.ModeSymlink != 0 {
		if real, info = c.follow(path); info == nil {
			return "", nil
		}
	}
	c.own(real, info)
	return real, info
}

func list(folder string) []fs.DirEntry {
	entries, _ := os.ReadDir(folder) // what can't be listed is told by who opens it
	return entries
}
