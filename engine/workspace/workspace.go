// Package workspace is a loaded project: what flowrun.yaml declares, the plugins that it
// may use, its workflows checked against their schemas, and what stands for services in
// a sandbox. It needs no lock: validate, graph and plugins work beside a running engine.
package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/interp"
	"github.com/flowrun/flowrun/engine/lockfile"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/testrun"
)

// Workspace is a loaded flowrun.yaml with the plugins that it may use. It needs
// no lock: validate, graph and plugins work beside a running engine. Safe for
// concurrent use.
type Workspace struct {
	config   Config
	file     *project.Project
	host     *pluginhost.Host
	redactor *secret.Redactor
	services *services.Services
	sandbox  *sandboxed // nil = none
	lock     lockfile.File
	// Real are those of the live connections of a sandbox.
	realSecrets *services.Real
	builtins    map[string]*plan.Action
	messages    map[string]messageTemplate // by notify target; only read

	plans    checkedPlans
	ahead    readAhead
	commands ownCommands
	names    fileNames

	learning sync.Mutex
	taught   taught // guarded by learning

	mu           sync.Mutex
	descriptions map[string]*description   // those that were asked for, by plugin; guarded by mu
	waiting      map[string]*WaitingPlugin // what is not in force, by plugin; guarded by mu
}

// Load reads the project file. A wrong one is a diag.List error. A state
// folder that others could change is a *StoreError: plugins start from it.
func Load(_ context.Context, config Config) (*Workspace, error) {
	if err := CheckStateFolder(config.StateDir); err != nil {
		return nil, err
	}
	file, err := readProject(config)
	if err != nil {
		return nil, err
	}
	p := &Workspace{
		config:       config,
		file:         file,
		redactor:     secret.NewRedactor(),
		descriptions: map[string]*description{},
		builtins:     map[string]*plan.Action{},
		taught:       taught{},
	}
	for _, action := range interp.Builtins() {
		p.builtins[action.FullName()] = action
	}
	if err := p.checkPlugins().Err(); err != nil {
		return nil, err
	}
	if err := p.readMessages(); err != nil {
		return nil, err
	}
	if err := p.readLock(); err != nil {
		return nil, err
	}
	var gate pluginhost.Gate
	if config.Sandbox != nil {
		p.sandbox, gate = &sandboxed{Sandbox: *config.Sandbox}, p
	}
	mocked := ""
	if p.sandbox != nil {
		mocked = testrun.SecretPrefix
	}
	p.services = services.New(services.Options{
		StateDir: config.StateDir, Now: config.Now, Entropy: config.Entropy, Log: config.Log, Redactor: p.redactor, Sources: p.file.Secrets, Env: p.SecretEnv(),
		Quotas: p.file.Limits.Quotas, Unused: p.file.Limits.StateUnused, Mocked: mocked,
	})
	if p.sandbox != nil {
		p.realSecrets = services.NewReal(p.services, p.realSecretsOptions())
	}
	p.host = pluginhost.New(pluginhost.Options{
		StateDir: config.StateDir,
		Sources:  p.sources(),
		Environ:  config.Environ,
		Now:      config.Now,
		Entropy:  config.Entropy,
		Log:      config.Log,
		Ignored:  config.Ignored,
		Told:     p.tellTold,
		Version:  config.Version,
		State:    p.services,
		Tokens:   p.services,
		Secrets:  p.services,
		Vault:    p.services,
		Redactor: p.redactor,
		Opaque:   p.services.Opaque(),
		Blobs:    p.services.BlobStore(),
		Learn:    p.learnSecrets,
		Gate:     gate,
		Limits:   pluginhost.Limits{Quotas: p.file.Limits.Quotas},
		Sandbox:  pluginhost.Sandbox(p.SandboxMode()),
		Secret:   p.secretPlaces(),
		Private:  []string{config.Dir},
		Named:    p.configFiles,

		ProjectDir: config.Dir,

		ControlGroup: config.ControlGroup,
		KeepInForce:  config.KeepPlugins,
	})
	return p, nil
}

