package workspace

import (
	"cmp"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/lockfile"
	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/spec"
)

// Grants are what a plugin asks for, or what it was given.
type Grants struct {
	Paths    []string `json:"paths,omitempty"` // with :ro where they may be read alone
	Hosts    []string `json:"hosts,omitempty"`
	Env      []string `json:"env,omitempty"`
	Commands []string `json:"commands,omitempty"`
	Memory   string   `json:"memory,omitempty"` // such as 4GiB
	State    bool     `json:"state,omitempty"`  // it keeps state: all plugins may
}

// Empty reports whether nothing is there.
func (g Grants) Empty() bool { return lockfile.Grants(g).IsZero() }

// IsZero is Empty.
func (g Grants) IsZero() bool { return g.Empty() }

// String is what is there, for a person: paths a, b; hosts c.
func (g Grants) String() string { return g.text("%s %s", "; ") }

// And is what is there or in other.
func (g Grants) And(other Grants) Grants {
	join := func(a, b []string) []string {
		if len(b) == 0 {
			return a
		}
		return slices.Concat(a, b)
	}
	g.Paths, g.Hosts, g.Env, g.Commands = join(g.Paths, other.Paths), join(g.Hosts, other.Hosts), join(g.Env, other.Env), join(g.Commands, other.Commands)
	g.Memory = cmp.Or(g.Memory, other.Memory)
	return g
}

// Without is what is there and not in other.
func (g Grants) Without(other Grants) Grants {
	missing := func(wanted, given []string) []string {
		return slices.DeleteFunc(slices.Clone(wanted), func(name string) bool { return slices.Contains(given, name) })
	}
	g.Paths, g.Hosts, g.Env, g.Commands = missing(g.Paths, other.Paths), missing(g.Hosts, other.Hosts), missing(g.Env, other.Env), missing(g.Commands, other.Commands)
	if other.Memory != "" {
		g.Memory = ""
	}
	g.State = false // nobody is kept from it
	return g
}

// YAML is what is there as a flow mapping of flowrun.yaml.
func (g Grants) YAML() string { return g.Declared().YAML() }

func (g Grants) text(format, between string) string {
	var parts []string
	for _, part := range []struct {
		name   string
		values []string
	}{{"paths", g.Paths}, {"hosts", g.Hosts}, {"env", g.Env}, {"commands", g.Commands}} {
		if len(part.values) > 0 {
			parts = append(parts, fmt.Sprintf(format, part.name, strings.Join(part.values, ", ")))
		}
	}
	if g.Memory != "" {
		parts = append(parts, "memory "+g.Memory)
	}
	if g.State {
		parts = append(parts, "state")
	}
	return strings.Join(parts, between)
}

// Confinement is one part of the sandbox of plugins, held by this system or not.
type Confinement struct {
	Part string `json:"part"`
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"`
	// Watched: what this part bounds is watched where it is not held.
	Watched bool `json:"watched,omitempty"`
}

// Confinement tells part by part whether this system holds plugins in their sandbox.
func (p *Workspace) Confinement() []Confinement {
	var parts []Confinement
	for _, part := range p.host.Confinement() {
		parts = append(parts, Confinement{
			Part: part.Name, Held: part.Held, Why: part.Why, Watched: !part.Held && part.Name == pluginhost.PartResources && p.SandboxMode() != "off",
		})
	}
	return parts
}

// SandboxMode is `limits.sandbox` of the project file: auto, require or off.
func (p *Workspace) SandboxMode() string {
	return cmp.Or(p.file.Limits.Sandbox, string(pluginhost.SandboxAuto))
}

// needsPorts reports whether hosts were granted to a plugin: then ports are a part of
// what must be held.
func (p *Workspace) needsPorts() bool {
	return slices.ContainsFunc(p.file.Plugins, func(plugin project.Plugin) bool { return plugin.Grants.Hosts != nil })
}

// MissingConfinement lists the parts that are wanted here and not held.
func (p *Workspace) MissingConfinement() []Confinement {
	var missing []Confinement
	for _, part := range p.Confinement() {
		if !part.Held && !part.Watched && (part.Part != pluginhost.PartPorts || p.needsPorts()) {
			missing = append(missing, part)
		}
	}
	return missing
}

// UnconfinedError says that the project requires a sandbox for its plugins
// (`limits.sandbox: require`) that this system does not hold.
type UnconfinedError struct {
	Message string
	Hint    diag.Hint
}

func (e *UnconfinedError) Error() string { return e.Message }

// CheckSandbox refuses, with an *UnconfinedError, where the project requires a sandbox
// that this system does not hold.
func (p *Workspace) CheckSandbox() error {
	if failure := p.host.CheckSandbox(); failure != nil {
		return &UnconfinedError{Message: failure.Error(), Hint: failure.Hint}
	}
	return nil
}

// secretPlaces are what no plugin may see, whatever it is granted: a sandbox's state
// lies in that of the project.
func (p *Workspace) secretPlaces() []string {
	places := []string{p.KeyPath()}
	if p.config.Sandbox != nil {
		places = append(places, filepath.Dir(p.config.StateDir))
		if p.config.Sandbox.RealState != "" {
			places = append(places, p.config.Sandbox.RealState)
		}
	}
	return places
}

