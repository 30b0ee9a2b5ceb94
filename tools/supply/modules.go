package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// standard is the name under which the standard library is listed.
const standard = "std"

// module is a module of which packages are in the program.
type module struct {
	Path, Version, Sum string // as its authors published it
	Dir                string
	patched            bool     // its copy in third_party is in the program
	packages           []string // folders of the packages in use
}

// listed is a package as `go list -json` prints it.
type listed struct {
	Dir      string
	Standard bool
	Module   *struct {
		Path, Version, Sum, Dir string
		Main                    bool
		Replace                 *struct{ Path, Version, Sum, Dir string }
	}
}

// copies lists the libraries of which patched copies stand in third_party, by their
// folder as go.mod names it.
func copies(dir string) (map[string]module, error) {
	text, err := os.ReadFile(filepath.Join(dir, "third_party", "modules.json"))
	if err != nil {
		return nil, fmt.Errorf("read which libraries stand in third_party: %w", err)
	}
	var all []struct{ Folder, Module, Version, Sum string }
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read which libraries stand in third_party: %w", err)
	}
	found := map[string]module{}
	for _, c := range all {
		found["./third_party/"+c.Folder] = module{Path: c.Module, Version: c.Version, Sum: c.Sum, Dir: filepath.Join(dir, "third_party", c.Folder), patched: true}
	}
	return found, nil
}

// modulesOf lists the modules in the program for a target, sorted by path, the
// standard library under the name "std". The modules of this repository are not among them.
func modulesOf(ctx context.Context, dir string, t target) ([]module, error) {
	list := exec.CommandContext(ctx, "go", "list", "-deps", "-json=Dir,Standard,Module", program)
	list.Dir, list.Stderr = dir, os.Stderr
	list.Env = append(os.Environ(), t.env(dir)...)
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list for %s: %w", t, err)
	}
	copied, err := copies(dir)
	if err != nil {
		return nil, err
	}
	found := map[string]*module{standard: {Path: standard, Version: runtime.Version(), Dir: runtime.GOROOT()}}
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, fmt.Errorf("go list for %s: %w", t, err)
		}
		if p.Standard || p.Module == nil || p.Module.Main {
			continue
		}
		m := p.Module
		var known module
		if m.Replace != nil && m.Replace.Version == "" {
			if known = copied[m.Replace.Path]; known.Path == "" {
				continue // a module of ours, under our licence
			}
			known.Dir = m.Replace.Dir
		}
		switch {
		case found[m.Path] != nil:
		case known.Path != "":
			found[m.Path] = &known
		default:
			found[m.Path] = &module{Path: m.Path, Version: m.Version, Sum: m.Sum, Dir: m.Dir}
			if r := m.Replace; r != nil {
				found[m.Path] = &module{Path: r.Path, Version: r.Version, Sum: r.Sum, Dir: r.Dir}
			}
		}
		found[m.Path].packages = append(found[m.Path].packages, p.Dir)
	}
	var all []module
	for _, m := range found {
		all = append(all, *m)
	}
	slices.SortFunc(all, func(a, b module) int { return cmp.Compare(a.Path, b.Path) })
	return all, nil
}

// licenceFiles are the files that say under what terms the packages in use stand:
// those of their folders and of all folders above, up to the module's own.
func (m module) licenceFiles() ([]string, error) {
	folders := map[string]bool{m.Dir: true}
	for _, dir := range m.packages {
		for ; dir != m.Dir && strings.HasPrefix(dir, m.Dir); dir = filepath.Dir(dir) {
			folders[dir] = true
		}
	}
	var files []string
	for dir := range folders {
		entries, err := os.ReadDir(dir)
		if err != nil {
			return nil, fmt.Errorf("look for the licence of %s: %w", m.Path, err)
		}
		for _, e := range entries {
			if !e.IsDir() && namesLicence(e.Name()) {
				files = append(files, filepath.Join(dir, e.Name()))
			}
		}
	}
	slices.Sort(files)
	return files, nil
}

// namesLicence reports whether a file of this name holds terms.
func namesLicence(name string) bool {
	upper := strings.ToUpper(name)
	if strings.HasSuffix(upper, ".GO") {
		return false
	}
	for _, start := range []string{"LICENSE", "LICENCE", "COPYING", "UNLICENSE"} {
		if strings.HasPrefix(upper, start) {
			return true
		}
	}
	return false
}
