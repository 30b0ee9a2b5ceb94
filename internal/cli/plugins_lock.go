package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/install"
	"github.com/flowrun/flowrun/engine/lockfile"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// interpreterTime bounds `python3 --version`.
const interpreterTime = 5 * time.Second

func (a *app) pluginLockCommands() []*cobra.Command {
	return []*cobra.Command{
		withText(&cobra.Command{
			Use: "lock", Short: "Write flowrun.lock: what runs of each plugin, on this platform", Args: exactArgs(),
			Example: "  flowrun plugins lock",
			Long: "Lock writes into flowrun.lock what each plugin is that it does not have yet, and what flowrun.yaml grants\n" +
				"now. Digests of other platforms stay. A plugin that is not what the lock has is not taken over: update does that.",
			RunE: func(c *cobra.Command, _ []string) error { return a.lockPlugins(c.Context()) },
		}),
		withText(&cobra.Command{
			Use: "verify", Short: "Hold every plugin against flowrun.lock, and fetch what this machine lacks", Args: exactArgs(),
			Example: "  flowrun plugins verify\n  flowrun plugins verify -o json",
			RunE:    func(c *cobra.Command, _ []string) error { return a.verifyPlugins(c.Context()) },
		}),
	}
}

// lockedProject is what the commands about flowrun.lock work on.
type lockedProject struct {
	at      place
	source  []byte // of flowrun.yaml
	project *project.Project
	lock    lockfile.File
}

func (a *app) lockedProject() (*lockedProject, error) {
	at, err := a.locate()
	if err != nil {
		return nil, err
	}
	if at.projectFile == "" {
		return nil, notFoundError(errors.New("there is no "+projectFileName+" here, nor in a folder above"), "`flowrun init` makes a project")
	}
	source, err := os.ReadFile(at.projectFile)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", at.projectFile, err)
	}
	parsed, problems := project.Parse(projectFileName, source)
	if err := problems.Err(); err != nil {
		return nil, err
	}
	lock, err := lockfile.Read(at.root)
	if err != nil {
		return nil, &codedError{code: exitInvalid, err: err, hint: "take it back from version control, or remove it and write it anew: `flowrun plugins lock`"}
	}
	return &lockedProject{at: at, source: source, project: parsed, lock: lock}, nil
}

func (l *lockedProject) plugin(name string) (project.Plugin, bool) {
	for _, plugin := range l.project.Plugins {
		if plugin.Name == name && plugin.Source != "" {
			return plugin, true
		}
	}
	return project.Plugin{}, false
}

// write puts lock and project file in place, the lock first: what it has more does no harm.
func (l *lockedProject) write(lock lockfile.File, source []byte) error {
	text, err := lock.Encode()
	if err == nil {
		err = writeFile(lockfile.Path(l.at.root), text)
	}
	if err == nil && source != nil {
		err = writeFile(realPath(l.at.projectFile), source)
	}
	return err
}

// look describes a plugin that lies at a path, beside the bundled ones, without what the
// project grants: nothing of it is trusted yet.
func (a *app) look(ctx context.Context, l *lockedProject, name, path string, use func(*workspace.Workspace) error) error {
	folder, err := os.MkdirTemp("", "flowrun-plugin-")
	if err != nil {
		return fmt.Errorf("make a folder: %w", err)
	}
	defer func() { _ = os.RemoveAll(folder) }()
	if l.told(name) { // it describes what this project tells it
		config := a.engineConfig(l.at)
		config.Lock, config.Instead = workspace.LockIgnored, map[string]string{name: path}
		return lookAt(ctx, config, use)
	}
	text := "limits: {sandbox: " + cmp.Or(l.project.Limits.Sandbox, "auto") + "}\n"
	if name != "" {
		edited, err := project.AddPlugin([]byte(text), project.Plugin{Name: name, Source: path})
		if err != nil {
			return err
		}
		text = string(edited)
	}
	file := filepath.Join(folder, projectFileName)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write a file: %w", err)
	}
	config := a.engineConfig(l.at)
	config.ProjectFile, config.Lock = file, workspace.LockIgnored
	return lookAt(ctx, config, use)
}

