package store

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
)

// Retention says which runs that have ended are removed. A zero field removes
// nothing. A sub-workflow's run counts with its parent's, and goes with it: the
// parent reads it.
type Retention struct {
	Keep     time.Duration // those that ended longer ago go
	MaxRuns  int           // of each workflow: the oldest go, those that did not fail before those that did
	MaxTotal int           // of all: the workflows with the most runs give theirs
	Floor    int           // so many of the newest of each workflow always stay
}

// Cause is why a run was removed.
type Cause string

// The causes. A run that goes with its parent has the parent's.
const (
	CauseAge      Cause = "keep"
	CauseMaxRuns  Cause = "max_runs"
	CauseMaxTotal Cause = "max_total"
)

// Removal is a run that was removed.
type Removal struct {
	ID       string
	Workflow string
	Accepted time.Time
	Cause    Cause
	Child    bool // it went with its parent
}

// RemovalOrder is which runs give way first where there are too many: what failed
// stays longest.
func RemovalOrder() [][]runs.Status {
	return [][]runs.Status{{runs.RunSucceeded, runs.RunCanceled}, {runs.RunFailed, runs.RunTimedOut}}
}

// Quota is how many runs of a workflow stay.
type Quota struct {
	Workflow string
	Runs     int // that there are
	Limit    int
	Cause    Cause
}

// Quotas returns the workflows that have too many runs, the one with the most to
// give first. counts are without the runs of sub-workflows.
func (r Retention) Quotas(counts []WorkflowCounts) (over []Quota) {
	all := make([]Quota, 0, len(counts))
	total := 0
	for _, one := range counts {
		q := Quota{Workflow: one.Workflow, Runs: one.Runs.Total(), Cause: CauseMaxRuns}
		q.Limit = q.Runs
		if r.MaxRuns > 0 {
			q.Limit = min(q.Runs, max(r.MaxRuns, r.Floor))
		}
		total += q.Limit
		all = append(all, q)
	}
	if r.MaxTotal > 0 && total > r.MaxTotal {
		level := r.level(all)
		for i := range all {
			if bound := max(level, r.Floor); all[i].Limit > bound {
				all[i].Limit, all[i].Cause = bound, CauseMaxTotal
			}
		}
	}
	for _, q := range all {
		if q.Runs > q.Limit {
			over = append(over, q)
		}
	}
	order.Sort(over, func(a, b Quota) int { return cmp.Compare(b.Runs-b.Limit, a.Runs-a.Limit) })
	return over
}

// level is how many runs each workflow may have for all of them to be at most
// MaxTotal: the largest give until they are as small as the next ones.
func (r Retention) level(all []Quota) int {
	sizes := make([]int, len(all))
	for i, q := range all {
		sizes[i] = q.Limit
	}
	slices.Sort(sizes)
	left := r.MaxTotal
	for i, size := range sizes {
		others := len(sizes) - i
		if size*others >= left {
			return left / others
		}
		left -= size
	}
	return left
}
