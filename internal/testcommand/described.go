package testcommand

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// settles is how old a program must be for its stamp to stand for its bytes, and some
// time more. What is run may have been linked a moment ago.
const settles = 2100 * time.Millisecond

// Described is what a flowrun has kept of its bundled plugins: a project that has it
// starts none of them to learn what they can do, as after its first command. Only
// what a test holds of a first command needs a project without.
type Described struct {
	plugins string // the folder of the state
}

// Describe lets the command describe its bundled plugins, in dir, which becomes a
// project.
func (c Command) Describe(dir string) (*Described, error) {
	c.Dir = dir
	if err := os.WriteFile(filepath.Join(dir, "flowrun.yaml"), nil, 0o600); err != nil {
		return nil, fmt.Errorf("describe the bundled plugins: %w", err)
	}
	time.Sleep(settles) // else each start of a plugin reads the program again
	code, output, err := c.Combined("plugins", "list")
	if err == nil && code != 0 {
		err = fmt.Errorf("exit code %d\n%s", code, output)
	}
	if err != nil {
		return nil, fmt.Errorf("describe the bundled plugins: %w", err)
	}
	return &Described{plugins: filepath.Join(dir, stateFolder, "plugins")}, nil
}

// stateFolder is where a project keeps its state.
var stateFolder = filepath.Join(".flowrun", "state")

// Project gives a project what was kept: the state that it begins with, and that of
// its sandbox. Safe for concurrent use.
func (d *Described) Project(dir string) error {
	for _, state := range []string{stateFolder, filepath.Join(stateFolder, "sandbox")} {
		if err := d.State(filepath.Join(dir, state)); err != nil {
			return err
		}
	}
	return nil
}

// State gives a state folder what was kept. Its files are replaced, not written to:
// they are links. Safe for concurrent use.
func (d *Described) State(dir string) error {
	entries, err := os.ReadDir(d.plugins)
	if err != nil {
		return fmt.Errorf("read what is known of the plugins: %w", err)
	}
	plugins := filepath.Join(dir, "plugins")
	if err := os.MkdirAll(plugins, 0o700); err != nil {
		return fmt.Errorf("begin with what is known of the plugins: %w", err)
	}
	for _, entry := range entries {
		if name := entry.Name(); known(entry) {
			if err := os.Link(filepath.Join(d.plugins, name), filepath.Join(plugins, name)); err != nil {
				return fmt.Errorf("begin with what is known of the plugins: %w", err)
			}
		}
	}
	return nil
}

// known reports whether a file says something of plugins, not of their processes.
func known(entry fs.DirEntry) bool {
	return entry.Name() == "digests.json" || strings.HasSuffix(entry.Name(), ".describe.json")
}
