package files

import (
	"path"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Bounds of a path, in bytes: those of Linux.
const (
	maxPath = 4096
	maxName = 255
)

// pathProblems says why a text is no path of a file below a root.
func pathProblems(pointer, text string) []sdk.Problem {
	if problems := folderProblems(pointer, text); problems != nil {
		return problems
	}
	if clean(text) == "." {
		return []sdk.Problem{sdk.Problemf(pointer, "names no file")}
	}
	return nil
}

// folderProblems is pathProblems for what may also be the root itself, "" or ".".
func folderProblems(pointer, text string) []sdk.Problem {
	switch {
	case strings.ContainsRune(text, 0):
		return []sdk.Problem{sdk.Problemf(pointer, "has a NUL in it")}
	case strings.HasPrefix(text, "/"):
		return []sdk.Problem{sdk.Problemf(pointer, "must be a path below the root, and begins with `/`").WithDetail("write it without the `/`, and declare another root for another folder")}
	case len(text) > maxPath:
		return []sdk.Problem{sdk.Problemf(pointer, "has %d bytes; a path has at most %d", len(text), maxPath)}
	}
	for _, name := range strings.Split(text, "/") {
		switch {
		case name == "..":
			return []sdk.Problem{sdk.Problemf(pointer, "must stay below the root, and has `..` in it").WithDetail("declare another root for another folder")}
		case len(name) > maxName:
			return []sdk.Problem{sdk.Problemf(pointer, "has a name of %d bytes; one has at most %d", len(name), maxName)}
		}
	}
	return nil
}

// clean is a path, which was checked, in its shortest form; "." is the root itself.
func clean(text string) string { return path.Clean(text) }

// patternProblems says why a text is no pattern of names.
func patternProblems(text string) []sdk.Problem {
	if text == "" {
		return nil
	}
	if _, err := path.Match(text, "x"); err != nil {
		return []sdk.Problem{sdk.Problemf("/match", "is no pattern: %v", err).WithDetail("`*` stands for any letters of a name, `?` for one, `[a-z]` for one of several; `\\` takes that away")}
	}
	if strings.Contains(text, "/") {
		return []sdk.Problem{sdk.Problemf("/match", "is held against the name of a file, which has no `/`").WithDetail("name the folder with `path`")}
	}
	return nil
}

// matches reports whether a name fits a pattern, which was checked; "" fits all.
func matches(pattern, name string) bool {
	if pattern == "" {
		return true
	}
	fits, err := path.Match(pattern, name)
	return err == nil && fits
}