// readProject reads the project file, or gives what counts where there is none.
func readProject(config Config) (*project.Project, error) {
	if config.ProjectFile == "" {
		return &project.Project{Secrets: []string{"env", "store"}}, nil
	}
	src, err := os.ReadFile(config.ProjectFile)
	if err != nil {
		return nil, fmt.Errorf("read project file: %w", err)
	}
	parsed, problems := project.Parse(relative(config.Dir, config.ProjectFile), src)
	if problems.HasErrors() {
		return nil, problems
	}
	return parsed, nil
}

// Config returns what the project takes from its surroundings.
func (p *Workspace) Config() Config { return p.config }

// Declared returns what flowrun.yaml declares: nobody may change it.
func (p *Workspace) Declared() *project.Project { return p.file }

// Services returns what plugins get from the engine.
func (p *Workspace) Services() *services.Services { return p.services }

// Redactor returns what masks the secrets that the project has met.
func (p *Workspace) Redactor() *secret.Redactor { return p.redactor }

// Redact masks the secrets that the project has met in a text that is shown or
// logged. Safe for concurrent use.
func (p *Workspace) Redact(text string) string { return p.redactor.Redact(text) }

// KeyPath returns the path of the file with the sealing key.
func (p *Workspace) KeyPath() string { return p.services.KeyPath() }

// Host returns the host of the project's plugins.
func (p *Workspace) Host() *pluginhost.Host { return p.host }

// PluginLogs returns the folder in a state folder where the last of what plugins print is
// kept (package pluginlog).
func PluginLogs(stateDir string) string { return pluginhost.LogDirIn(stateDir) }

// Sandboxed reports whether calls are kept from real services.
func (p *Workspace) Sandboxed() bool { return p.sandbox != nil }

// Builtin reports whether an action is one of the engine's own.
func (p *Workspace) Builtin(action string) bool { return p.builtins[action] != nil }

// ActionNames returns every action that is known, for near matches.
func (p *Workspace) ActionNames() []string { return (&catalog{project: p}).ActionNames() }

// sources lists the bundled plugins and those of the project file; the latter
// win. A plugin that the file only grants something to is the bundled one.
func (p *Workspace) sources() []pluginhost.Source {
	var sources []pluginhost.Source
	named, granted := map[string]bool{}, map[string]pluginhost.Source{}
	for _, plugin := range p.file.Plugins {
		source := p.granted(plugin)
		if plugin.With != nil || plugin.Bundled != "" {
			source.Settings = p.settingsOf(plugin)
		}
		if plugin.Bundled != "" {
			named[plugin.Name] = true
			sources = append(sources, p.bundledSource(source, plugin.Bundled))
			continue
		}
		if plugin.Source == "" {
			granted[plugin.Name] = source
			continue
		}
		source.Path = p.pluginPath(plugin)
		p.hold(plugin, &source)
		named[plugin.Name] = true
		sources = append(sources, source)
	}
	for _, name := range p.config.Bundled {
		if !named[name] {
			source := granted[name]
			source.Name = name
			sources = append(sources, p.bundledSource(source, name))
		}
	}
	return p.attach(sources)
}

// bundledSource makes a source one of the program's own plugins.
func (p *Workspace) bundledSource(source pluginhost.Source, name string) pluginhost.Source {
	source.Bundled, source.Command = true, []string{p.config.Executable, "plugins", "serve", name}
	return source
}

// Close ends the plugins that were started, and returns when nothing of them is left.
func (p *Workspace) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := p.host.Close(ctx); err != nil {
		p.config.Log.Warn("plugins not closed", "error", err)
	}
}

// EndPlugins ends the plugins that were started, and kills them when ctx ends. It returns
// when none runs; Close waits for the rest of it.
func (p *Workspace) EndPlugins(ctx context.Context) { p.host.End(ctx) }

// Workflows returns the workflow files of the project, relative to its root.
func (p *Workspace) Workflows() ([]string, error) {
	return p.file.WorkflowFiles(os.DirFS(p.config.Dir))
}

// Told reports whether a file is named in what a plugin is told, such as the document of
// a service: it is no workflow then, whatever its name. The path is absolute.
func (p *Workspace) Told(file string) bool {
	name, err := filepath.Rel(p.config.Dir, file)
	return err == nil && slices.Contains(p.file.ToldFiles(), filepath.ToSlash(name))
}

