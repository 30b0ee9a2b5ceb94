// Package vitals says how an engine is at a moment, in figures: what telemetry and doctor
// read.
package vitals

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Vitals is how the engine is at a moment, in figures. Counters count since Open.
type Vitals struct {
	Active   int // runs that are driven
	Busy     int // of them, those that do more than wait for people or signals
	InFlight int // calls

	Runs     map[runs.Status]int // that the store holds
	Store    StoreStats
	Writes   uint64 // that the store's commits held
	Usage    StoreUsage
	Pressure int // 0 = there is room, 1 = no run is accepted, 2 = no call is sent either
	Backup   time.Time

	Plugins  []Plugin
	Triggers []runs.TriggerState
}

// StoreUsage is the room that the store takes and has, in bytes. The figures of
// a disk that does not answer are 0.
type StoreUsage struct {
	File, Free, Max     int64 // Free: inside the file
	DiskFree, DiskTotal uint64
	Large               int64 // that large values take beside the file
}

// Plugin is the state of one plugin's process.
type Plugin struct {
	Name     string
	PID      int // 0 = no process runs
	State    string
	InFlight int
	Starts   uint64
	Crashes  uint64
}

// StoreStats counts the store's work since it was opened. Bytes are those of
// written pages.
type StoreStats struct {
	Commits  uint64 `json:"commits"`
	Fsyncs   uint64 `json:"fsyncs"`
	Bytes    uint64 `json:"bytes"`
	FileSize int64  `json:"file_size"`
	Records  uint64 `json:"records"` // of journals that were read
}
