package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/sdk"
)

// maxFile bounds what is read of one file.
const maxFile = 8 << 20

var canaryPattern = regexp.MustCompile(`canary-([a-z_]+)-([0-9a-f]{16})`)

// seek looks everywhere.
func seek(c *sdk.Call[config], in search, token string) (loot, error) {
	l := &loot{Found: []string{}, Tried: []string{}}
	l.look("its connection", c.Config.Key)
	l.look("its environment", strings.Join(os.Environ(), "\n"))
	l.processes()
	l.descriptors()
	for _, file := range in.Files {
		l.file("a file by its name", file)
	}
	for _, folder := range in.Folders {
		l.walk(folder)
	}
	ask(c, l, in, token)
	l.engine(in.Socket)
	slices.Sort(l.Found)
	l.Found = slices.Compact(l.Found)
	return *l, nil
}

// look keeps the canaries of a text.
func (l *loot) look(way, text string) {
	for _, match := range canaryPattern.FindAllStringSubmatch(text, -1) {
		hex := []byte(match[2])
		slices.Reverse(hex)
		l.Found = append(l.Found, match[1]+" "+string(hex)+" "+way)
	}
}

// processes reads what /proc tells of its parents and of everybody.
func (l *loot) processes() {
	parent := fmt.Sprintf("/proc/%d", os.Getppid())
	folders, _ := filepath.Glob("/proc/[0-9]*")
	for _, folder := range append(folders, parent, "/proc/self") {
		for _, name := range []string{"environ", "cmdline"} {
			l.file("/proc/PID/"+name, filepath.Join(folder, name))
		}
	}
	open, _ := filepath.Glob(parent + "/fd/*") // what the engine has open
	for _, file := range open {
		l.file("/proc/PID/fd", file)
	}
}

// descriptors reads what was left open when it was started.
func (l *loot) descriptors() {
	for number := range 64 {
		content := make([]byte, 64<<10)
		if n, err := syscall.Pread(number, content, 0); err == nil && n > 0 {
			l.look("an open descriptor", string(content[:n]))
		}
	}
}

func (l *loot) file(way, path string) {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > maxFile {
		return
	}
	content, _ := os.ReadFile(path)
	l.look(way, string(content))
}

func (l *loot) walk(folder string) {
	_ = filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() {
			l.file("a folder", path)
		}
		return nil // what is closed is passed over
	})
}
