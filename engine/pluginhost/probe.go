package pluginhost

import (
	"context"
	"path/filepath"
)

// Start starts a plugin's process where none runs, and returns when it is ready
// to be called. It fails with *PluginError, or with the context's error.
func (h *Host) Start(ctx context.Context, plugin string) error {
	p, err := h.plugin(plugin)
	if err != nil {
		return err
	}
	u, err := p.unit(ctx, "")
	if err != nil {
		return err
	}
	running, err := u.acquire(ctx, "")
	if err != nil {
		return err
	}
	u.release(running, "")
	return nil
}

// Orphan is a plugin process whose host is gone.
type Orphan struct {
	Plugin string
	PID    int
}

// Orphans lists the plugin processes that a killed host left behind. ReapOrphans
// ends them.
func (h *Host) Orphans() ([]Orphan, error) {
	var entries []pidEntry
	if err := readJSON(pidRecordIn(filepath.Join(h.options.StateDir, "plugins")).path, &entries); err != nil {
		return nil, err
	}
	var lost []Orphan
	for _, e := range entries {
		start, runs := processStart(e.PID)
		if e.isLost() && runs && start == e.Start {
			lost = append(lost, Orphan{Plugin: e.Plugin, PID: e.PID})
		}
	}
	return lost, nil
}
