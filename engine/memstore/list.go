package memstore

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Runs is that of store.Runs.
func (s *Store) Runs(filter runs.Filter) (runs []runs.Run, next string, err error) {
	if filter.Cursor != "" {
		if _, err := store.ParseID(filter.Cursor); err != nil {
			return nil, "", fmt.Errorf("list runs: cursor %q is not valid", filter.Cursor)
		}
	}
	limit := filter.Limit
	if limit <= 0 {
		limit = store.DefaultLimit
	}
	var ids []string
	if err := s.view(func(d *data) error {
		for _, row := range d.selected(filter) {
			ids = append(ids, row.ID)
		}
		return nil
	}); err != nil {
		return nil, "", err
	}
	last := filter.Cursor
	for _, id := range ids {
		row, err := s.Run(id)
		if errors.Is(err, store.ErrRunNotFound) {
			continue // it was removed meanwhile
		}
		if err != nil {
			return nil, "", err
		}
		matches, err := filter.Matches(row)
		switch {
		case errors.Is(err, store.ErrEnough):
			return runs, last, nil
		case err != nil:
			return nil, "", err
		case matches && len(runs) == limit:
			return runs, last, nil
		case matches:
			runs = append(runs, *row)
		}
		last = id
	}
	return runs, "", nil
}

// selected returns the rows of a filter below its cursor, newest first.
func (d *data) selected(filter runs.Filter) (rows []*runs.Run) {
	for id, r := range d.runs {
		if filter.Cursor != "" && id >= filter.Cursor || filter.Attention && !d.needy[id] || !filter.Selects(&r.row) {
			continue
		}
		if filter.Since.IsZero() || store.AcceptedAt(id).UnixMilli() >= filter.Since.UnixMilli() {
			rows = append(rows, &r.row)
		}
	}
	slices.SortFunc(rows, func(a, b *runs.Run) int { return cmp.Compare(b.ID, a.ID) })
	return rows
}

// OpenRuns is that of store.Runs.
func (s *Store) OpenRuns() (runs []runs.Run, err error) {
	err = s.view(func(d *data) error {
		for _, id := range slices.Sorted(maps.Keys(d.runs)) {
			if row := &d.runs[id].row; store.IsOpen(row) {
				runs = append(runs, clone(*row))
			}
		}
		return nil
	})
	return runs, err
}

// Requested is that of store.Runs.
func (s *Store) Requested(requestID string) (runID string, err error) {
	err = s.view(func(d *data) error {
		runID = d.requests[requestID]
		return nil
	})
	return runID, err
}

// Look is that of store.Runs.
func (s *Store) Look(ids []string, by string, at time.Time) (looked []string, err error) {
	err = s.update(func(t *tx) error {
		for _, id := range ids {
			if !t.needy[id] || !store.MayLookAt(&t.runs[id].row) {
				continue
			}
			delete(t.needy, id)
			t.looks[id] = store.Look{At: at, By: by}
			looked, t.wrote = append(looked, id), true
		}
		return nil
	})
	return looked, err
}

// Looked is that of store.Runs.
func (s *Store) Looked(id string) (look *store.Look, needed bool, err error) {
	err = s.view(func(d *data) error {
		if _, err := store.ParseID(id); err != nil {
			return err
		}
		one, ok := d.looks[id]
		look, needed = pointer(one, ok), d.needy[id]
		return nil
	})
	return look, needed, err
}