// told reports whether flowrun.yaml tells a plugin something.
func (l *lockedProject) told(name string) bool {
	return slices.ContainsFunc(l.project.Plugins, func(plugin project.Plugin) bool {
		return plugin.Name == name && (plugin.With != nil || plugin.Bundled != "")
	})
}

// lookAt loads a project for a look at its plugins.
func lookAt(ctx context.Context, config workspace.Config, use func(*workspace.Workspace) error) error {
	loaded, err := engine.LoadProject(ctx, config)
	if err != nil {
		return err
	}
	defer loaded.Close()
	return use(loaded)
}

// entryOf is what flowrun.lock should have of a plugin that lies at a path.
func (a *app) entryOf(ctx context.Context, l *lockedProject, name, path string) (entry lockfile.Plugin, err error) {
	err = a.look(ctx, l, name, path, func(w *workspace.Workspace) error {
		entry, err = w.LockEntry(name)
		return refusedPlugin(err)
	})
	for program := range entry.Interpreters {
		entry.Interpreters[program] = a.versionOf(ctx, program)
	}
	return entry, err
}

// refusedPlugin is an error of a plugin that can't be taken in or locked.
func refusedPlugin(err error) error {
	if err == nil {
		return nil
	}
	return &codedError{code: exitPlugin, err: err}
}

// versionOf asks an interpreter for its version; "" = it tells none.
func (a *app) versionOf(ctx context.Context, program string) string {
	path := a.lookPath(program)
	if path == "" {
		return ""
	}
	text, _ := a.outputOf(ctx, path, "--version") // where it fails it tells none
	line, _, _ := strings.Cut(term.Clean(text), "\n")
	return term.Truncate(strings.TrimSpace(line), 100)
}

// outputOf runs a program of the system for what it prints on stdout.
func (a *app) outputOf(ctx context.Context, path string, arguments ...string) (string, error) {
	bounded, cancel := context.WithTimeout(ctx, interpreterTime)
	defer cancel()
	command := exec.CommandContext(bounded, path, arguments...)
	command.Env, command.Dir = []string{"PATH=" + a.env("PATH"), "HOME=" + a.env("HOME")}, "/"
	text, err := command.Output()
	return string(text), err
}

// lookPath finds a program in PATH; "" = it is not there.
func (a *app) lookPath(program string) string {
	for _, folder := range filepath.SplitList(a.env("PATH")) {
		path := filepath.Join(folder, program)
		if info, err := os.Stat(path); err == nil && filepath.IsAbs(path) && info.Mode().IsRegular() && info.Mode().Perm()&0o111 != 0 {
			return path
		}
	}
	return ""
}

// noteUnlocked says once that a plugin runs as it is.
func (a *app) noteUnlocked(name string) {
	a.note("plugin %s runs as it is: %s does not have it (`flowrun plugins lock`)", name, lockfile.Name)
}

// archives is where fetched archives lie.
func (l *lockedProject) archives() string {
	return filepath.Join(l.at.realState, workspace.ArchiveFolder)
}

// pathOf is where the source of a plugin lies.
func (l *lockedProject) pathOf(plugin project.Plugin, entry lockfile.Plugin) string {
	switch {
	case install.IsURL(plugin.Source):
		return install.Place(l.archives(), plugin.Source, entry.Archive)
	case filepath.IsAbs(plugin.Source):
		return plugin.Source
	}
	return filepath.Join(l.at.root, filepath.FromSlash(plugin.Source))
}

