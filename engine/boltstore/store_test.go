package boltstore_test

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

var (
	_ secret.KV = (store.KV)(nil)
)

func TestARunSurvivesReopening(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
	if err != nil {
		t.Fatal(err)
	}
	want := []*journal.Record{started(1), completed(2, `{"a":9007199254740993}`), completed(3, `null`)}
	create(t, s, row(1), 1)
	ended := row(1)
	ended.Status = plan.RunSucceeded
	ended.Closed = true
	if err := appendWait(s, id(1), want[1:], ended); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = openStore(t, path)
	got, err := s.Records(id(1), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	run, err := s.Run(id(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ended, run); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	data, err := s.Plan(planHash)
	if err != nil || string(data) != string(planBytes) {
		t.Errorf("plan = %q, %v", data, err)
	}
}

func TestRecordsArePaged(t *testing.T) {
	s := newStore(t)
	create(t, s, row(1), 1)
	var all []*journal.Record
	for seq := uint64(2); seq <= 2500; seq++ {
		all = append(all, completed(seq, `{"n":1}`))
	}
	if err := appendWait(s, id(1), all, nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		from        uint64
		limit       int
		first, last uint64
	}{
		"all":                 {0, 0, 1, 2500},
		"from the middle":     {1500, 0, 1500, 2500},
		"a page":              {10, 20, 10, 29},
		"over a view's bound": {400, 1700, 400, 2099},
		"behind the end":      {2501, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Records(id(1), test.from, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			if test.first == 0 {
				if len(got) != 0 {
					t.Errorf("%d records, want none", len(got))
				}
				return
			}
			if len(got) == 0 || got[0].Seq != test.first || got[len(got)-1].Seq != test.last || len(got) != int(test.last-test.first+1) {
				t.Errorf("%d records, want %d to %d", len(got), test.first, test.last)
			}
		})
	}
}

func TestAJournalHasNoHoles(t *testing.T) {
	s := newStore(t)
	create(t, s, row(1), 1)
	for name, records := range map[string][]*journal.Record{
		"a hole":         {completed(3, `1`)},
		"a second one":   {started(1)},
		"holes inside":   {completed(2, `1`), completed(4, `1`)},
		"a wrong output": {completed(2, `{"a"`)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := appendWait(s, id(1), records, nil); err == nil {
				t.Error("no error")
			}
		})
	}
	if err := appendWait(s, id(1), []*journal.Record{completed(2, `1`)}, nil); err != nil {
		t.Errorf("the store goes on after refused writes: %v", err)
	}
	if err := appendWait(s, id(2), []*journal.Record{started(2)}, nil); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("append to no run: %v", err)
	}
	if err := appendWait(s, id(1), nil, row(2)); err == nil {
		t.Error("a row of another run was taken")
	}
}

func TestARepeatedRequestMakesOneRun(t *testing.T) {
	s := newStore(t)
	existing, err := s.CreateRun(t.Context(), row(1), planBytes, "request", started(1))
	if err != nil || existing != "" {
		t.Fatal(existing, err)
	}
	existing, err = s.CreateRun(t.Context(), row(2), planBytes, "request", started(2))
	if err != nil || existing != id(1) {
		t.Errorf("existing = %q, %v", existing, err)
	}
	if _, err := s.Run(id(2)); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("second run: %v", err)
	}
	if _, err := s.CreateRun(t.Context(), row(1), planBytes, "", started(1)); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("same id: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.CreateRun(canceled, row(3), planBytes, "", started(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wrong := row(4)
	wrong.PlanHash = hashOf(nil)
	if _, err := s.CreateRun(t.Context(), wrong, planBytes, "", started(4)); err == nil {
		t.Error("a plan under a foreign hash was taken")
	}
}

func TestHostileNamesAreNotFound(t *testing.T) {
	s := newStore(t)
	create(t, s, row(1), 1)
	for _, name := range []string{"", "..", "../../etc/passwd", "\x00", "01ARZ3NDEKTSV4RRFFQ69G5FAV", id(1) + "x", id(1)[:25], "8zzzzzzzzzzzzzzzzzzzzzzzzz", id(1)[:25] + "é"} {
		if _, err := s.Run(name); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("run %q: %v", name, err)
		}
		if _, err := s.Records(name, 0, 0); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("records of %q: %v", name, err)
		}
		if _, _, err := s.Logs(name, "", 0, 0); !errors.Is(err, store.ErrRunNotFound) {
			t.Errorf("logs of %q: %v", name, err)
		}
		if _, err := s.Plan(name); !errors.Is(err, store.ErrPlanNotFound) {
			t.Errorf("plan %q: %v", name, err)
		}
	}
}

