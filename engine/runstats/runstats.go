// Package runstats sums up runs of a workflow: how they ended, how long they took, and which
// steps failed why. It reads nothing: who asks brings the rows.
package runstats

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// Stats sum up runs.
type Stats struct {
	Workflow string              `json:"workflow"`
	Runs     int                 `json:"runs"`
	Since    *time.Time          `json:"since"` // when the oldest of them began; null where there is none
	Statuses map[runs.Status]int `json:"statuses"`
	// P50MS and P95MS are durations that half, and 95 of 100, of the runs that succeeded
	// did not exceed; null where none did.
	P50MS    *int64    `json:"p50_ms"`
	P95MS    *int64    `json:"p95_ms"`
	Failures []Failure `json:"failures"` // the most frequent first
	Ended    []Ended   `json:"ended"`    // the oldest first
}

// Failure is a kind of error that runs ended with in a step.
type Failure struct {
	Step  string         `json:"step,omitempty"` // its place in the file; absent of a run's own failure
	Kind  plan.ErrorKind `json:"kind"`
	Count int            `json:"count"`
	Last  string         `json:"last"` // the newest of the runs
}

// Ended is a run that has ended.
type Ended struct {
	Run        string      `json:"run"`
	Status     runs.Status `json:"status"`
	StartedAt  time.Time   `json:"started_at"`
	DurationMS int64       `json:"duration_ms"`
}

// Of sums up the rows of a workflow's runs, of which the newest comes first.
func Of(workflow string, rows []runs.Run) *Stats {
	s := &Stats{Workflow: workflow, Runs: len(rows), Statuses: map[runs.Status]int{}, Failures: []Failure{}, Ended: []Ended{}}
	var took []int64
	for i := range rows {
		row := &rows[i]
		s.Statuses[row.Status]++
		s.Since = &row.StartedAt
		if row.Status.Ended() {
			s.Ended = append(s.Ended, Ended{row.ID, row.Status, row.StartedAt, row.DurationMS})
		}
		if row.Status == runs.RunSucceeded {
			took = append(took, row.DurationMS)
		}
		if row.Error != nil {
			s.fail(row)
		}
	}
	slices.Reverse(s.Ended)
	slices.SortStableFunc(s.Failures, func(a, b Failure) int { return cmp.Compare(b.Count, a.Count) })
	s.P50MS, s.P95MS = percentile(took, 50), percentile(took, 95)
	return s
}

// fail counts why a run failed: the items of a loop are one step.
func (s *Stats) fail(row *runs.Run) {
	step := ""
	if row.Error.Step != "" {
		step = runs.ParsePath(row.Error.Step).Written()
	}
	at := slices.IndexFunc(s.Failures, func(f Failure) bool { return f.Step == step && f.Kind == row.Error.Kind })
	if at < 0 {
		at = len(s.Failures)
		s.Failures = append(s.Failures, Failure{Step: step, Kind: row.Error.Kind, Last: row.ID})
	}
	s.Failures[at].Count++
}

// percentile is the least value that so many of a hundred do not exceed (nearest rank).
func percentile(values []int64, of int) *int64 {
	if len(values) == 0 {
		return nil
	}
	sorted := slices.Sorted(slices.Values(values))
	return &sorted[(len(sorted)*of+99)/100-1]
}
