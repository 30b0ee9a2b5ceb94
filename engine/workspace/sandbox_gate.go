package workspace

import (
	"bytes"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
)

// sandboxGate is asked by the plugin host before it opens any connection. It
// decides anew, by the sandbox alone: a path to a call that forgot the sandbox
// comes with a config that is not a simulator's, and ends here.
type sandboxGate struct{ project *Workspace }

var _ pluginhost.Gate = sandboxGate{}

// Admit lets live connections pass, and those that lead to a simulator.
func (g sandboxGate) Admit(plugin string, conn pluginhost.Connection) *runs.Error {
	p, name := g.project, conn.Name
	if name == "" {
		name = plugin
	}
	if p.Live(name) {
		return nil
	}
	if simulator, ok := p.simulator(plugin, name); ok && conn.TokenFrom == nil && bytes.Equal(simulator.Config, conn.Config) {
		return nil
	}
	return p.refusal(plugin, name).failure()
}
