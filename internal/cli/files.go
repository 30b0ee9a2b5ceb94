package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// expandPath returns the files in a folder whose names are wanted, or the file
// itself.
func (a *app) expandPath(path, what string, wanted func(name string) bool) ([]string, error) {
	info, err := os.Stat(a.abs(path))
	if err != nil || !info.IsDir() {
		return []string{path}, nil // reading it tells what is wrong
	}
	return a.filesBelow(path, what, "", wanted)
}

// readWhole reads a file of a kind that has at most so many bytes; unreadable says
// what the system has against it.
func (a *app) readWhole(file, kind string, most int64, unreadable func(error) error) ([]byte, error) {
	path := a.abs(file)
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, notFoundError(fmt.Errorf("there is no %s file %s", kind, safePath(file)), nearFile(path))
	case err != nil:
		return nil, unreadable(err)
	case info.Size() > most:
		return nil, usageError(fmt.Errorf("%s is larger than %d bytes", safePath(file), most), "")
	}
	source, err := os.ReadFile(path)
	if err != nil {
		return nil, unreadable(err)
	}
	return source, nil
}

// nearFile suggests a file of the same folder.
func nearFile(path string) string {
	entries, err := os.ReadDir(filepath.Dir(path))
	if err != nil || strings.HasPrefix(filepath.Base(path), ".") {
		return ""
	}
	return diag.DidYouMean(filepath.Base(path), texts(entries, fs.DirEntry.Name)).Text
}

// slashed is the name that problems carry of a file.
func slashed(file string) string { return filepath.ToSlash(filepath.Clean(file)) }

// isYAML reports whether a file is one of YAML, by its name.
func isYAML(name string) bool {
	extension := filepath.Ext(name)
	return extension == ".yaml" || extension == ".yml"
}

// filesBelow returns the regular files below a folder whose names are wanted, as a
// user in the working directory would write them, sorted. Hidden folders are left
// out. what names them in errors; that there is none is one, with the hint.
func (a *app) filesBelow(folder, what, hint string, wanted func(name string) bool) ([]string, error) {
	var files []string
	err := filepath.WalkDir(a.abs(folder), func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && name != a.abs(folder) && strings.HasPrefix(entry.Name(), "."):
			return fs.SkipDir
		case !entry.IsDir() && wanted(entry.Name()):
			files = append(files, a.shownPath(name))
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for a %s in %s: %w", what, safePath(folder), err)
	}
	if len(files) == 0 {
		return nil, notFoundError(fmt.Errorf("there is no %s in %s", what, safePath(folder)), hint)
	}
	slices.Sort(files)
	return files, nil
}
