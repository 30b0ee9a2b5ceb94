package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/workspace"
)

// projectFileName is looked for upwards from the working directory.
const projectFileName = "flowrun.yaml"

// sandboxFolder holds the store of sandbox runs, inside the state folder.
const sandboxFolder = "sandbox"

// place is where a command works.
type place struct {
	projectFile string // "" = none
	root        string // folder of flowrun.yaml, else the working directory
	stateDir    string // with the sandbox's folder, where it is asked for
	stateSource string
	realState   string // the state folder without the sandbox's
}

// locate finds the project and the state folder. Nothing is made.
func (a *app) locate() (place, error) {
	at := place{root: a.sys.Dir}
	if name := a.stringSetting("config"); name != "" {
		path := a.abs(name)
		if info, err := os.Stat(path); err != nil || info.IsDir() {
			return place{}, notFoundError(fmt.Errorf("there is no project file %s", name), "`flowrun init` makes a project")
		}
		at.projectFile = path
	} else {
		var err error
		if at.projectFile, err = findUp(a.sys.Dir, projectFileName); err != nil {
			return place{}, err
		}
	}
	if at.projectFile != "" {
		at.root = filepath.Dir(at.projectFile)
	}
	a.root = at.root
	at.stateDir, at.stateSource = a.stateDir(at.projectFile)
	at.realState = at.stateDir
	if a.sandbox {
		at.stateDir = filepath.Join(at.stateDir, sandboxFolder)
	}
	return at, nil
}

// stateDir returns the state folder and who named it (docs/commands.md, "Files").
func (a *app) stateDir(projectFile string) (dir, source string) {
	if state := a.find("state"); state.Value != "" && !state.user {
		return a.abs(state.Value), state.Source
	}
	if systemd := a.env("STATE_DIRECTORY"); systemd != "" {
		first, _, _ := strings.Cut(systemd, ":") // systemd lists several with colons
		return a.abs(first), "STATE_DIRECTORY"
	}
	if projectFile != "" {
		return filepath.Join(filepath.Dir(projectFile), ".flowrun", "state"), "beside " + projectFileName
	}
	if state := a.find("state"); state.Value != "" {
		return a.abs(state.Value), state.Source
	}
	if folder := a.env("XDG_STATE_HOME"); folder != "" {
		return filepath.Join(a.abs(folder), "flowrun"), "XDG_STATE_HOME"
	}
	return filepath.Join(a.env("HOME"), ".local", "state", "flowrun"), "default"
}

// abs resolves a path against the working directory.
func (a *app) abs(path string) string {
	if filepath.IsAbs(path) {
		return filepath.Clean(path)
	}
	return filepath.Join(a.sys.Dir, path)
}

// findUp looks for a file in dir and the folders above it; "" = none.
func findUp(dir, name string) (string, error) {
	for {
		path := filepath.Join(dir, name)
		info, err := os.Stat(path)
		switch {
		case err == nil && !info.IsDir():
			return path, nil
		case err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
			return "", fmt.Errorf("look for %s: %w", name, err)
		}
		above := filepath.Dir(dir)
		if above == dir {
			return "", nil
		}
		dir = above
	}
}

// engineConfig is what the engine takes from this process.
func (a *app) engineConfig(at place) workspace.Config {
	controlGroup := ""
	if a.sys.ControlGroup != nil {
		controlGroup = a.sys.ControlGroup()
	}
	lock := workspace.LockHeld
	if a.boolSetting("locked") {
		lock = workspace.LockStrict
	}
	return workspace.Config{
		Attach: a.attached, AttachTimeouts: a.attachTimeouts,
		Lock: lock, StateDir: at.stateDir, ProjectFile: at.projectFile, Dir: at.root, WorkDir: a.sys.Dir, Environ: a.sys.Environ,
		Executable: a.sys.Executable, Bundled: bundledNames(), Version: a.sys.Version, Sandbox: a.engineSandbox(at),
		Now: a.sys.Now, Entropy: a.sys.Entropy, Log: a.logger(), Ignored: a.noteIgnored, Told: a.noteTold, ControlGroup: controlGroup, AllowNetworkFS: a.boolSetting("allow_network_fs"), AcceptRollback: a.flags.acceptRollback,
	}
}

// noteIgnored says of a plugin that is described for the first time which words of its
// schemas are not read.
func (a *app) noteIgnored(plugin string, words []string) {
	a.note("the schemas of plugin %s say `%s`, which is not read: what it excludes is not noticed", plugin, strings.Join(words, "`, `"))
}

// maxTold is how many warnings about what a plugin is told are shown.
const maxTold = 50

// noteTold says what a plugin does not take of what flowrun.yaml tells it: once, when it
// describes itself.
func (a *app) noteTold(_ string, warnings diag.List) {
	for i, warning := range warnings {
		if i == maxTold {
			a.note("and %d more of the kind", len(warnings)-maxTold)
			return
		}
		a.note("%s:%d: %s", warning.File, warning.Line, warning.Message)
	}
}

// logVariable asks for what the engine says of itself.
const logVariable = "FLOWRUN_LOG"

// logger writes what the engine says of itself to stderr when FLOWRUN_LOG names
// a level, else nowhere: a run's own lines are not disturbed.
func (a *app) logger() *slog.Logger {
	if a.log != nil {
		return a.log
	}
	var level slog.Level
	if text := a.env(logVariable); text == "" || level.UnmarshalText([]byte(text)) != nil {
		return slog.New(slog.DiscardHandler)
	}
	return slog.New(slog.NewTextHandler(a.sys.Stderr, &slog.HandlerOptions{Level: level}))
}