func (a *app) lockPlugins(ctx context.Context) error {
	l, err := a.lockedProject()
	if err != nil {
		return err
	}
	lock := lockfile.File{}
	for _, plugin := range l.project.Plugins {
		if plugin.Source == "" {
			continue
		}
		entry, err := a.lockedNow(ctx, l, plugin)
		if err != nil {
			return err
		}
		lock = lock.With(entry)
	}
	err = a.look(ctx, l, "", "", func(w *workspace.Workspace) error {
		for _, name := range w.PluginNames() {
			if _, own := l.plugin(name); own || l.told(name) {
				continue
			}
			entry, err := w.LockEntry(name)
			if err != nil {
				return refusedPlugin(err)
			}
			lock = lock.With(entry)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, plugin := range l.project.Plugins {
		if plugin.Source == "" && l.told(plugin.Name) {
			entry, err := a.entryOf(ctx, l, plugin.Name, "")
			if err != nil {
				return err
			}
			lock = lock.With(entry)
		}
	}
	if err := l.write(lock, nil); err != nil {
		return err
	}
	items := texts(lock.Plugins, itemOfEntry)
	return a.print(map[string]any{"items": items, "next_cursor": nil}, func() {
		a.say("wrote %s: %s", lockfile.Name, diag.Count(len(lock.Plugins), "plugin"))
	})
}

// entryItem is a plugin of flowrun.lock for programs.
type entryItem struct {
	Plugin  string           `json:"plugin"`
	Version string           `json:"version,omitempty"`
	Source  string           `json:"source,omitempty"`
	Digest  string           `json:"digest,omitempty"` // for this platform
	Signer  string           `json:"signer,omitempty"`
	Wants   workspace.Grants `json:"wants"`
	Granted workspace.Grants `json:"granted"`
}

func itemOfEntry(entry lockfile.Plugin) entryItem {
	item := entryItem{Plugin: entry.Name, Version: entry.Version, Source: entry.Source, Signer: entry.Signer,
		Wants: workspace.Grants(entry.Wants), Granted: workspace.Grants(entry.Grants)}
	if digest := entry.Digest(workspace.Platform()); digest != "" {
		item.Digest = "sha256:" + digest
	}
	return item
}

// lockedNow is the entry of a plugin as it is now, which must be what is locked of it.
func (a *app) lockedNow(ctx context.Context, l *lockedProject, plugin project.Plugin) (lockfile.Plugin, error) {
	old, locked := l.lock.Plugin(plugin.Name)
	if !locked && install.IsURL(plugin.Source) {
		return old, &codedError{
			code: exitPlugin, err: fmt.Errorf("plugin %s comes from elsewhere, and nothing says what it should be", plugin.Name),
			hint: "take it out of `plugins` and type `flowrun plugins add " + diag.ShellWord(plugin.Source) + " --digest sha256:..`",
		}
	}
	entry, err := a.entryOf(ctx, l, plugin.Name, l.pathOf(plugin, old))
	if err != nil {
		return entry, err
	}
	update := "when that is meant: `flowrun plugins update " + plugin.Name + "`"
	platform := workspace.Platform()
	switch was := old.Digest(platform); {
	case !locked:
	case old.Source != plugin.Source:
		return entry, &codedError{code: exitPlugin, err: fmt.Errorf("plugin %s is locked from %s, and flowrun.yaml takes it from %s", plugin.Name, old.Source, plugin.Source), hint: update}
	case was != "" && was != entry.Digest(platform) || was == "" && old.Describe != entry.Describe:
		return entry, &codedError{code: exitPlugin, err: fmt.Errorf("plugin %s is not what %s has", plugin.Name, lockfile.Name), hint: update}
	default:
		digests := maps.Clone(old.Digests)
		maps.Copy(digests, entry.Digests)
		entry.Digests = digests
	}
	entry.Source, entry.Archive, entry.Signer, entry.Checksums = plugin.Source, old.Archive, old.Signer, old.Checksums
	entry.Grants = lockfile.Grants(workspace.GrantsOf(plugin.Grants))
	return entry, nil
}

// verified is what became of one plugin.
type verified struct {
	Plugin  string `json:"plugin"`
	Status  string `json:"status"` // ok, fetched, changed, not locked
	Digest  string `json:"digest,omitempty"`
	Problem string `json:"problem,omitempty"`
	Hint    string `json:"hint,omitempty"`
	Note    string `json:"note,omitempty"`
}

func (a *app) verifyPlugins(ctx context.Context) error {
	l, err := a.lockedProject()
	if err != nil {
		return err
	}
	results := []verified{}
	for _, plugin := range l.project.Plugins {
		switch {
		case plugin.Source != "":
			results = append(results, a.verifyPlugin(ctx, l, plugin))
		case l.told(plugin.Name):
			results = append(results, a.verifyTold(ctx, l, plugin))
		}
	}
	for _, entry := range l.lock.Plugins {
		if _, there := l.plugin(entry.Name); !there && !entry.IsBundled() {
			results = append(results, verified{Plugin: entry.Name, Status: "changed", Problem: "flowrun.yaml does not have it", Hint: "`flowrun plugins lock`"})
		}
	}
	err = a.print(map[string]any{"items": results}, func() {
		for _, r := range results {
			fmt.Fprintf(a.sys.Stdout, "%-10s %-16s %s\n", r.Status, r.Plugin, term.Clean(cmp.Or(r.Problem, r.Digest)))
			if text := cmp.Or(r.Hint, r.Note); text != "" {
				fmt.Fprintf(a.sys.Stdout, "%-10s %s\n", "", term.Clean(text))
			}
		}
	})
	if err == nil && slices.ContainsFunc(results, func(r verified) bool { return r.Problem != "" }) {
		return exitWith(exitPlugin)
	}
	return err
}

// toldOtherwise says that a plugin is told something else than when it was locked.
func toldOtherwise() error {
	return &codedError{
		code: exitPlugin, err: fmt.Errorf("flowrun.yaml tells it something else than %s has: `with`, or a file that it names, has changed", lockfile.Name), hint: "`flowrun plugins lock`",
	}
}

// verifyTold looks at a bundled plugin that flowrun.yaml tells something.
func (a *app) verifyTold(ctx context.Context, l *lockedProject, plugin project.Plugin) verified {
	result := verified{Plugin: plugin.Name, Status: "ok"}
	old, locked := l.lock.Plugin(plugin.Name)
	if !locked {
		result.Status, result.Problem, result.Hint = "not locked", lockfile.Name+" does not have it", "`flowrun plugins lock`"
		return result
	}
	entry, err := a.entryOf(ctx, l, plugin.Name, "")
	if err == nil && entry.Settings != old.Settings {
		err = toldOtherwise()
	}
	if err != nil {
		result.Status, result.Problem = "changed", err.Error()
		if coded, ok := errors.AsType[*codedError](err); ok {
			result.Hint = coded.hint
		}
		return result
	}
	result.Digest = entry.Settings
	return result
}

func (a *app) verifyPlugin(ctx context.Context, l *lockedProject, plugin project.Plugin) verified {
	result := verified{Plugin: plugin.Name, Status: "ok"}
	old, locked := l.lock.Plugin(plugin.Name)
	if !locked {
		result.Status, result.Problem, result.Hint = "not locked", lockfile.Name+" does not have it", "`flowrun plugins lock`"
		return result
	}
	failed := func(err error) verified {
		result.Status, result.Problem = "changed", err.Error()
		if coded, ok := errors.AsType[*codedError](err); ok {
			result.Hint = coded.hint
		}
		return result
	}
	path := l.pathOf(plugin, old)
	if install.IsURL(plugin.Source) {
		if _, err := os.Stat(path); err != nil && old.Source == plugin.Source {
			if _, err := a.fetcher(l).Fetch(ctx, plugin.Source, old.Archive); err != nil {
				return failed(err)
			}
			result.Status = "fetched"
		}
	}
	entry, err := a.lockedNow(ctx, l, plugin)
	if err != nil {
		return failed(err)
	}
	result.Digest = "sha256:" + entry.Digest(workspace.Platform())
	if old.Digest(workspace.Platform()) == "" {
		return failed(&codedError{err: fmt.Errorf("%s has no digest of it for %s", lockfile.Name, workspace.Platform()), hint: "`flowrun plugins lock`"})
	}
	if entry.Settings != old.Settings {
		return failed(toldOtherwise())
	}
	if !entry.Grants.Equal(old.Grants) {
		return failed(&codedError{err: fmt.Errorf("it is granted other things in flowrun.yaml than %s has", lockfile.Name), hint: "`flowrun plugins lock`"})
	}
	for program, version := range entry.Interpreters {
		if was := old.Interpreters[program]; was != version {
			result.Note = fmt.Sprintf("%s is %s here; it was locked with %s", program, cmp.Or(version, "of an unknown version"), cmp.Or(was, "an unknown one"))
		}
	}
	return result
}
