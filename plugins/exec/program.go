package exec

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

// program returns the path of a program: one with a slash is meant from the folder of the
// project, another one is looked for in PATH.
func (p *plugin) program(command, name string) (string, error) {
	if strings.Contains(name, "/") {
		path := p.inProject(name)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return "", p.missing(command, name)
		case err != nil:
			return "", sdk.Refused(sdk.CodeForbidden, "command `%s`: look at %s: %v", command, name, errors.Unwrap(err))
		case info.IsDir():
			return "", sdk.Refused(sdk.CodeNotFound, "command `%s`: %s is a folder", command, name).WithReason("no_program")
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
	return "", p.missing(command, name)
}

func (p *plugin) missing(command, name string) *sdk.Error {
	e := sdk.NotFound("command `%s`: there is no program %s", command, name).WithReason("no_program")
	if strings.Contains(name, "/") {
		return e.WithHint("paths of programs are meant from the folder of flowrun.yaml")
	}
	return e.WithHint("it is in no folder of PATH; write ./%s for a program of the project", name)
}

// notStarted makes the error of a program that the system does not start.
func notStarted(command, name, path string, err error) *sdk.Error {
	var at *fs.PathError
	cause := err
	if errors.As(err, &at) {
		cause = at.Err
	}
	doing := "start command `" + command + "` (" + sdk.Shown(name, 200) + ")"
	switch {
	case errors.Is(err, syscall.EACCES) && unix.Access(path, unix.X_OK) == nil:
		return sdk.Forbidden("%s: the program is not granted to the plugin", doing).WithReason("not_granted").
			WithHint("write in flowrun.yaml: `plugins: {exec: {grants: {commands: [%s]}}}`", name)
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

func (p *plugin) inProject(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(p.options.Dir, filepath.FromSlash(path))
}

// variable returns a variable of the plugin's own environment.
func (p *plugin) variable(name string) string {
	for _, entry := range p.options.Environ {
		if value, ok := strings.CutPrefix(entry, name+"="); ok {
			return value
		}
	}
	return ""
}

// environ is what each command has of the plugin's environment: where programs are, and a
// home and a temporary folder that the sandbox lets it write to.
func (p *plugin) environ() []string {
	var environ []string
	for _, name := range []string{"PATH", "HOME", "TMPDIR", "LANG", "TZ"} {
		if value := p.variable(name); value != "" {
			environ = append(environ, name+"="+value)
		}
	}
	return environ
}
