package engine

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/runs"
)

func TestAListWithAQueryHasTheRunsThatItSelects(t *testing.T) {
	e := stateProject(t, time.Now, nil)
	var ids []string
	for range 5 {
		ids = append(ids, runHello(t, e))
	}
	slices.Reverse(ids)
	for name, test := range map[string]struct {
		filter runs.Filter
		want   []string
	}{
		"all of them":          {runs.Filter{Query: `closed && !undriven && now() - started_at < duration("1h")`, Limit: 2}, ids},
		"one of them":          {runs.Filter{Query: `id == "` + ids[3] + `"`}, ids[3:4]},
		"beside other filters": {runs.Filter{Query: `true`, Workflow: "another"}, nil},
		"none":                 {runs.Filter{Query: `status == "failed"`, Limit: 1}, nil},
	} {
		var got []string
		for page := 0; page == 0 || test.filter.Cursor != ""; page++ {
			runs, next, err := e.List(t.Context(), test.filter)
			if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			for _, run := range runs {
				got = append(got, run.ID)
			}
			test.filter.Cursor = next
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
	var wrong *runquery.QueryError
	if runs, next, err := e.List(t.Context(), runs.Filter{Query: `statuss == ""`}); !errors.As(err, &wrong) || runs != nil || next != "" || wrong.Run != "" {
		t.Errorf("a wrong query: %v %q %v", runs, next, err)
	}
	if _, _, err := e.List(t.Context(), runs.Filter{Query: `int(workflow) > 1`}); !errors.As(err, &wrong) || wrong.Run != ids[0] {
		t.Errorf("a query that fails at the newest run: %v", err)
	}
}