func (p *Workspace) inProject(path string) string {
	if filepath.IsAbs(path) {
		return path
	}
	return filepath.Join(p.config.Dir, filepath.FromSlash(path))
}

// configFiles are the files that the connections of a plugin name in their config
// (ca_file), simulated ones too: who wrote the config wants them read.
func (p *Workspace) configFiles(plugin string) []pluginhost.Path {
	var paths []pluginhost.Path
	add := func(name, value string) {
		if strings.HasSuffix(name, "_file") && value != "" && !strings.Contains(value, "${{") {
			paths = append(paths, pluginhost.Path{Name: p.inProject(value), ReadOnly: true})
		}
	}
	for _, connection := range p.file.Connections {
		if connection.Plugin == plugin && connection.Config != nil && connection.Config.Kind == spec.Mapping {
			for _, pair := range connection.Config.Pairs {
				add(pair.Key.Text, pair.Value.Text)
			}
		}
	}
	if p.sandbox == nil {
		return paths
	}
	for _, simulator := range p.sandbox.Simulators {
		var config map[string]any
		if json.Unmarshal(simulator.Config, &config) != nil {
			continue // who stands for the service is told so elsewhere
		}
		for name, value := range config {
			text, _ := value.(string)
			add(name, text)
		}
	}
	return paths
}

// granted is a source with the plugin's grants. The hosts of its connections are the
// user's own word: their base_url is granted with them. Simulators listen where they
// can, so that in a sandbox hosts are not bounded by their ports.
func (p *Workspace) granted(plugin project.Plugin) pluginhost.Source {
	source := pluginhost.Source{Name: plugin.Name, Env: plugin.Grants.Env}
	for _, path := range plugin.Grants.Paths {
		source.Paths = append(source.Paths, pluginhost.Path{Name: p.inProject(path.Path), ReadOnly: path.ReadOnly})
	}
	if plugin.Grants.Commands != nil {
		source.Commands = []string{}
		for _, command := range plugin.Grants.Commands {
			if strings.Contains(command, "/") {
				command = p.inProject(command)
			}
			source.Commands = append(source.Commands, command)
		}
	}
	if plugin.Grants.Hosts != nil && p.config.Sandbox == nil {
		source.Hosts = append([]string{}, plugin.Grants.Hosts...)
		for _, connection := range p.file.Connections {
			if connection.Plugin == plugin.Name {
				source.Hosts = append(source.Hosts, baseURL(connection.Config)...)
			}
		}
	}
	source.Memory, _ = quota.ParseSize(plugin.Grants.Memory) // 0 where nothing was granted
	return source
}

// baseURL is the address that a connection's config has as plain text.
func baseURL(config *spec.Node) []string {
	if config == nil || config.Kind != spec.Mapping {
		return nil
	}
	for _, pair := range config.Pairs {
		if pair.Key.Text == "base_url" && pair.Value.Kind == spec.Scalar && !strings.Contains(pair.Value.Text, "${{") {
			return []string{pair.Value.Text}
		}
	}
	return nil
}

// PluginGrants returns what a plugin asks for, where it can be described, and what the
// project file gives it.
func (p *Workspace) PluginGrants(name string) (wants, granted Grants, err error) {
	description, err := p.Describe(name)
	if err == nil {
		wants = p.wants(name, description)
	}
	return wants, p.grantsOf(name), err
}

// grantsOf is what the project file grants to a plugin.
func (p *Workspace) grantsOf(name string) Grants {
	for _, plugin := range p.file.Plugins {
		if plugin.Name != name {
			continue
		}
		return GrantsOf(plugin.Grants)
	}
	return Grants{}
}

// checkGranted finds plugins that are neither named with a source nor bundled.
func (p *Workspace) checkGranted() diag.List {
	var problems diag.List
	for _, plugin := range p.file.Plugins {
		if plugin.Bundled != "" && !slices.Contains(p.config.Bundled, plugin.Bundled) {
			problem := problems.Errorf(plugin.Pos, project.CodeNoSource, "plugin `%s`: no plugin `%s` is bundled", plugin.Name, plugin.Bundled)
			problem.Hint = diag.MeantOr(plugin.Bundled, p.config.Bundled, "bundled are ")
			continue
		}
		if plugin.Source == "" && plugin.Bundled == "" && !slices.Contains(p.config.Bundled, plugin.Name) {
			problem := problems.Errorf(plugin.Pos, project.CodeNoSource, "plugin `%s` has no `source`, and is not bundled", plugin.Name)
			problem.Hint = diag.DidYouMean(plugin.Name, p.config.Bundled).Or(diag.Say("name the path of its executable: source: ./bin/flowrun-plugin-" + plugin.Name))
		}
	}
	return problems
}

// OwnControlGroup returns the folder of a process's control group (cgroup v2), from the
// texts of /proc/PID/cgroup and /proc/PID/mountinfo; "" = there is none.
func OwnControlGroup(groups, mounts string) string {
	return pluginhost.OwnControlGroup(groups, mounts)
}
