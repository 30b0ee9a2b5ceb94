package runs

import (
	"strings"
	"time"
)

// Filter selects runs, the newest first. A zero field selects all.
type Filter struct {
	Workflow string            `json:"workflow,omitempty"`
	Status   Status            `json:"status,omitempty"`
	Labels   map[string]string `json:"labels,omitempty"` // all of them
	// Attention selects the runs that need somebody: those of RunsSummary.
	Attention bool      `json:"attention,omitempty"`
	Since     time.Time `json:"since,omitzero"` // compared with the time in the run's id, its acceptance
	// IDPrefix and IDSuffix are how the run's id begins and how it ends. Of a beginning a
	// store reads the runs that have it. An ending is looked for among all ids: a page may
	// then be shorter than the limit, and even empty, before the end.
	IDPrefix string `json:"id_prefix,omitempty"`
	IDSuffix string `json:"id_suffix,omitempty"`
	// Query is an expression that must be true of a run's row (docs/commands.md, "Find
	// runs"). An engine makes Match of it; a store does not read it.
	Query  string `json:"query,omitempty"`
	Limit  int    `json:"limit,omitempty"`  // 0 = 50
	Cursor string `json:"cursor,omitempty"` // of the page before
	// Match has the last word on a row that the rest of the filter selects; it may
	// change the row. It is called outside of transactions, in the order of the list.
	// With store.ErrEnough, but not for the first row, the page ends before this row and
	// the next one begins with it. Any other error is that of the list. Nil selects all.
	Match func(row *Run) (bool, error) `json:"-"`
}

// Selects reports whether a row is one of those that workflow, status, labels and the
// letters of the id that the filter has ask for.
func (f Filter) Selects(row *Run) bool {
	if !strings.HasPrefix(row.ID, f.IDPrefix) || !strings.HasSuffix(row.ID, f.IDSuffix) {
		return false
	}
	if f.Workflow != "" && row.Workflow != f.Workflow || f.Status != "" && row.Status != f.Status {
		return false
	}
	for name, value := range f.Labels {
		if got, ok := row.Labels[name]; !ok || got != value {
			return false
		}
	}
	return true
}

// Matches asks Match, where there is one.
func (f Filter) Matches(row *Run) (bool, error) {
	if f.Match == nil {
		return true, nil
	}
	return f.Match(row)
}

// FireFilter selects fires, the newest slot first. A zero field selects all.
type FireFilter struct {
	Workflow string    `json:"workflow,omitempty"`
	Trigger  string    `json:"trigger,omitempty"` // of Workflow; an engine takes WORKFLOW/TRIGGER too
	Since    time.Time `json:"since,omitzero"`    // by slot; inclusive
	Until    time.Time `json:"until,omitzero"`    // by slot; exclusive
	Limit    int       `json:"limit,omitempty"`   // 0 = 50
	Cursor   string    `json:"cursor,omitempty"`  // of the page before
}
