package workspace

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/install"
	"github.com/flowrun/flowrun/engine/lockfile"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/plugintree"
	"github.com/flowrun/flowrun/engine/project"
)

// What flowrun.lock decides (ADR 50): with an entry, the bytes that it has run alone.

// ArchiveFolder is where the archives of plugins that were fetched lie, in the state folder.
const ArchiveFolder = "archives"

// LockError says that flowrun.lock can't be read: nothing runs by a guess.
type LockError struct {
	Err  error
	Hint diag.Hint
}

func (e *LockError) Error() string { return e.Err.Error() }

// Unwrap returns what is wrong.
func (e *LockError) Unwrap() error { return e.Err }

func (p *Workspace) readLock() error {
	if p.config.ProjectFile == "" || p.config.Lock == LockIgnored {
		return nil
	}
	lock, err := lockfile.Read(p.config.Dir)
	if err != nil {
		return &LockError{Err: err, Hint: diag.Sayf("take it back from version control, or remove it and write it anew: %s", diag.Command{"plugins", "lock"})}
	}
	p.lock = lock
	return nil
}

// Platform is that of this process, as flowrun.lock and manifests write it.
func Platform() string { return runtime.GOOS + "/" + runtime.GOARCH }

// realState is the state folder of the project, also in a sandbox.
func (p *Workspace) realState() string {
	if p.config.Sandbox != nil && p.config.Sandbox.RealState != "" {
		return p.config.Sandbox.RealState
	}
	return p.config.StateDir
}

// pluginPath is where a plugin's source lies: for one that is fetched, what was fetched.
func (p *Workspace) pluginPath(plugin project.Plugin) string {
	if path := p.config.Instead[plugin.Name]; path != "" {
		return path
	}
	if !install.IsURL(plugin.Source) {
		return p.inProject(plugin.Source)
	}
	entry, _ := p.lock.Plugin(plugin.Name)
	return install.Place(filepath.Join(p.realState(), ArchiveFolder), plugin.Source, entry.Archive)
}

// shownSource is a source as people know it.
func (p *Workspace) shownSource(source pluginhost.Source) string {
	for _, plugin := range p.file.Plugins {
		if plugin.Name == source.Name && install.IsURL(plugin.Source) {
			return plugin.Source
		}
	}
	return relative(p.config.Dir, source.Path)
}

// hold gives a source what the lock says of it.
func (p *Workspace) hold(plugin project.Plugin, source *pluginhost.Source) {
	refuse := func(hint diag.Hint, format string, args ...any) {
		source.Refused = &pluginhost.Refusal{Message: fmt.Sprintf(format, args...), Hint: hint}
	}
	if p.config.Lock == LockIgnored || p.config.Instead[plugin.Name] != "" {
		return
	}
	strict, fetched := p.config.Lock == LockStrict, install.IsURL(plugin.Source)
	entry, locked := p.lock.Plugin(plugin.Name)
	digest := entry.Digest(Platform())
	switch {
	case !locked && fetched:
		refuse(diag.Sayf("look at what it is and lock it: take it out of `plugins` and type %s", diag.Command{"plugins", "add", plugin.Source, "--digest", "sha256:.."}),
			"it comes from elsewhere, and %s does not have it", lockfile.Name)
	case !locked && strict:
		refuse(diag.Sayf("lock it: %s", diag.Command{"plugins", "lock"}), "%s does not have it, and with --locked nothing else runs", lockfile.Name)
	case !locked:
	case entry.Source != plugin.Source:
		refuse(diag.Sayf("when that is meant: %s", diag.Command{"plugins", "update", plugin.Name}), "flowrun.yaml takes it from %s, %s from %s", plugin.Source, lockfile.Name, entry.Source)
	case digest == "":
		refuse(diag.Sayf("lock it on such a machine: %s", diag.Command{"plugins", "lock"}), "%s has no digest of it for %s", lockfile.Name, Platform())
	case strict && !entry.Grants.Equal(lockfile.Grants(GrantsOf(plugin.Grants))):
		refuse(diag.Sayf("when the grants of flowrun.yaml are meant: %s", diag.Command{"plugins", "lock"}), "it is granted other things in flowrun.yaml (%s) than %s has (%s)",
			orNothing(GrantsOf(plugin.Grants)), lockfile.Name, orNothing(Grants(entry.Grants)))
	case fetched && !isThere(source.Path):
		refuse(diag.Sayf("fetch it: %s", diag.Command{"plugins", "verify"}), "its archive is not on this machine")
	default:
		source.Locked = digest
	}
	if locked {
		p.bound(entry, source)
	}
}

