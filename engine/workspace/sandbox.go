package workspace

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/project"
	"github.com/flowrun/flowrun/engine/runs"
)

// LiveNotify begins the name of a notify target among Sandbox.Live.
const LiveNotify = "notify:"

// Sandbox keeps the calls of a project from real services. Every connection is
// simulated, live by its name, or refused; steps that Mock answers reach none. The
// zero value refuses all.
type Sandbox struct {
	Simulators []Simulator
	// Live are the connections that are used as they are declared, and the notify
	// targets (LiveNotify and the name) that are told.
	Live []string
	// RealState is the state directory of the project's real store, whose secrets
	// live connections may have. "" = none is read.
	RealState string
}

// Simulator stands for a service in a sandbox.
type Simulator struct {
	Plugin     string // whose connections lead to it: all of them,
	Connection string // or this one alone
	Config     json.RawMessage
	// Keep are settings of the declared connection that hold in the sandbox too: what
	// workflows may name, for plugins that simulate themselves. Secrets are not kept.
	Keep []string
	Rate string // "60/10s"; "" = the plugin's own limiter
	By   string // the command of somebody else's, for people; "" = flowrun's own
	// Approve gives the command that approves a login by its code, shown beside what
	// asks for it. nil = none is needed.
	Approve func(code string) string
}

// sandboxed is the sandbox of a project.
type sandboxed struct {
	Sandbox
	mocks []*mocks
}

// Simulate adds simulators that were started after the project was loaded. It must
// be called before Open.
func (p *Workspace) Simulate(simulators ...Simulator) {
	if p.sandbox != nil {
		p.sandbox.Simulators = append(p.sandbox.Simulators, simulators...)
	}
}

// CheckLive says which name of Sandbox.Live is none: an *UnknownError.
func (p *Workspace) CheckLive() error {
	if p.sandbox == nil {
		return nil
	}
	names := p.declaredConnections()
	for _, target := range p.notifyNames() {
		names = append(names, LiveNotify+target)
	}
	for _, name := range p.sandbox.Live {
		if slices.Contains(names, name) || slices.Contains(p.PluginNames(), name) {
			continue
		}
		unknown := &fault.UnknownError{What: "connection", Name: name, Hint: diag.MeantOr(name, names, "one of ")}
		if strings.HasPrefix(name, LiveNotify) {
			unknown.What = "notify target"
		}
		if len(names) == 0 {
			unknown.Hint = diag.Say("none is declared in " + project.FileName)
		}
		return unknown
	}
	return nil
}

// Live reports whether a connection is used as it is declared: outside of a
// sandbox every one is.
func (p *Workspace) Live(connection string) bool {
	return p.sandbox == nil || slices.Contains(p.sandbox.Live, connection)
}

// Tells reports whether a notify target is told.
func (p *Workspace) Tells(target string) bool { return p.Live(LiveNotify + target) }

// simulator finds what stands for a connection: the simulator of its own, else that
// of its plugin. One of flowrun's stands for flowrun's own plugin alone.
func (p *Workspace) simulator(plugin, connection string) (*Simulator, bool) {
	if p.sandbox == nil {
		return nil, false
	}
	all := p.sandbox.Simulators
	own := slices.IndexFunc(all, func(s Simulator) bool { return s.Connection != "" && s.Connection == connection && s.Plugin == plugin })
	if own < 0 {
		own = slices.IndexFunc(all, func(s Simulator) bool {
			return s.Connection == "" && s.Plugin == plugin && (s.By != "" || !p.replaced(plugin))
		})
	}
	if own < 0 {
		return nil, false
	}
	return &all[own], true
}

// replaced reports whether the project names a plugin of its own in the place of
// one that is bundled.
func (p *Workspace) replaced(plugin string) bool {
	return slices.ContainsFunc(p.file.Plugins, func(own project.Plugin) bool { return own.Name == plugin && own.Source != "" })
}

// Approval puts the command into a prompt that approves a simulated login.
func (p *Workspace) Approval(plugin, connection string, prompt runs.Prompt) runs.Prompt {
	if p.sandbox == nil || prompt.UserCode == "" || p.Live(connection) {
		return prompt
	}
	if simulator, ok := p.simulator(plugin, connection); ok && simulator.Approve != nil {
		prompt.Message = strings.TrimSpace(prompt.Message + " simulated; approve it with: " + simulator.Approve(prompt.UserCode))
	}
	return prompt
}

// simulatedPlugins lists the plugins of which every connection is simulated.
func (p *Workspace) simulatedPlugins() []string {
	var names []string
	if p.sandbox == nil {
		return nil
	}
	for _, s := range p.sandbox.Simulators {
		if _, ok := p.simulator(s.Plugin, ""); ok && s.Connection == "" && !slices.Contains(names, s.Plugin) {
			names = append(names, s.Plugin)
		}
	}
	slices.Sort(names)
	return names
}

// SandboxError says that a connection is neither simulated nor live in a sandbox.
type SandboxError struct {
	Message string
	Hint    diag.Hint
}

func (e *SandboxError) Error() string { return e.Message }

// AsSandboxError finds a SandboxError in an error; nil = there is none.
func AsSandboxError(err error) *SandboxError {
	outside, _ := errors.AsType[*SandboxError](err)
	return outside
}

// failure is the refusal of a call.
func (e *SandboxError) failure() *runs.Error {
	return &runs.Error{Kind: plan.KindInvalid, Applied: runs.NotApplied, Reason: "sandbox", Message: e.Message, Hint: e.Hint}
}

// refusal says that nothing stands for a connection, with the three ways out.
func (p *Workspace) refusal(plugin, connection string) *SandboxError {
	declared, ok := p.file.Connection(connection)
	switch {
	case !ok && connection != plugin:
		hint := diag.DidYouMean(connection, p.namesOf(plugin)).Or(diag.Say("declare it under `connections` of " + project.FileName))
		return &SandboxError{Message: fmt.Sprintf("there is no connection `%s`, and no simulator of plugin %s", connection, plugin), Hint: hint}
	case ok && declared.Plugin != plugin:
		return &SandboxError{
			Message: fmt.Sprintf("connection `%s` belongs to plugin %s, not to %s", connection, declared.Plugin, plugin),
			Hint:    diag.Say("name one of plugin " + plugin),
		}
	}
	return &SandboxError{
		Message: fmt.Sprintf("nothing stands for connection `%s` of plugin %s in the sandbox", connection, plugin),
		Hint: diag.Sayf("let it send real requests: --live %s; or answer its steps from a test file: --mocks FILE.test.yaml; or bring a simulator: "+
			"`sandbox: {%s: {command: [./SIMULATOR]}}` in %s", connection, connection, project.FileName),
	}
}

// ownerRefusal says that a live connection would have its token from one that is
// not.
func ownerRefusal(connection, owner string) *SandboxError {
	return &SandboxError{
		Message: fmt.Sprintf("connection `%s` is live and takes its token from `%s`, which is not", connection, owner),
		Hint:    diag.Sayf("name both: --live %s --live %s; or neither", connection, owner),
	}
}
