package store

import (
	"github.com/flowrun/flowrun/engine/runs"
)

// Logs are the lines that runs and their steps have written. The log of one step ends
// at plan.MaxStepLog: after the last line comes one more for every step that wrote
// more, with the count of what was dropped.
type Logs interface {
	// Logs returns a run's log lines of one step ("" = of all), from line number from
	// on (the first is 1), at most limit (0 = all), and the number to ask for next.
	// ErrRunNotFound.
	Logs(runID, step string, from uint64, limit int) (lines []runs.Log, next uint64, err error)
	// LogPage reads a part of a run's log, from either end, without reading the rest.
	// ErrRunNotFound.
	LogPage(runID string, q LogQuery) (*LogPage, error)
	// LogSteps returns the steps of a run that have written lines, at most so many, in
	// the order of their paths; "" is the run itself. ErrRunNotFound.
	LogSteps(runID string, most int) (steps []string, err error)
}

// LogQuery selects lines of a run's log. Lines are numbered from 1 on.
type LogQuery struct {
	// From is the number of the first line, or with Back of the line after the
	// last one; 0 = the log's begin, or its end.
	From  uint64
	Back  bool                 // the lines before From, and not those after it
	Limit int                  // at most so many; below 1 is 1
	Match func(*runs.Log) bool // which lines fit; nil = all
}

// LogPage is a part of a log, in the order of its lines.
type LogPage struct {
	Lines []runs.Log
	// Next is the From of what follows in the same direction, 0 at the end. A page
	// may be short, or empty, before that: one call looks at 20,000 lines, and gives
	// 4 MiB of them.
	Next uint64
}
