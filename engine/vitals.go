package engine

import (
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/vitals"
)

// Vitals looks at the engine. It reads index rows of the store, not the runs.
func (e *Engine) Vitals() (*vitals.Vitals, error) {
	census, err := e.store.Census()
	if err != nil {
		return nil, e.Fault(err)
	}
	states, err := e.store.TriggerStates()
	if err != nil {
		return nil, e.Fault(err)
	}
	usage := e.store.Usage()
	v := &vitals.Vitals{
		Active: e.Active(), Busy: e.Busy(), InFlight: e.InFlight(),
		Runs: census.Runs, Store: e.StoreStats(), Writes: e.store.Stats().Ops,
		Usage:    vitals.StoreUsage{File: usage.FileBytes, Free: usage.FreeBytes, Max: usage.MaxBytes, DiskFree: usage.DiskFree, DiskTotal: usage.DiskTotal},
		Pressure: pressureLevel(e.store.Pressure().Level),
	}
	if backup := e.LastBackup(); backup != nil {
		v.Backup = backup.At
	}
	for _, name := range e.project.PluginNames() {
		status := e.project.Host().Status(name)
		v.Plugins = append(v.Plugins, vitals.Plugin{
			Name: name, PID: status.PID, State: string(status.State), InFlight: status.InFlight, Starts: status.Starts, Crashes: status.AllCrashes,
		})
	}
	for _, s := range states {
		v.Triggers = append(v.Triggers, vitals.Trigger{Workflow: s.Workflow, Trigger: s.Trigger, Paused: s.Paused, Failures: s.Failures})
	}
	return v, nil
}

func pressureLevel(level store.Level) int {
	switch level {
	case store.StopAdmission:
		return 1
	case store.PauseDispatch:
		return 2
	}
	return 0
}

// Row returns the row of a run. ErrRunNotFound.
func (e *Engine) Row(id string) (*runs.Run, error) {
	row, err := e.store.Run(id)
	return row, e.Fault(err)
}

// TZData says which time zone rules slots are worked out by: their version, "" where
// it can't be told, and where they lie.
func (e *Engine) TZData() (version, source string) { return e.project.TZData() }
