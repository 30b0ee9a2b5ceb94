package process

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/flowrun/flowrun/sdk"
)

// Surroundings are what programs of a plugin are looked for in.
type Surroundings struct {
	Plugin  string   // its name, for hints
	Dir     string   // folder from which programs and working folders are meant; "" = the process's own
	Environ []string // of the plugin; a few names of it are handed on
}

// Program returns the path of a program: one with a slash is meant from the folder of the
// project, another one is looked for in PATH. what begins errors, such as "command `x`".
func (p Surroundings) Program(what, name string) (string, error) {
	if strings.Contains(name, "/") {
		path := p.InProject(name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", p.missing(what, name)
		case err != nil:
			return "", sdk.Refused(sdk.CodeForbidden, "%s: look at %s: %v", what, name, errors.Unwrap(err))
		case info.IsDir():
			return "", sdk.Refused(sdk.CodeNotFound, "%s: %s is a folder", what, name).WithReason("no_program")
		}
		return path, nil
	}
	for _, folder := range filepath.SplitList(p.variable("PATH")) {
		if !filepath.IsAbs(folder) {
			continue // it would be another program in another folder
		}
		path := filepath.Join(folder, name)
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && unix.Access(path, unix.X_OK) == nil {
			return path, nil
		}
	}
	return "", p.missing(what, name)
}

func (p Surroundings) missing(what, name string) *sdk.Error {
	e := sdk.NotFound("%s: there is no program %s", what, name).WithReason("no_program")
	if strings.Contains(name, "/") {
		return e.WithHint("paths of programs are meant from the folder of flowrun.yaml")
	}
	return e.WithHint("it is in no folder of PATH; write ./%s for a program of the project", name)
}

// NotStarted makes the error of a program that the system does not start.
func (p Surroundings) NotStarted(what, name, path string, err error) *sdk.Error {
	var at *fs.PathError
	cause := err
	if errors.As(err, &at) {
		cause = at.Err
	}
	doing := "start " + what + " (" + sdk.Shown(name, 200) + ")"
	switch {
	case errors.Is(err, syscall.EACCES) && unix.Access(path, unix.X_OK) == nil:
		return sdk.Forbidden("%s: the program is not granted to the plugin", doing).WithReason("not_granted").
			WithHint("write in flowrun.yaml: `plugins: {%s: {grants: {commands: [%s]}}}`", p.Plugin, name)
	case errors.Is(err, syscall.EACCES):
		return sdk.Forbidden("%s: it may not be run", doing).WithHint("make it a program: chmod +x %s", name)
	case errors.Is(err, syscall.ENOEXEC):
		return sdk.Refused(sdk.CodeUnsupported, "%s: it is no program of this system", doing).WithHint("a script begins with a line such as #!/usr/bin/env python3")
	case errors.Is(err, fs.ErrNotExist):
		return sdk.NotFound("%s: what runs it is not there, or its folder", doing).WithReason("no_program").WithHint("look at its first line (#!), and at `cwd`")
	case errors.Is(err, syscall.E2BIG):
		return sdk.Invalid("/input", "%s: its arguments and its environment are too large", doing).WithHint("give what is large by stdin")
	case errors.Is(err, syscall.EAGAIN), errors.Is(err, syscall.ENOMEM):
		return sdk.Refused(sdk.CodeUnavailable, "%s: there is no room for another process", doing)
	}
	return sdk.Refused(sdk.CodeUnavailable, "%s: %v", doing, cause)
}

// InProject returns a path that is meant from the folder of the project.
func (p Surroundings) InProject(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.Dir, filepath.FromSlash(path))
}

// variable returns a variable of the plugin's own environment.
func (p Surroundings) variable(name string) string {
	for _, entry := range p.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// Handed is what each program has of the plugin's environment: where programs are, and a
// home and a temporary folder that the sandbox lets it write to.
func (p Surroundings) Handed() []string {
	var environ []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "TZ"} {
		if value := p.variable(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}
