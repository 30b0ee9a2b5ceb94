// Package mcp is the plugin of MCP servers: each tool of a server is an action, typed by its
// schemas. The tools stand in a file of the project, which Capture writes and people review:
// what a server says tomorrow changes no workflow by itself (ADR 65).
//
// docs/services/mcp.md says what the settings and a connection have.
package mcp

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/flowrun/flowrun/plugins/internal/process"
	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// Options are what the plugin takes from outside.
type Options struct {
	Dir     string   // folder from which programs are meant; "" = the process's own
	Environ []string // of the plugin; a few names of it are handed on to servers
	// Simulator is the command of the program that keeps a sandbox; none = there is none.
	Simulator []string
}

// New returns the plugin with what a process has.
func New(simulator ...string) *sdk.Plugin {
	return NewWith(Options{Dir: sdk.ProjectDir(), Environ: os.Environ(), Simulator: simulator})
}

// NewWith returns the plugin with what a test passes in.
func NewWith(o Options) *sdk.Plugin {
	p := &plugin{options: o, sessions: sessions{known: map[string]*session{}}}
	p.sessions.surroundings = process.Surroundings{Plugin: "mcp", Dir: o.Dir, Environ: o.Environ}
	return sdk.New("mcp", Version, "The tools of an MCP server: each is an action.",
		sdk.Described[Settings, Config]{
			Describe: p.describe, Execute: p.execute,
			ValidateConfig: func(_ []byte, config Config) []sdk.Problem { return checkConfig(config) },
		},
		sdk.CheckConnection(p.checkConnection),
	)
}

// plugin is what the actions share.
type plugin struct {
	options  Options
	sessions sessions
}

// call is one call of a tool.
type call = sdk.Call[Config]

// Settings are what a project tells the plugin.
type Settings struct {
	Tools   string              `json:"tools" min:"1" format:"project-file" doc:"File with the tools of the server, as flowrun mcp tools writes it" example:"./github.tools.json"`
	Only    []string            `json:"only,omitempty" doc:"Tools to have, by the server's names; * stands for anything"`
	Except  []string            `json:"except,omitempty" doc:"Tools to leave out"`
	Effects map[string]string   `json:"effects,omitempty" doc:"Effects of tools, in the place of what the server's hints say: read, idempotent or once, by name or pattern"`
	Trust   *bool               `json:"trust_hints,omitempty" doc:"Whether readOnlyHint and idempotentHint of the server count, which they do where nothing is said; false: tools are called once unless effects says otherwise"`
	Secrets map[string][]string `json:"secrets,omitempty" doc:"Arguments that are secrets, by tool: texts at the top of its input"`
	Timeout string              `json:"timeout,omitempty" doc:"How long a call may take where a step says nothing, such as 5m"`
}

// The effects that the settings may name.
const (
	effectRead       = "read"
	effectIdempotent = "idempotent"
	effectOnce       = "once"
)

// recipe is what a call needs of the tools file.
type recipe struct {
	Tool   string          `json:"tool"`
	Data   bool            `json:"data,omitempty"`   // the tool has an output schema
	Sample json.RawMessage `json:"sample,omitempty"` // its answer in a sandbox
}

// connectionRecipe is what a test of a connection compares.
type connectionRecipe struct {
	Tools map[string]string `json:"tools"` // digests of what they take and give, by name
}

func (p *plugin) describe(told sdk.Told[Settings]) (sdk.Manifest, error) {
	file, ok := told.File("/tools")
	if !ok {
		return sdk.Manifest{}, sdk.Invalid("/tools", "the host hands over no file").WithHint("write the path of the file with the server's tools")
	}
	if problem := told.Settings.check(); problem != nil {
		return sdk.Manifest{}, problem
	}
	document, err := readTools(file.Content)
	if err != nil {
		return sdk.Manifest{}, sdk.Invalid("/tools", "%s: %v", file.Path, err).WithHint("flowrun mcp tools writes this file")
	}
	made, warnings := told.Settings.actions(document)
	for _, list := range []struct {
		pointer string
		names   []string
	}{{"/only", told.Settings.Only}, {"/except", told.Settings.Except}} {
		for i, pattern := range list.names {
			if !document.has(pattern) {
				return sdk.Manifest{}, sdk.Invalid(fmt.Sprintf("%s/%d", list.pointer, i), "the server has no tool %s", pattern)
			}
		}
	}
	for pattern := range told.Settings.Effects {
		if !document.has(pattern) {
			return sdk.Manifest{}, sdk.Invalid("/effects"+sdk.Pointer(pattern), "the server has no tool %s", pattern)
		}
	}
	own := connectionRecipe{Tools: map[string]string{}}
	m := sdk.Manifest{Warnings: warnings}
	if name := document.Server.Name; name != "" {
		m.Doc = "Tools of the MCP server " + sdk.Shown(name, 100)
	}
	bodies := map[string]action{}
	for _, a := range made {
		m.Actions = append(m.Actions, a.entry)
		bodies[a.entry.Name] = a
		own.Tools[a.tool.Name] = a.tool.digest()
	}
	if m.Recipe, err = json.Marshal(own); err != nil {
		return m, fmt.Errorf("encode the connection's recipe: %w", err)
	}
	if command := p.options.Simulator; len(command) > 0 {
		m.Parts = append(m.Parts, sdk.Simulator(command[0], slices.Clone(command[1:])...))
	}
	m.Action = func(name string) (sdk.ActionBody, error) { return bodies[name].body() }
	return m, nil
}
