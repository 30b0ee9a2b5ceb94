package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// copied is a library of which a copy stands in third_party.
type copied struct {
	Folder   string   `json:"folder"`
	Module   string   `json:"module"`
	Version  string   `json:"version"`
	Sum      string   `json:"sum"`      // as in a go.sum
	Packages []string `json:"packages"` // folders that are copied: what the program does not use is left out
	Files    []string `json:"files"`    // that are copied beside those
	Without  []string `json:"without"`  // files of the packages that are left out
}

// readModules reads third_party/modules.json.
func readModules(root string) ([]copied, error) {
	text, err := os.ReadFile(filepath.Join(root, "modules.json"))
	if err != nil {
		return nil, fmt.Errorf("read the list of copies: %w", err)
	}
	var all []copied
	if err := json.Unmarshal(text, &all); err != nil {
		return nil, fmt.Errorf("read the list of copies: %w", err)
	}
	return all, nil
}

// published puts what is copied of a library into a folder, as its authors published it.
func (c copied) published(ctx context.Context, into string) error {
	download := exec.CommandContext(ctx, "go", "mod", "download", "-json", c.Module+"@"+c.Version)
	download.Dir = os.TempDir() // outside of modules that replace it
	out, err := download.Output()
	var got struct{ Dir, Sum, Error string }
	if failed := json.Unmarshal(out, &got); failed != nil || got.Error != "" || err != nil {
		return fmt.Errorf("download %s@%s: %w", c.Module, c.Version, errors.Join(err, failed, errors.New(got.Error)))
	}
	if got.Sum != c.Sum {
		return fmt.Errorf("%s@%s has the sum %s, and modules.json has %s", c.Module, c.Version, got.Sum, c.Sum)
	}
	files, err := c.files(got.Dir)
	if err != nil {
		return err
	}
	for _, name := range files {
		text, err := os.ReadFile(filepath.Join(got.Dir, name))
		if err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		target := filepath.Join(into, name)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return fmt.Errorf("copy %s: %w", name, err)
		}
		if err := os.WriteFile(target, text, 0o644); err != nil { //nolint:gosec // source
			return fmt.Errorf("copy %s: %w", name, err)
		}
	}
	return nil
}

// files names what is copied of a library that lies in a folder: its terms, its go.mod,
// and the source of the packages without their tests.
func (c copied) files(dir string) ([]string, error) {
	files := slices.Clone(c.Files)
	for _, name := range []string{"LICENSE", "LICENSE.md", "NOTICE", "go.mod"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			files = append(files, name)
		}
	}
	for _, p := range c.Packages {
		entries, err := os.ReadDir(filepath.Join(dir, p))
		if err != nil {
			return nil, fmt.Errorf("read package %s: %w", p, err)
		}
		for _, e := range entries {
			name := filepath.Join(p, e.Name())
			if strings.HasSuffix(name, ".go") && !strings.HasSuffix(name, "_test.go") && !slices.Contains(c.Without, name) {
				files = append(files, name)
			}
		}
	}
	return files, nil
}
