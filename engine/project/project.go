// Package project reads flowrun.yaml: the connections, plugins, workflow
// folders and limits of one project in one environment.
package project

import (
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/spec"
)

// FileName is the name of the project file, found upwards from a folder.
const FileName = "flowrun.yaml"

// Project is a read flowrun.yaml. The zero value stands for a folder without
// one: no connections, no plugins but the bundled.
type Project struct {
	File        string // "" = there is none
	Connections []Connection
	Plugins     []Plugin
	Workflows   []string // folders or files, relative to the project's root
	Secrets     []string // providers in order: env, store
	Retention   Retention
	Limits      Limits
	Notify      []Notify
	Server      Server
	Sandbox     []Simulator
}

// Connection is a named way to one service. Config is what its plugin's config
// schema describes; it is converted when that schema is known.
type Connection struct {
	Name   string
	Plugin string
	Config *spec.Node // nil = empty
	Rate   string     // "60/1m"; "" = the plugin's own limiter
	Pos    diag.Pos   // of the name
}

// Plugin is a third party's plugin, or a bundled one that is granted or told something.
type Plugin struct {
	Name    string
	Source  string     // path of the executable, relative to the project's root; "" = it is bundled
	Bundled string     // of `source: bundled:NAME`: the bundled plugin that has this name here; "" = it is no such one
	With    *spec.Node // what it is told; nil = nothing
	Version string     // range such as ^1
	Grants  Grants
	Pos     diag.Pos
}

// ToldPlace is where a part of what the plugin is told stands: the value at a JSON Pointer
// into `with`, the key where the mapping around it ends there, else the plugin's name.
func (p Plugin) ToldPlace(pointer string) diag.Pos {
	for p.With != nil {
		if node := p.With.Find(pointer); node != nil && pointer != "" {
			return node.Pos
		}
		cut := strings.LastIndexByte(pointer, '/')
		if cut < 0 {
			break
		}
		pointer = pointer[:cut]
	}
	return p.Pos
}

// Grants are what a plugin may have besides its own folders and the system's programs
// and libraries. A nil list is not said: hosts and commands are bounded where they are.
type Grants struct {
	Paths    []PathGrant
	Hosts    []string // host, host:port or URL
	Env      []string // names
	Commands []string // names in PATH, or paths
	Memory   string   // such as 4GiB, in place of the bound that all plugins have; "" = that
}

// PathGrant is a file or folder with all that it holds.
type PathGrant struct {
	Path     string // as written; relative to the project's root
	ReadOnly bool
}

// String is the grant as flowrun.yaml has it.
func (g PathGrant) String() string {
	if g.ReadOnly {
		return g.Path + ":ro"
	}
	return g.Path
}

// Retention says how long ended runs are kept; zero = the default.
type Retention struct {
	Keep     time.Duration
	MaxRuns  int // of each workflow
	MaxTotal int // of all
}

// Limits bound the engine; zero = the default.
type Limits struct {
	MaxActiveRuns int
	Drain         time.Duration // how long a SIGTERM waits for calls in flight
	StateUnused   time.Duration // how long a plugin's state is kept that nobody reads or writes
	Quotas        quota.Values
	Sandbox       string // of plugins: "auto", "require" or "off"; "" = auto
}

// Connection returns the connection of that name.
func (p *Project) Connection(name string) (*Connection, bool) {
	for i := range p.Connections {
		if p.Connections[i].Name == name {
			return &p.Connections[i], true
		}
	}
	return nil, false
}
