package store

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Upkeep is how much room there is, who takes it, and what goes.
type Upkeep interface {
	// Expire removes closed runs that retention does not keep: first by age, then by
	// number, of each workflow the oldest first. It may be stopped at any moment, by
	// ctx, an error or the end of the process: the next one goes on.
	Expire(ctx context.Context, r Retention, now time.Time) (removed []Removal, err error)
	// ExpireFires removes fires that were decided longer than keep ago (0 = any age
	// may stay), and the oldest of each trigger above perTrigger (0 = any number). It
	// returns how many went. It may be stopped like Expire. A slot whose row is gone is
	// not fired again: the trigger's state knows how far it has come.
	ExpireFires(ctx context.Context, keep time.Duration, perTrigger int, now time.Time) (removed int, err error)
	// EachRunUse measures all runs, the newest first. It stops at the error of visit.
	EachRunUse(visit func(RunUse) error) error
	// PluginBytes returns what the answers of a run's calls, and what its steps
	// logged, take by plugin; "" is what belongs to none: the run's own events and
	// core actions.
	PluginBytes(id string) (by map[string]int64, err error)
	// Usage returns the room that the store takes and has. What it does not know is 0.
	Usage() Usage
	// Pressure says whether space is short. It costs little to ask.
	Pressure() Pressure
	// Stats returns the counts since the store was opened.
	Stats() Stats
}

// RunUse is what a run takes in the store.
type RunUse struct {
	Run     runs.Run
	Records int64 // bytes of its records with their large values
	Logs    int64 // bytes of its log
	Blobs   int64 // bytes of its large values; one that several runs refer to counts in each
}

// Usage is the room that the store takes and has, in bytes.
type Usage struct {
	FileBytes, MaxBytes int64
	DiskFree, DiskTotal uint64
	FreeBytes           int64 // inside the file: later writes take it first
}

// Level is how much the want of space holds back.
type Level int

// The levels (P12).
const (
	None          Level = iota
	StopAdmission       // no new runs, schedules wait
	PauseDispatch       // no new calls either; what is in flight is still stored
)

// Pressure says whether space is short, and why. Reason names path and bytes.
type Pressure struct {
	Level  Level
	Reason string
}

// Stats are counts since Open, for benchmarks and metrics.
type Stats struct {
	Commits  uint64 // transactions that wrote
	Fsyncs   uint64 // two a commit, data and meta, and one each time the file grew
	Ops      uint64 // writes that those commits held
	Bytes    uint64 // written pages, in bytes
	Records  uint64 // of journals that were read
	FileSize int64
}