// bound holds a locked plugin to what it was granted, where it has said what it wants:
// what it wants and was not given it does not have.
func (p *Workspace) bound(entry lockfile.Plugin, source *pluginhost.Source) {
	if len(entry.Wants.Hosts) > 0 && source.Hosts == nil && p.config.Sandbox == nil {
		source.Hosts = p.ownHosts(entry.Name)
	}
	if len(entry.Wants.Commands) > 0 && source.Commands == nil {
		source.Commands = []string{}
	}
}

// ownHosts are those that a plugin's connections name.
func (p *Workspace) ownHosts(plugin string) []string {
	hosts := []string{}
	for _, connection := range p.file.Connections {
		if connection.Plugin == plugin {
			hosts = append(hosts, baseURL(connection.Config)...)
		}
	}
	return hosts
}

func orNothing(g Grants) string {
	if g.Empty() {
		return "nothing"
	}
	return g.String()
}

func isThere(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// Unlocked returns the plugins that run though flowrun.lock does not have them.
func (p *Workspace) Unlocked() []string {
	var names []string
	for _, plugin := range p.file.Plugins {
		if _, locked := p.lock.Plugin(plugin.Name); plugin.Source != "" && !locked && p.config.Attach[plugin.Name] == "" {
			names = append(names, plugin.Name)
		}
	}
	slices.Sort(names)
	return names
}

// checkDescription refuses, with --locked, a bundled plugin that says something else of
// itself than when it was locked. The bytes of others are locked themselves.
func (p *Workspace) checkDescription(name string, d *pluginhost.Description) error {
	entry, locked := p.lock.Plugin(name)
	if p.config.Lock != LockStrict {
		return nil
	}
	hint := diag.Sayf("when that is meant: %s", diag.Command{"plugins", "lock"})
	switch {
	case locked && entry.Settings != settingsDigest(d):
		return &pluginhost.PluginError{
			Plugin: name, Reason: pluginhost.ReasonExecutable, Hint: hint, Message: "flowrun.yaml tells it something else than " + lockfile.Name + " has: `with`, or a file that it names, has changed",
		}
	case slices.Contains(names(p.file.Plugins), name):
		return nil
	case !locked:
		return &pluginhost.PluginError{Plugin: name, Reason: pluginhost.ReasonExecutable, Message: lockfile.Name + " does not have it, and with --locked nothing else runs", Hint: hint}
	case entry.IsBundled() && (entry.Version != d.Version || entry.Describe != describeDigest(d)):
		return &pluginhost.PluginError{
			Plugin: name, Reason: pluginhost.ReasonExecutable, Hint: hint,
			Message: fmt.Sprintf("it is bundled with this flowrun in version %s, and %s has another description of it (version %s)", d.Version, lockfile.Name, entry.Version),
		}
	}
	return nil
}

// names are those of plugins with a source.
func names(plugins []project.Plugin) []string {
	var named []string
	for _, plugin := range plugins {
		if plugin.Source != "" {
			named = append(named, plugin.Name)
		}
	}
	return named
}

// describeDigest is a sha256 over what a plugin says of itself.
func describeDigest(d *pluginhost.Description) string {
	own := *d
	own.Digest, own.Executable, own.Format = "", "", 0 // of the executable, and of the record
	text, _ := json.Marshal(own)                       // it came out of JSON
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// settingsDigest is the digest of what a plugin was told, as the lock has it.
func settingsDigest(d *pluginhost.Description) string {
	if d.Settings == "" {
		return ""
	}
	return "sha256:" + d.Settings
}

// LockEntry is what flowrun.lock should have of a plugin as it is now, without its
// source, its grants, and the versions of its interpreters.
func (p *Workspace) LockEntry(name string) (lockfile.Plugin, error) {
	description, err := p.Describe(name)
	if err != nil {
		return lockfile.Plugin{}, err
	}
	entry := lockfile.Plugin{Name: name, Version: description.Version, Describe: describeDigest(description), Settings: settingsDigest(description), Wants: lockfile.Grants(p.wants(name, description))}
	if !slices.Contains(names(p.file.Plugins), name) {
		entry.Source = lockfile.Bundled
		if of := p.declaredPlugin(name).Bundled; of != "" {
			entry.Source = project.BundledPrefix + of
		}
		return entry, nil
	}
	tree, digest, err := p.host.Tree(name)
	if err != nil {
		return lockfile.Plugin{}, err
	}
	if tree == "" {
		entry.Digests = map[string]string{Platform(): "sha256:" + digest}
		return entry, nil
	}
	entry.Digests = map[string]string{lockfile.Any: "sha256:" + digest}
	manifest, err := plugintree.ReadManifest(os.DirFS(tree))
	if err != nil {
		return lockfile.Plugin{}, fmt.Errorf("plugin %s: %w", name, err)
	}
	if manifest.Version != description.Version {
		return lockfile.Plugin{}, fmt.Errorf("plugin %s: its %s says version %s, and it itself %s: this is for its author", name, plugintree.ManifestName, manifest.Version, description.Version)
	}
	for _, program := range manifest.Interpreters() {
		if entry.Interpreters == nil {
			entry.Interpreters = map[string]string{}
		}
		entry.Interpreters[program] = ""
	}
	return entry, nil
}

// wants is what a plugin asks for: in its description, and in the manifest of its folder.
func (p *Workspace) wants(name string, description *pluginhost.Description) Grants {
	wants := Grants{Hosts: description.Wants.Hosts, Env: description.Wants.Env, State: description.Wants.State}
	tree, err := p.host.TreeOf(name, description.Digest)
	if err != nil || tree == "" {
		return wants
	}
	manifest, err := plugintree.ReadManifest(os.DirFS(tree))
	if err != nil {
		return wants // who starts it is told
	}
	both := func(a, b []string) []string {
		all := slices.Concat(a, b)
		slices.Sort(all)
		return slices.Compact(all)
	}
	w := manifest.Wants
	return Grants{
		Hosts: both(wants.Hosts, w.Hosts), Env: both(wants.Env, w.Env), Paths: w.Paths, Commands: w.Commands, Memory: w.Memory, State: wants.State || w.State,
	}
}

// Missing is what a plugin asks for and was not given.
func (p *Workspace) Missing(name string) Grants {
	wants, _, err := p.PluginGrants(name)
	if err != nil {
		return Grants{}
	}
	return p.Lacks(name, wants)
}

// Lacks is what of these wants a plugin was not given. One that is not locked may connect
// to all hosts, and start the system's commands, where it was granted none.
func (p *Workspace) Lacks(name string, wants Grants) Grants {
	granted := p.grantsOf(name)
	if _, locked := p.lock.Plugin(name); !locked {
		if granted.Hosts == nil {
			wants.Hosts = nil
		}
		if granted.Commands == nil {
			wants.Commands = nil
		}
	}
	return wants.Without(granted)
}

// GrantsOf is what a project grants, as it is shown.
func GrantsOf(granted project.Grants) Grants {
	g := Grants{Hosts: granted.Hosts, Env: granted.Env, Commands: granted.Commands, Memory: granted.Memory}
	for _, path := range granted.Paths {
		g.Paths = append(g.Paths, path.String())
	}
	return g
}

// Declared is what is there as flowrun.yaml has it.
func (g Grants) Declared() project.Grants {
	declared := project.Grants{Hosts: g.Hosts, Env: g.Env, Commands: g.Commands, Memory: g.Memory}
	for _, path := range g.Paths {
		text, readOnly := strings.CutSuffix(path, ":ro")
		declared.Paths = append(declared.Paths, project.PathGrant{Path: strings.TrimSuffix(text, ":rw"), ReadOnly: readOnly})
	}
	return declared
}
