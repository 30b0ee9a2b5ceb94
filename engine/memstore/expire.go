package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Expire is that of store.Upkeep.
func (s *Store) Expire(ctx context.Context, r store.Retention, now time.Time) (removed []store.Removal, err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	err = s.update(func(t *tx) error {
		e := &expiry{tx: t, policy: r, now: now}
		if r.Keep > 0 {
			for _, one := range t.topCounts() {
				e.byAge(one.Workflow)
			}
		}
		for _, q := range r.Quotas(t.topCounts()) {
			e.byNumber(q)
		}
		removed = e.removed
		return nil
	})
	return removed, err
}

// expiry is one removal of old runs.
type expiry struct {
	*tx
	policy  store.Retention
	now     time.Time
	removed []store.Removal
}

// topCounts counts the runs of each workflow but for those of sub-workflows.
func (d *data) topCounts() (all []store.WorkflowCounts) {
	counts := map[string]store.Counts{}
	for _, r := range d.runs {
		if counts[r.row.Workflow] == nil {
			counts[r.row.Workflow] = store.Counts{}
		}
		if r.row.Parent == nil {
			counts[r.row.Workflow][r.row.Status]++
		}
	}
	for workflow, runs := range counts {
		all = append(all, store.WorkflowCounts{Workflow: workflow, Runs: runs})
	}
	slices.SortFunc(all, func(a, b store.WorkflowCounts) int { return cmp.Compare(a.Workflow, b.Workflow) })
	return all
}

// oldest returns the runs of a workflow that may go, the oldest first: not the newest
// ones that always stay. Those of sub-workflows go with their parents, unless these are
// gone.
func (e *expiry) oldest(workflow string) (rows []*runs.Run) {
	kept := 0
	for _, row := range e.selected(runs.Filter{Workflow: workflow}) {
		switch {
		case row.Parent != nil:
			if e.runs[row.Parent.Run] == nil {
				rows = append(rows, row)
			}
		case kept < e.policy.Floor:
			kept++
		default:
			rows = append(rows, row)
		}
	}
	slices.Reverse(rows)
	return rows
}

func (e *expiry) byAge(workflow string) {
	young := func(at time.Time) bool { return e.now.Sub(at) <= e.policy.Keep }
	for _, row := range e.oldest(workflow) {
		if young(store.AcceptedAt(row.ID)) || row.FinishedAt != nil && young(*row.FinishedAt) || !row.Closed {
			continue
		}
		e.family(row, store.CauseAge)
	}
}

func (e *expiry) byNumber(q store.Quota) {
	rows := e.oldest(q.Workflow)
	excess := q.Runs - q.Limit
	for _, group := range store.RemovalOrder() {
		for _, row := range rows {
			if excess > 0 && row.Parent == nil && row.Closed && slices.Contains(group, row.Status) {
				e.family(row, q.Cause)
				excess--
			}
		}
	}
}

// family removes a run and the runs of its sub-workflows, which have ended with it.
func (e *expiry) family(row *runs.Run, cause store.Cause) {
	r := e.runs[row.ID]
	if r == nil {
		return
	}
	e.removed = append(e.removed, store.Removal{ID: row.ID, Workflow: row.Workflow, Accepted: store.AcceptedAt(row.ID), Cause: cause, Child: row.Parent != nil})
	e.delete(r)
	for _, child := range e.selected(runs.Filter{}) {
		if child.Parent != nil && child.Parent.Run == row.ID && child.Closed {
			e.family(child, cause)
		}
	}
}

// ExpireFires is that of store.Upkeep.
func (s *Store) ExpireFires(ctx context.Context, keep time.Duration, perTrigger int, now time.Time) (removed int, err error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	keys, err := s.fireKeys(func(*runs.Fire) bool { return true })
	if err != nil {
		return 0, err
	}
	err = s.update(func(t *tx) error {
		kept := map[triggerKey]int{}
		for _, key := range keys { // the newest first
			trigger := triggerKey{key.Workflow, key.Trigger}
			old := keep > 0 && t.fires[key].At.Before(now.Add(-keep))
			if old || perTrigger > 0 && kept[trigger] == perTrigger {
				delete(t.fires, key)
				removed, t.wrote = removed+1, true
				continue
			}
			kept[trigger]++
		}
		return nil
	})
	return removed, err
}
