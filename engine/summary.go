package engine

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/upkeep"
)

// RunCounts are how many runs have each status; statuses that no run has are absent.
type RunCounts = store.Counts

// RunsSummary counts the stored runs, all of them, and names those that need
// somebody: they failed or ran out of time, are paused, or ask a person. A failure
// needs nobody any more when somebody has acknowledged it or a run of its workflow
// that was accepted after it has succeeded.
type RunsSummary struct {
	Runs      RunCounts           `json:"runs"`      // by status
	Attention int                 `json:"attention"` // how many need somebody
	Needy     []runs.Run          `json:"needs_attention"`
	Hours     []HourSummary       `json:"hours"`
	Workflows []WorkflowSummary   `json:"workflows"`
	Cut       []upkeep.HistoryCut `json:"history_cut"` // workflows whose history is shorter than retention.keep says
}

// HourSummary are the runs that were accepted in an hour.
type HourSummary = store.HourCounts

// WorkflowSummary are the runs of a workflow.
type WorkflowSummary = store.WorkflowHead

// SummaryRequest says what a summary is of. Zero fields: all workflows, no hours,
// no runs by name.
type SummaryRequest struct {
	Workflow string
	Hours    int // how many, with the current one
	Limit    int // of the runs that are named
}

// Summary counts runs by what is kept of them in their own transactions: its cost
// depends on the number of workflows and of those runs that need somebody, not on
// that of the runs.
func (e *Engine) Summary(_ context.Context, r SummaryRequest) (*RunsSummary, error) {
	summary := &RunsSummary{Needy: []runs.Run{}, Hours: []HourSummary{}, Cut: []upkeep.HistoryCut{}}
	var err error
	if summary.Runs, err = e.store.Counts(r.Workflow); err != nil {
		return nil, e.Fault(err)
	}
	if summary.Attention, err = e.store.AttentionCount(r.Workflow); err != nil {
		return nil, e.Fault(err)
	}
	if r.Limit > 0 {
		needy, _, err := e.store.Runs(runs.Filter{Attention: true, Workflow: r.Workflow, Limit: r.Limit})
		if err != nil {
			return nil, e.Fault(err)
		}
		summary.Needy = append(summary.Needy, needy...)
		for i := range summary.Needy {
			e.noteUndriven(&summary.Needy[i])
		}
	}
	if r.Hours > 0 {
		since := e.config.Now().UTC().Truncate(time.Hour).Add(-time.Duration(r.Hours-1) * time.Hour)
		hours, err := e.store.HourCounts(r.Workflow, since)
		if err != nil {
			return nil, e.Fault(err)
		}
		summary.Hours = append(summary.Hours, hours...)
	}
	if summary.Workflows, err = e.summaries(r.Workflow); err != nil {
		return nil, e.Fault(err)
	}
	cuts, err := e.HistoryCuts()
	for _, cut := range cuts {
		if r.Workflow == "" || cut.Workflow == r.Workflow {
			summary.Cut = append(summary.Cut, cut)
		}
	}
	return summary, err
}

// summaries are those of each workflow, or of one: what needs somebody first, then
// by the newest run.
func (e *Engine) summaries(workflow string) ([]WorkflowSummary, error) {
	heads, err := e.store.WorkflowHeads(workflow)
	order.Sort(heads, func(a, b WorkflowSummary) int {
		return cmp.Or(cmp.Compare(min(b.Attention, 1), min(a.Attention, 1)), cmp.Compare(b.Newest, a.Newest))
	})
	return append([]WorkflowSummary{}, heads...), err
}

// AcknowledgeRequest names failed runs that somebody has looked at: by their ids, or
// all of a workflow ("" = of all) up to a run's id. UpTo keeps those out that failed
// since the list was read.
type AcknowledgeRequest struct {
	Runs     []string
	Workflow string
	UpTo     string
	By       string
}

// acknowledgePage is how many runs are read at a time.
const acknowledgePage = 500

// Acknowledge notes that failed runs need nobody any more, and returns how many did
// until now. Runs that are paused or ask a person stay: they wait for an act.
func (e *Engine) Acknowledge(ctx context.Context, r AcknowledgeRequest) (int, error) {
	now := e.config.Now().UTC()
	if len(r.Runs) > 0 {
		for _, id := range r.Runs {
			if _, err := e.store.Run(id); err != nil {
				return 0, e.RunFault(id, err)
			}
		}
		looked, err := e.store.Look(r.Runs, r.By, now)
		return len(looked), e.Fault(err)
	}
	if r.UpTo == "" {
		return 0, &fault.ConflictError{Message: "nothing was named", Hint: diag.Say("name runs, or up to which run all shall be acknowledged")}
	}
	total := 0
	for cursor := ""; ; {
		rows, next, err := e.store.Runs(runs.Filter{Attention: true, Workflow: r.Workflow, Limit: acknowledgePage, Cursor: cursor})
		if err != nil {
			return total, e.Fault(err)
		}
		var ids []string
		for _, row := range rows {
			if row.ID <= r.UpTo {
				ids = append(ids, row.ID)
			}
		}
		looked, err := e.store.Look(ids, r.By, now)
		total += len(looked)
		if err != nil || next == "" {
			return total, e.Fault(err)
		}
		if err := ctx.Err(); err != nil {
			return total, fmt.Errorf("acknowledge runs: %w", err)
		}
		cursor = next
	}
}

// Acknowledgement says who has looked at a run's failure, and whether it still
// needs somebody.
type Acknowledgement struct {
	Needed bool
	At     time.Time // zero = nobody has
	By     string
}

func (e *Engine) acknowledged(id string) (Acknowledgement, error) {
	look, needed, err := e.store.Looked(id)
	if err != nil {
		return Acknowledgement{}, e.RunFault(id, err)
	}
	acknowledgement := Acknowledgement{Needed: needed}
	if look != nil {
		acknowledgement.At, acknowledgement.By = look.At, look.By
	}
	return acknowledgement, nil
}

// NoRuns is the summary of a store that does not exist yet.
func NoRuns() *RunsSummary {
	return &RunsSummary{Runs: RunCounts{}, Needy: []runs.Run{}, Hours: []HourSummary{}, Workflows: []WorkflowSummary{}, Cut: []upkeep.HistoryCut{}}
}
