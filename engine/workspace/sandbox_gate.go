package workspace

import (
	"bytes"
	"cmp"

	"github.com/flowrun/flowrun/engine/pluginhost"
	"github.com/flowrun/flowrun/engine/runs"
)

var _ pluginhost.Gate = (*Workspace)(nil)

// Admit lets live connections pass, and those that lead to a simulator. The plugin host
// asks before it opens any connection in a sandbox. It is decided anew, by the sandbox
// alone: a path to a call that forgot the sandbox comes with a config that is not a
// simulator's, and ends here.
func (p *Workspace) Admit(plugin string, conn pluginhost.Connection) *runs.Error {
	name := cmp.Or(conn.Name, plugin)
	if p.Live(name) {
		return nil
	}
	if simulator, ok := p.simulator(plugin, name); ok && conn.TokenFrom == nil && bytes.Equal(p.simulated(simulator, name), conn.Config) {
		return nil
	}
	return p.refusal(plugin, name).failure()
}
