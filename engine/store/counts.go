package store

import (
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// Totals count runs without reading them.
type Totals interface {
	// Counts returns how many runs of a workflow ("" = of all) have each status.
	Counts(workflow string) (Counts, error)
	// HourCounts returns the counts of a workflow's runs ("" = of all) that were
	// accepted from since on, hour by hour, the oldest first. Hours without runs are
	// absent.
	HourCounts(workflow string, since time.Time) ([]HourCounts, error)
	// AttentionCount returns how many runs of a workflow ("" = of all) need somebody.
	AttentionCount(workflow string) (n int, err error)
	// WorkflowHeads returns the heads of all workflows that have runs, or of one, in
	// no order that means anything.
	WorkflowHeads(workflow string) ([]WorkflowHead, error)
	// Census counts all runs.
	Census() (Census, error)
}

// Counts are how many runs have each status; statuses that no run has are absent.
type Counts map[runs.Status]int

// Total is the number of all runs.
func (c Counts) Total() (total int) {
	for _, n := range c {
		total += n
	}
	return total
}

// WorkflowCounts are the counts of one workflow's runs.
type WorkflowCounts struct {
	Workflow string
	Runs     Counts
}

// HourCounts are the counts of the runs that were accepted in an hour.
type HourCounts struct {
	Hour time.Time `json:"hour"` // its begin, UTC
	Runs Counts    `json:"runs"`
}

// WorkflowHead is a workflow with its counts and its newest run.
type WorkflowHead struct {
	Workflow  string `json:"workflow"`
	Runs      Counts `json:"runs"`
	Attention int    `json:"attention"`
	Newest    string `json:"newest"` // the id of its newest run
}

// Census counts the runs of a store.
type Census struct {
	Runs   map[runs.Status]int
	Oldest string // the id of the oldest run; "" = there is none
	Schema uint64 // of the store's layout; 0 = it has none
}
