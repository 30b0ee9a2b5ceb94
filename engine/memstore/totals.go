package memstore

import (
	"cmp"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// count counts the runs that a filter selects, by a key.
func count[K comparable](s *Store, filter runs.Filter, key func(row *runs.Run) K) (counts map[K]store.Counts, err error) {
	counts = map[K]store.Counts{}
	err = s.view(func(d *data) error {
		for _, r := range d.runs {
			if !filter.Selects(&r.row) {
				continue
			}
			of := key(&r.row)
			if counts[of] == nil {
				counts[of] = store.Counts{}
			}
			counts[of][r.row.Status]++
		}
		return nil
	})
	return counts, err
}

// Counts is that of store.Totals.
func (s *Store) Counts(workflow string) (store.Counts, error) {
	counts, err := count(s, runs.Filter{Workflow: workflow}, func(*runs.Run) bool { return true })
	if err == nil && counts[true] == nil {
		return store.Counts{}, nil
	}
	return counts[true], err
}

// HourCounts is that of store.Totals.
func (s *Store) HourCounts(workflow string, since time.Time) (hours []store.HourCounts, err error) {
	hour := func(row *runs.Run) time.Time { return store.AcceptedAt(row.ID).UTC().Truncate(time.Hour) }
	counts, err := count(s, runs.Filter{Workflow: workflow}, hour)
	for at, runs := range counts {
		if !at.Before(since.Truncate(time.Hour)) {
			hours = append(hours, store.HourCounts{Hour: at, Runs: runs})
		}
	}
	slices.SortFunc(hours, func(a, b store.HourCounts) int { return a.Hour.Compare(b.Hour) })
	return hours, err
}

// AttentionCount is that of store.Totals.
func (s *Store) AttentionCount(workflow string) (n int, err error) {
	err = s.view(func(d *data) error {
		n = len(d.selected(runs.Filter{Workflow: workflow, Attention: true}))
		return nil
	})
	return n, err
}

// WorkflowHeads is that of store.Totals.
func (s *Store) WorkflowHeads(workflow string) (heads []store.WorkflowHead, err error) {
	counts, err := count(s, runs.Filter{Workflow: workflow}, func(row *runs.Run) string { return row.Workflow })
	if err != nil {
		return nil, err
	}
	err = s.view(func(d *data) error {
		for name, counted := range counts {
			head := store.WorkflowHead{Workflow: name, Runs: counted, Attention: len(d.selected(runs.Filter{Workflow: name, Attention: true}))}
			if rows := d.selected(runs.Filter{Workflow: name}); len(rows) > 0 {
				head.Newest = rows[0].ID
			}
			heads = append(heads, head)
		}
		return nil
	})
	slices.SortFunc(heads, func(a, b store.WorkflowHead) int { return cmp.Compare(a.Workflow, b.Workflow) })
	return heads, err
}

// Census is that of store.Totals.
func (s *Store) Census() (census store.Census, err error) {
	census.Runs, err = s.Counts("")
	if err != nil {
		return census, err
	}
	err = s.view(func(d *data) error {
		if rows := d.selected(runs.Filter{}); len(rows) > 0 {
			census.Oldest = rows[len(rows)-1].ID
		}
		return nil
	})
	return census, err
}
