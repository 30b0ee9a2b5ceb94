package workspace

import "context"

// StartPlugin starts a plugin's process, to see whether it can be, and returns
// when it may be called. It ends with the project.
func (p *Workspace) StartPlugin(ctx context.Context, name string) error {
	return p.host.Start(ctx, name)
}

// OrphanedPlugin is a plugin process whose engine was killed.
type OrphanedPlugin struct {
	Plugin string `json:"plugin"`
	PID    int    `json:"pid"`
}

// OrphanedPlugins lists the plugin processes that killed engines left behind.
func (p *Workspace) OrphanedPlugins() ([]OrphanedPlugin, error) {
	lost, err := p.host.Orphans()
	var plugins []OrphanedPlugin
	for _, one := range lost {
		plugins = append(plugins, OrphanedPlugin(one))
	}
	return plugins, err
}

// EndOrphanedPlugins kills the plugin processes that killed engines left behind,
// and returns how many there were. Those of living engines stay.
func (p *Workspace) EndOrphanedPlugins(ctx context.Context) (int, error) {
	return p.host.ReapOrphans(ctx)
}

// Redact masks the secrets that the project has met in a text that is shown or
// logged. Safe for concurrent use.
func (p *Workspace) Redact(text string) string { return p.redactor.Redact(text) }

// KeyPath returns the path of the file with the sealing key.
func (p *Workspace) KeyPath() string { return p.services.KeyPath() }
