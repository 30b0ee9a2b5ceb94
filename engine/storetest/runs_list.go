package storetest

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// listed follows the cursors and returns the ids of all pages.
func listed(t *testing.T, s store.Store, filter runs.Filter) (ids []string) {
	t.Helper()
	for {
		runs, next, err := s.Runs(filter)
		if err != nil {
			t.Fatal(err)
		}
		for _, run := range runs {
			ids = append(ids, run.ID)
		}
		if next == "" {
			return ids
		}
		filter.Cursor = next
	}
}

func runsAreListedNewestFirst(t *testing.T, b Backend) {
	s := b.fresh(t)
	const count = 1300
	var want, weekly, failed, team, weeklyFailed []string
	for n := range count {
		run := Row(n)
		if n%3 == 0 {
			run.Workflow = "week" // a prefix of the other name
		}
		if n%100 == 0 {
			run.Labels = map[string]string{"team": "web"}
			team = append([]string{run.ID}, team...)
		}
		if n%7 == 0 {
			run.Status = runs.RunFailed
			failed = append([]string{run.ID}, failed...)
		}
		if run.Workflow == "weekly" {
			weekly = append([]string{run.ID}, weekly...)
			if run.Status == runs.RunFailed {
				weeklyFailed = append([]string{run.ID}, weeklyFailed...)
			}
		}
		want = append([]string{run.ID}, want...)
		Create(t, s, run, n)
	}
	since := Begin().Add((count - 10) * time.Second)
	for name, test := range map[string]struct {
		filter runs.Filter
		want   []string
	}{
		"all":                 {runs.Filter{}, want},
		"small pages":         {runs.Filter{Limit: 7}, want},
		"a workflow":          {runs.Filter{Workflow: "weekly"}, weekly},
		"no such workflow":    {runs.Filter{Workflow: "weekly2"}, nil},
		"a status":            {runs.Filter{Status: runs.RunFailed, Limit: 10}, failed},
		"workflow and status": {runs.Filter{Workflow: "weekly", Status: runs.RunFailed, Limit: 3}, weeklyFailed},
		"a rare label":        {runs.Filter{Labels: map[string]string{"team": "web"}, Limit: 5}, team},
		"an unknown label":    {runs.Filter{Labels: map[string]string{"team": "x"}}, nil},
		"since":               {runs.Filter{Since: since, Limit: 3}, want[:10]},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := Diff(test.want, listed(t, s, test.filter)); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := s.Runs(runs.Filter{Cursor: "../x"}); err == nil {
		t.Error("a cursor that is no run id was taken")
	}
}

func aMatchHasTheLastWordOnARow(t *testing.T, b Backend) {
	s := b.fresh(t)
	const count = 1300
	var even, evenFailed []string
	for n := range count {
		run := Row(n)
		if n%3 == 0 {
			run.Status = runs.RunFailed
		}
		if n%2 == 0 {
			even = append([]string{run.ID}, even...)
			if n%3 == 0 {
				evenFailed = append([]string{run.ID}, evenFailed...)
			}
		}
		run.Attempt = n
		Create(t, s, run, n)
	}
	for name, test := range map[string]struct {
		filter runs.Filter
		enough int // rows that a page looks at; 0 = all
		want   []string
	}{
		"pages of fifty":                {runs.Filter{Limit: 50}, 0, even},
		"pages of one":                  {runs.Filter{Limit: 1}, 0, even},
		"pages as long as the list":     {runs.Filter{Limit: len(even)}, 0, even},
		"pages that end after one row":  {runs.Filter{Limit: 10}, 1, even},
		"pages that end after some":     {runs.Filter{Limit: 10}, 7, even},
		"pages that end late":           {runs.Filter{Limit: 1000}, 700, even},
		"an index is used first":        {runs.Filter{Limit: 10, Status: runs.RunFailed}, 0, evenFailed},
		"an index, and short pages too": {runs.Filter{Limit: 10, Status: runs.RunFailed}, 3, evenFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			looked := map[string]int{}
			for filter, page := test.filter, 0; page == 0 || filter.Cursor != ""; page++ {
				rows := 0
				filter.Match = func(row *runs.Run) (bool, error) {
					if rows++; test.enough > 0 && rows > test.enough {
						return false, fmt.Errorf("row %d: %w", rows, store.ErrEnough)
					}
					looked[row.ID]++
					row.Undriven = true
					return row.Attempt%2 == 0, nil
				}
				runs, next, err := s.Runs(filter)
				if err != nil {
					t.Fatal(err)
				}
				if test.enough == 0 && next != "" && len(runs) != filter.Limit {
					t.Fatalf("a page of %d before the end", len(runs))
				}
				for _, run := range runs {
					if got = append(got, run.ID); !run.Undriven {
						t.Fatal("what Match changed is lost")
					}
				}
				filter.Cursor = next
			}
			if diff := Diff(test.want, got); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
			for id, times := range looked {
				if times > 2 { // the first of a page may be the one that the page before ended at
					t.Fatalf("%s was looked at %d times", id, times)
				}
			}
		})
	}
	broken := errors.New("broken")
	if _, _, err := s.Runs(runs.Filter{Match: func(*runs.Run) (bool, error) { return false, broken }}); !errors.Is(err, broken) {
		t.Errorf("a match that fails: %v", err)
	}
}

func labelsAreIndexed(t *testing.T, b Backend) {
	s := b.fresh(t)
	a := accept(t, s, runRow("w", nil, map[string]string{"team": "web", "area": "x"}))
	accept(t, s, runRow("w", nil, map[string]string{"team": "webb"}))
	accept(t, s, runRow("v", nil, map[string]string{"tea": "mweb"}))
	both := accept(t, s, runRow("v", nil, map[string]string{"team": "web"}))
	for _, c := range []struct {
		filter runs.Filter
		want   []string
	}{
		{runs.Filter{Labels: map[string]string{"team": "web"}}, []string{both.ID, a.ID}},
		{runs.Filter{Labels: map[string]string{"team": "web"}, Limit: 1}, []string{both.ID}},
		{runs.Filter{Labels: map[string]string{"team": "web", "area": "x"}}, []string{a.ID}},
		{runs.Filter{Labels: map[string]string{"team": "web"}, Workflow: "v"}, []string{both.ID}},
		{runs.Filter{Labels: map[string]string{"team": "web"}, Status: runs.RunFailed}, nil},
		{runs.Filter{Labels: map[string]string{"team": "we"}}, nil},
	} {
		rows, _, err := s.Runs(c.filter)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, row := range rows {
			got = append(got, row.ID)
		}
		if strings.Join(got, " ") != strings.Join(c.want, " ") {
			t.Errorf("%+v gave %v, want %v", c.filter, got, c.want)
		}
	}
}

// aListByWorkflowAndStatusReadsItsOwn: what is selected is read, not
// what lies around it.
func aListByWorkflowAndStatusReadsItsOwn(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := range 60 {
		run := Row(n)
		if n%20 == 7 {
			run.Status = runs.RunFailed
		}
		Create(t, s, run, n)
	}
	read := 0
	runs, next, err := s.Runs(runs.Filter{Workflow: "weekly", Status: runs.RunFailed, Match: func(*runs.Run) (bool, error) {
		read++
		return true, nil
	}})
	if err != nil || next != "" || len(runs) != 3 || read != 3 {
		t.Errorf("%d runs, next %q, %d read, %v", len(runs), next, read, err)
	}
}