// listed follows the cursors and returns the ids of all pages.
func listed(t *testing.T, s *boltstore.Store, filter store.Filter) (ids []string) {
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

func TestRunsAreListedNewestFirst(t *testing.T) {
	s := newStore(t)
	const count = 1300
	var want, weekly, failed, team, weeklyFailed []string
	for n := range count {
		run := row(n)
		if n%3 == 0 {
			run.Workflow = "week" // a prefix of the other name
		}
		if n%100 == 0 {
			run.Labels = map[string]string{"team": "web"}
			team = append([]string{run.ID}, team...)
		}
		if n%7 == 0 {
			run.Status = plan.RunFailed
			failed = append([]string{run.ID}, failed...)
		}
		if run.Workflow == "weekly" {
			weekly = append([]string{run.ID}, weekly...)
			if run.Status == plan.RunFailed {
				weeklyFailed = append([]string{run.ID}, weeklyFailed...)
			}
		}
		want = append([]string{run.ID}, want...)
		create(t, s, run, n)
	}
	since := startOfTime.Add((count - 10) * time.Second)
	for name, test := range map[string]struct {
		filter store.Filter
		want   []string
	}{
		"all":                 {store.Filter{}, want},
		"small pages":         {store.Filter{Limit: 7}, want},
		"a workflow":          {store.Filter{Workflow: "weekly"}, weekly},
		"no such workflow":    {store.Filter{Workflow: "weekly2"}, nil},
		"a status":            {store.Filter{Status: plan.RunFailed, Limit: 10}, failed},
		"workflow and status": {store.Filter{Workflow: "weekly", Status: plan.RunFailed, Limit: 3}, weeklyFailed},
		"a rare label":        {store.Filter{Labels: map[string]string{"team": "web"}, Limit: 5}, team},
		"an unknown label":    {store.Filter{Labels: map[string]string{"team": "x"}}, nil},
		"since":               {store.Filter{Since: since, Limit: 3}, want[:10]},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, listed(t, s, test.filter)); diff != "" {
				t.Errorf("ids (-want +got):\n%s", diff)
			}
		})
	}
	if _, _, err := s.Runs(store.Filter{Cursor: "../x"}); err == nil {
		t.Error("a cursor that is no run id was taken")
	}
}

func TestAMatchHasTheLastWordOnARow(t *testing.T) {
	s := newStore(t)
	const count = 1300
	var even, evenFailed []string
	for n := range count {
		run := row(n)
		if n%3 == 0 {
			run.Status = plan.RunFailed
		}
		if n%2 == 0 {
			even = append([]string{run.ID}, even...)
			if n%3 == 0 {
				evenFailed = append([]string{run.ID}, evenFailed...)
			}
		}
		run.Attempt = n
		create(t, s, run, n)
	}
	for name, test := range map[string]struct {
		filter store.Filter
		enough int // rows that a page looks at; 0 = all
		want   []string
	}{
		"pages of fifty":                {store.Filter{Limit: 50}, 0, even},
		"pages of one":                  {store.Filter{Limit: 1}, 0, even},
		"pages as long as the list":     {store.Filter{Limit: len(even)}, 0, even},
		"pages that end after one row":  {store.Filter{Limit: 10}, 1, even},
		"pages that end after some":     {store.Filter{Limit: 10}, 7, even},
		"pages that end late":           {store.Filter{Limit: 1000}, 700, even},
		"an index is used first":        {store.Filter{Limit: 10, Status: plan.RunFailed}, 0, evenFailed},
		"an index, and short pages too": {store.Filter{Limit: 10, Status: plan.RunFailed}, 3, evenFailed},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			looked := map[string]int{}
			for filter, page := test.filter, 0; page == 0 || filter.Cursor != ""; page++ {
				rows := 0
				filter.Match = func(row *plan.Run) (bool, error) {
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
			if diff := cmp.Diff(test.want, got); diff != "" {
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
	if _, _, err := s.Runs(store.Filter{Match: func(*plan.Run) (bool, error) { return false, broken }}); !errors.Is(err, broken) {
		t.Errorf("a match that fails: %v", err)
	}
}

func TestIndexesFollowTheRow(t *testing.T) {
	s := newStore(t)
	for n := range 5 {
		create(t, s, row(n), n)
	}
	change := func(n int, edit func(*plan.Run)) {
		t.Helper()
		run, err := s.Run(id(n))
		if err != nil {
			t.Fatal(err)
		}
		edit(run)
		if err := appendWait(s, run.ID, nil, run); err != nil {
			t.Fatal(err)
		}
	}
	change(0, func(r *plan.Run) { r.Status, r.Closed = plan.RunSucceeded, true })
	change(1, func(r *plan.Run) { r.Status, r.Paused = plan.RunPaused, plan.PausedError })
	change(2, func(r *plan.Run) { r.Status = plan.RunFailed }) // its handlers run on
	change(3, func(r *plan.Run) { r.Status, r.Paused = plan.RunPaused, plan.PausedError })
	change(3, func(r *plan.Run) { r.Status, r.Paused = plan.RunRunning, "" })

	open, err := s.OpenRuns()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, run := range open {
		ids = append(ids, run.ID)
	}
	if diff := cmp.Diff([]string{id(2), id(3), id(4)}, ids); diff != "" {
		t.Errorf("open runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{id(1)}, listed(t, s, store.Filter{Status: plan.RunPaused})); diff != "" {
		t.Errorf("paused runs (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{id(4), id(3)}, listed(t, s, store.Filter{Status: plan.RunRunning})); diff != "" {
		t.Errorf("running runs (-want +got):\n%s", diff)
	}
}
