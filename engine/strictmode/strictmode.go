// Package strictmode finds what users other than this process's own, and root,
// could change of a state folder: the folder, the files in it that flowrun
// believes, and all folders above, in which the folder could be swapped for
// another (ADR 30). The model is the rule of the same name of sshd.
package strictmode

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/flowrun/flowrun/engine/diag"
)

// Identity is who asks: a user with its groups.
type Identity struct {
	UID    int
	Groups []int
	// Unknown is the owner that is shown for users that this process's namespace
	// does not know; negative where it knows all.
	Unknown int
}

// Fault is one place that somebody else could change, and the command that ends
// that; "" where no single command does.
type Fault struct {
	Path   string
	Detail string
	Fix    string
}

func (f Fault) Error() string { return f.Path + " " + f.Detail }

// Check looks at a state folder. What does not exist yet is no fault, a link that
// leads nowhere is one. What can't be looked at is left to who opens it.
func Check(folder string, who Identity) []Fault {
	c := &check{who: who, visited: map[string]bool{}}
	real, info := c.follow(folder)
	if info == nil {
		return c.faults
	}
	if !info.IsDir() {
		c.add(real, "is not a directory", "")
		return c.faults
	}
	c.own(real, info)
	c.entries(real)
	return c.faults
}

// check gathers faults. seen are folders above that were looked at.
type check struct {
	who     Identity
	visited map[string]bool
	faults  []Fault
}

func (c *check) add(path, detail, fix string) {
	c.faults = append(c.faults, Fault{Path: path, Detail: detail, Fix: fix})
}

// maxLinks is how many links may follow each other, as in Linux.
const maxLinks = 40

// follow goes down a path and looks at every folder and link on the way. It
// returns what the path leads to; nil where that does not exist.
func (c *check) follow(path string) (real string, found fs.FileInfo) {
	at, rest, link := "/", parts(path), ""
	c.above(at)
	for links := 0; len(rest) > 0; {
		name := rest[0]
		rest = rest[1:]
		if name == ".." {
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		info, err := os.Lstat(next)
		switch {
		case errors.Is(err, fs.ErrNotExist) && link != "":
			target, _ := os.Readlink(link)
			c.add(link, fmt.Sprintf("is a link to %s, which does not exist", target), "mkdir -p "+diag.ShellWord(filepath.Join(append([]string{next}, rest...)...)))
			return "", nil
		case err != nil:
			return "", nil
		case info.Mode()&fs.ModeSymlink != 0:
			target, err := os.Readlink(next)
			if links++; err != nil || links > maxLinks {
				return "", nil
			}
			c.owner(next, info, "is a link that", "chown -h")
			if filepath.IsAbs(target) {
				at = "/"
			}
			link, rest = next, append(parts(target), rest...)
			continue
		case len(rest) == 0:
			return next, info
		case !info.IsDir():
			c.add(next, "is not a directory", "")
			return "", nil
		}
		c.above(next)
		at = next
	}
	info, err := os.Lstat(at)
	if err != nil {
		return "", nil
	}
	return at, info
}

// parts are the names of a path: of a link's target "..", too.
func parts(path string) (names []string) {
	for name := range strings.SplitSeq(path, "/") {
		if name != "" && name != "." {
			names = append(names, name)
		}
	}
	return names
}

// above looks at a folder that the way leads through. With the sticky bit only the
// owner of what lies in it can put something else there. A group of this process's
// own is trusted so far: with private groups (umask 0002) folders are writable for
// a group of one.
func (c *check) above(dir string) {
	info, err := os.Lstat(dir)
	if err != nil || c.visited[dir] {
		return
	}
	c.visited[dir] = true
	const could = ", who could put another folder in the place of what is below"
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && c.who.UID != 0 && !c.trusted(int(stat.Uid)) {
		c.add(dir, fmt.Sprintf("belongs to another user (uid %d)%s", stat.Uid, could), fmt.Sprintf("chown %d %s", c.who.UID, diag.ShellWord(dir)))
	}
	if info.Mode()&fs.ModeSticky != 0 {
		return
	}
	mode := info.Mode().Perm()
	foreign := false
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && mode&0o020 != 0 {
		foreign = !c.member(int(stat.Gid))
	}
	switch {
	case mode&0o002 != 0:
		c.add(dir, fmt.Sprintf("has the mode %04o: all users may write in it%s", mode, could), "chmod go-w "+diag.ShellWord(dir))
	case foreign:
		c.add(dir, fmt.Sprintf("has the mode %04o: a group may write in it%s", mode, could), "chmod g-w "+diag.ShellWord(dir))
	}
}

// own looks at a file or folder of flowrun's: nobody else may have or write it.
func (c *check) own(path string, info fs.FileInfo) {
	c.owner(path, info, "", "chown")
	if mode := info.Mode().Perm(); mode&0o022 != 0 {
		who := "all users"
		if mode&0o002 == 0 {
			who = "its group"
		}
		c.add(path, fmt.Sprintf("has the mode %04o: %s may write it", mode, who), "chmod go-w "+diag.ShellWord(path))
	}
}

func (c *check) owner(path string, info fs.FileInfo, what, command string) {
	if stat, ok := info.Sys().(*syscall.Stat_t); ok && !c.trusted(int(stat.Uid)) {
		detail := strings.TrimSpace(fmt.Sprintf("%s belongs to another user (uid %d)", what, stat.Uid))
		c.add(path, detail, fmt.Sprintf("%s %d %s", command, c.who.UID, diag.ShellWord(path)))
	}
}

func (c *check) trusted(uid int) bool { return uid == c.who.UID || uid == 0 || uid == c.who.Unknown }

func (c *check) member(gid int) bool {
	for _, own := range c.who.Groups {
		if own == gid {
			return true
		}
	}
	return gid == 0
}
