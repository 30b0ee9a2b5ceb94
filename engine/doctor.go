package engine

import "context"

// StartPlugin starts a plugin's process, to see whether it can be, and returns
// when it may be called. It ends with the project.
func (p *Project) StartPlugin(ctx context.Context, name string) error {
	return p.host.Start(ctx, name)
}

// PluginNames returns the names of all plugins, sorted.
func (p *Project) PluginNames() []string { return p.pluginNames() }

// OrphanedPlugin is a plugin process whose engine was killed.
type OrphanedPlugin struct {
	Plugin string `json:"plugin"`
	PID    int    `json:"pid"`
}

// OrphanedPlugins lists the plugin processes that killed engines left behind.
func (p *Project) OrphanedPlugins() ([]OrphanedPlugin, error) {
	lost, err := p.host.Orphans()
	var found []OrphanedPlugin
	for _, one := range lost {
		found = append(found, OrphanedPlugin(one))
	}
	return found, err
}

// EndOrphanedPlugins kills the plugin processes that killed engines left behind,
// and returns how many there were. Those of living engines stay.
func (p *Project) EndOrphanedPlugins(ctx context.Context) (int, error) {
	return p.host.ReapOrphans(ctx)
}

// NetworkFileSystem names the network file system that a folder lies on, "" when
// it is on a disk of this machine.
func NetworkFileSystem(dir string) string {
	magic, ok := fileSystemType(dir)
	if !ok {
		return ""
	}
	return networkFileSystems()[magic]
}

// KernelWarning says that this kernel may damage a store, and what helps; ""
// when it does not.
func KernelWarning() string { return kernelWarning() }
