// Package mutant reads faults for the product's source from files and builds with
// them, without touching the tree. Suites use it that show of themselves that they
// notice such faults: test/mutants, test/rows, test/sound, test/sandbox.
package mutant

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
)

// Mutant is a fault: a piece of source, and what stands in its place.
type Mutant struct {
	Name   string
	Breaks string // the promise that no longer holds
	File   string // from the root of the module
	Tests  string // the package whose tests must notice it, from the root of the module
	Run    string // those of its tests that do, as for `go test -run`; empty for all
	Old    string
	New    string
	Place  string // file:line of the mutant itself
}

// String is the place and the name.
func (m Mutant) String() string { return m.Place + " " + m.Name }

// Read reads a file of mutants. Each begins with `=== name`; lines of `breaks:`,
// `file:` and `tests: PACKAGE [RUN]` follow, the source between `---` and `+++`,
// and what replaces it, up to the next `===`. Line feeds at the end of the two
// pieces are none of theirs. Lines with # before the first mutant are comments.
func Read(path string) ([]Mutant, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read mutants: %w", err)
	}
	var all []Mutant
	var into *string
	for i, line := range strings.Split(strings.TrimRight(string(text), "\n"), "\n") {
		place := fmt.Sprintf("%s:%d", filepath.Base(path), i+1)
		key, value, _ := strings.Cut(line, ": ")
		switch {
		case strings.HasPrefix(line, "=== "):
			all, into = append(all, Mutant{Name: line[4:], Place: place}), nil
		case len(all) == 0:
			if line != "" && line[0] != '#' {
				return nil, fmt.Errorf("%s: %q stands before the first mutant", place, line)
			}
		case line == "---":
			into = &all[len(all)-1].Old
		case line == "+++":
			into = &all[len(all)-1].New
		case into != nil:
			*into += line + "\n"
		case key == "breaks":
			all[len(all)-1].Breaks = value
		case key == "file":
			all[len(all)-1].File = value
		case key == "tests":
			all[len(all)-1].Tests, all[len(all)-1].Run, _ = strings.Cut(value, " ")
		case line != "":
			return nil, fmt.Errorf("%s: %q is nothing of a mutant", place, line)
		}
	}
	for i := range all {
		all[i].Old, all[i].New = strings.TrimRight(all[i].Old, "\n"), strings.TrimRight(all[i].New, "\n")
	}
	return all, nil
}

// Source is the file with the fault. The old text must stand in it exactly once,
// and what comes of it must be Go, or JSON in a file of that.
func (m Mutant) Source(root string) ([]byte, error) {
	path := filepath.Join(root, m.File)
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read what is to be spoiled: %w", err)
	}
	if n := strings.Count(string(text), m.Old); n != 1 || strings.TrimSpace(m.Old) == "" {
		return nil, fmt.Errorf("%s has the old text %d times: write the mutant anew\n%s", m.File, n, m.Old)
	}
	spoiled := strings.Replace(string(text), m.Old, m.New, 1)
	if spoiled == string(text) {
		return nil, errors.New("nothing changes")
	}
	if filepath.Ext(m.File) == ".json" {
		if !json.Valid([]byte(spoiled)) {
			return nil, fmt.Errorf("with the fault %s is no JSON", m.File)
		}
		return []byte(spoiled), nil
	}
	if _, err := parser.ParseFile(token.NewFileSet(), path, spoiled, parser.SkipObjectResolution); err != nil {
		return nil, fmt.Errorf("with the fault %s can't be read: %w", m.File, err)
	}
	return []byte(spoiled), nil
}

// Package says where the go command tests a package, from the root of the tree: the folder
// of its module, and what it is called there. The SDK has a module of its own.
func Package(root, dir string) (module, pattern string) {
	if rest, ok := strings.CutPrefix(dir+"/", "sdk/"); ok {
		return filepath.Join(root, "sdk"), "./" + rest
	}
	return root, "./" + dir
}

// Overlay writes the files with the faults, each in a file of its own, into a
// folder, and returns the file that `go build -overlay` takes.
func Overlay(dir, root string, mutants ...Mutant) (string, error) {
	replaced := map[string]string{}
	for i, m := range mutants {
		path, err := filepath.Abs(filepath.Join(root, m.File))
		if err != nil {
			return "", fmt.Errorf("find %s: %w", m.File, err)
		}
		if replaced[path] != "" {
			return "", fmt.Errorf("%s is the second fault of %s", m.Name, m.File)
		}
		source, err := m.Source(root)
		if err != nil {
			return "", err
		}
		replaced[path] = filepath.Join(dir, fmt.Sprintf("%d_%s", i, filepath.Base(path)))
		if err := os.WriteFile(replaced[path], source, 0o600); err != nil {
			return "", fmt.Errorf("write the fault: %w", err)
		}
	}
	content, err := json.Marshal(map[string]any{"Replace": replaced})
	if err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	file := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(file, content, 0o600); err != nil {
		return "", fmt.Errorf("write the overlay: %w", err)
	}
	return file, nil
}
