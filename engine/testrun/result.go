package testrun

import (
	"time"

	"github.com/flowrun/flowrun/engine/diag"
)

// Status is how a case or a file ended.
type Status string

// The statuses. Of several the last one holds for the file.
const (
	Passed  Status = "passed"
	Failed  Status = "failed"
	Stale   Status = "stale"   // a recording does not fit the workflow or the plugins any more
	Invalid Status = "invalid" // the file or its workflow has problems: nothing was run
)

// FileResult is what became of one test file.
type FileResult struct {
	File     string       `json:"file"`
	Workflow string       `json:"workflow,omitempty"` // its file
	Status   Status       `json:"status"`
	Problems diag.List    `json:"problems"`
	Cases    []CaseResult `json:"cases"`
	Coverage Coverage     `json:"coverage"`
}

// CaseResult is what became of one case. Took is virtual time, Wall is real.
type CaseResult struct {
	Name     string        `json:"name"`
	Line     int           `json:"line"`
	Status   Status        `json:"status"`
	Run      string        `json:"run_status,omitempty"`
	Calls    int           `json:"calls"`
	Took     time.Duration `json:"-"`
	TookMS   int64         `json:"virtual_ms"`
	Wall     time.Duration `json:"-"`
	WallMS   int64         `json:"wall_ms"`
	Failures []Failure     `json:"failures"`
}

// The kinds of failures.
const (
	FailExpectation = "expectation" // an expectation does not hold
	FailUnanswered  = "unanswered"  // a call has no answer
	FailUnused      = "unused"      // an answer was not asked for
	FailRefused     = "refused"     // a plugin refuses what the workflow would send
	FailStuck       = "stuck"       // nothing is left to happen, or too much happened
	FailStale       = "stale"       // a recorded answer does not fit any more
)

// Failure is one thing that is wrong in a case. Lines hold what belongs to it:
// values, differences, an answer to paste.
type Failure struct {
	diag.Pos
	Kind    string   `json:"kind"`
	Message string   `json:"message"`
	Lines   []string `json:"lines,omitempty"`
	Hint    string   `json:"hint,omitempty"`
}

// Coverage counts the steps of the workflow, those of loops and handlers too,
// that at least one case has run.
type Coverage struct {
	Steps int      `json:"steps"`
	Ran   int      `json:"ran"`
	Never []string `json:"never"`
}
