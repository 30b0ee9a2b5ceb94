package engine

import (
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

// Vitals is how the engine is at a moment, in figures. Counters count since Open.
type Vitals struct {
	Active   int // runs that are driven
	Busy     int // of them, those that do more than wait for people or signals
	InFlight int // calls

	Runs     map[plan.RunStatus]int // that the store holds
	Store    StoreStats
	Writes   uint64 // that the store's commits held
	Usage    StoreUsage
	Pressure int // 0 = there is room, 1 = no run is accepted, 2 = no call is sent either
	Backup   time.Time

	Plugins  []PluginVitals
	Triggers []TriggerVitals
}

// StoreUsage is the room that the store takes and has, in bytes. The figures of
// a disk that does not answer are 0.
type StoreUsage struct {
	File, Free, Max     int64 // Free: inside the file
	DiskFree, DiskTotal uint64
}

// PluginVitals is the state of one plugin's process.
type PluginVitals struct {
	Name     string
	PID      int // 0 = no process runs
	State    string
	InFlight int
	Starts   uint64
	Crashes  uint64
}

// TriggerVitals is what is kept of one trigger.
type TriggerVitals struct {
	Workflow, Trigger string
	Paused            bool
	Failures          int // runs in a row that failed
}

// Vitals looks at the engine. It reads index rows of the store, not the runs.
func (e *Engine) Vitals() (*Vitals, error) {
	census, err := e.store.Census()
	if err != nil {
		return nil, e.fault(err)
	}
	states, err := e.store.TriggerStates()
	if err != nil {
		return nil, e.fault(err)
	}
	usage := e.store.Usage()
	v := &Vitals{
		Active: e.Active(), Busy: e.Busy(), InFlight: e.InFlight(),
		Runs: census.Runs, Store: e.StoreStats(), Writes: e.store.Stats().Ops,
		Usage:    StoreUsage{File: usage.FileBytes, Free: usage.FreeBytes, Max: usage.MaxBytes, DiskFree: usage.DiskFree, DiskTotal: usage.DiskTotal},
		Pressure: pressureLevel(e.store.Pressure().Level),
	}
	if backup := e.lastBackup(); backup != nil {
		v.Backup = backup.At
	}
	for _, name := range e.project.PluginNames() {
		status := e.project.Host().Status(name)
		v.Plugins = append(v.Plugins, PluginVitals{
			Name: name, PID: status.PID, State: string(status.State), InFlight: status.InFlight, Starts: status.Starts, Crashes: status.AllCrashes,
		})
	}
	for _, s := range states {
		v.Triggers = append(v.Triggers, TriggerVitals{Workflow: s.Workflow, Trigger: s.Trigger, Paused: s.Paused, Failures: s.Failures})
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
func (e *Engine) Row(id string) (*plan.Run, error) {
	row, err := e.store.Run(id)
	return row, e.fault(err)
}

// TZData says which time zone rules slots are worked out by: their version, "" where
// it can't be told, and where they lie.
func (e *Engine) TZData() (version, source string) { return e.project.TZData() }