// Root returns the project's root folder.
func (p *Workspace) Root() string { return p.config.Dir }

// File returns the path of the project file, "" when there is none.
func (p *Workspace) File() string { return p.config.ProjectFile }

// Plugins describes every plugin; one that can't be described says why.
func (p *Workspace) Plugins(context.Context) []PluginInfo {
	var infos []PluginInfo
	for _, source := range p.sources() {
		info := PluginInfo{Name: source.Name, Source: "bundled"}
		if !source.Bundled {
			info.Source = p.shownSource(source)
		} else if of := source.Command[len(source.Command)-1]; of != source.Name {
			info.Source = project.BundledPrefix + of
		}
		if source.Attach != "" {
			info.Source = "attached: " + source.Attach
		}
		_, info.Locked = p.lock.Plugin(source.Name)
		description, err := p.Describe(source.Name)
		if err != nil {
			info.Error, info.Stderr = err.Error(), lastWords(err)
		} else {
			info.Version, info.Doc, info.Digest = description.Version, description.Doc, description.Digest
			info.Actions = len(description.Actions)
			info.Bare = description.Bare()
			info.Missing = p.Missing(source.Name)
		}
		info.Waiting = p.Waiting(source.Name)
		infos = append(infos, info)
	}
	order.Sort(infos, func(a, b PluginInfo) int { return strings.Compare(a.Name, b.Name) })
	return infos
}

// ErrUnknownPlugin says that there is no plugin of that name.
var ErrUnknownPlugin = errors.New("unknown plugin")

// UnknownPluginError is ErrUnknownPlugin with the plugin that was probably meant.
type UnknownPluginError struct {
	Plugin string
	Hint   diag.Hint
}

func (e *UnknownPluginError) Error() string {
	if e.Hint.Text != "" {
		return e.Unhinted() + "; " + e.Hint.Text
	}
	return e.Unhinted()
}

// Unhinted is the error's text without its hint.
func (e *UnknownPluginError) Unhinted() string { return "unknown plugin " + e.Plugin }

// Unwrap returns ErrUnknownPlugin.
func (e *UnknownPluginError) Unwrap() error { return ErrUnknownPlugin }

// Actions returns the actions of one plugin, or of all of them ("").
func (p *Workspace) Actions(_ context.Context, plugin string) ([]*plan.Action, error) {
	if plugin != "" && plugin != "core" && !slices.Contains(p.PluginNames(), plugin) {
		return nil, &UnknownPluginError{Plugin: plugin, Hint: diag.DidYouMean(plugin, p.PluginNames())}
	}
	var actions []*plan.Action
	for _, name := range p.PluginNames() {
		if plugin != "" && plugin != name {
			continue
		}
		description, err := p.Describe(name)
		if err != nil {
			return nil, err
		}
		actions = append(actions, description.Actions...)
	}
	if plugin == "core" {
		return interp.Builtins(), nil
	}
	return actions, nil
}

// PluginNames returns the names of all plugins, sorted.
func (p *Workspace) PluginNames() []string {
	names := diag.NamesOf(p.sources(), func(source pluginhost.Source) string { return source.Name })
	slices.Sort(names)
	return names
}

// Action finds an action by its full name.
func (p *Workspace) Action(name string) (*plan.Action, error) {
	if builtin, ok := p.builtins[name]; ok {
		return builtin, nil
	}
	plugin, action, _ := strings.Cut(name, ".")
	if !slices.Contains(p.PluginNames(), plugin) {
		return nil, fmt.Errorf("%w %s", ErrUnknownPlugin, plugin)
	}
	description, err := p.Describe(plugin)
	if err != nil {
		return nil, err
	}
	result, ok := description.Action(action)
	if !ok {
		return nil, fmt.Errorf("plugin %s has no action %s", plugin, action)
	}
	if pluginhost.Whole(result) {
		return result, nil
	}
	whole, err := p.wholeActions(description, []string{action})
	if err != nil {
		return nil, err
	}
	return whole[0], nil
}

func relative(dir, path string) string {
	if rel, err := filepath.Rel(dir, path); err == nil && !strings.HasPrefix(rel, "..") {
		return filepath.ToSlash(rel)
	}
	return path
}
