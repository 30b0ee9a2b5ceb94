package boltstore_test

import (
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

// model is what the counts and the index of attention must say of runs.
type model struct {
	runs      map[string]*plan.Run
	attention map[string]bool
}

func (m *model) put(old, run *plan.Run) {
	again := old != nil && old.Attempt != run.Attempt
	m.runs[run.ID] = run
	if old != nil && old.Status == run.Status && !again {
		return
	}
	delete(m.attention, run.ID)
	switch run.Status {
	case plan.RunSucceeded:
		for id := range m.attention {
			if other := m.runs[id]; other.Workflow == run.Workflow && id < run.ID && other.Status != plan.RunPaused {
				delete(m.attention, id)
			}
		}
	case plan.RunPaused:
		m.attention[run.ID] = true
	case plan.RunFailed, plan.RunTimedOut:
		if run.Parent == nil {
			m.attention[run.ID] = true
		}
	}
}

func (m *model) compare(t *testing.T, s *boltstore.Store) {
	t.Helper()
	all, hours, byName := store.Counts{}, map[time.Time]store.Counts{}, map[string]store.Counts{}
	for _, run := range m.runs {
		hour := run.StartedAt.Truncate(time.Hour)
		if hours[hour] == nil {
			hours[hour] = store.Counts{}
		}
		if byName[run.Workflow] == nil {
			byName[run.Workflow] = store.Counts{}
		}
		all[run.Status]++
		hours[hour][run.Status]++
		byName[run.Workflow][run.Status]++
	}
	got := new(content)
	readCounts(t, s, got)
	if diff := cmp.Diff(all, got.All); diff != "" {
		t.Fatalf("all (-want +got):\n%s", diff)
	}
	found := map[time.Time]store.Counts{}
	for _, hour := range got.Hours {
		found[hour.Hour] = hour.Runs
	}
	if diff := cmp.Diff(hours, found); diff != "" {
		t.Fatalf("hours (-want +got):\n%s", diff)
	}
	names := map[string]store.Counts{}
	for _, one := range got.Heads {
		names[one.Workflow] = one.Runs
	}
	if diff := cmp.Diff(byName, names); diff != "" {
		t.Fatalf("workflows (-want +got):\n%s", diff)
	}
	var wanted []string
	for id := range m.attention {
		wanted = append(wanted, id)
	}
	slices.Sort(wanted)
	slices.Reverse(wanted)
	if diff := cmp.Diff(wanted, got.Attention); diff != "" {
		t.Fatalf("attention (-want +got):\n%s", diff)
	}
	if n, err := s.AttentionCount(""); err != nil || n != len(wanted) {
		t.Fatalf("attention count %d, %v, want %d", n, err, len(wanted))
	}
}

// TestIssue12_18CountsFollowTheRuns takes random changes of runs and holds counts
// and attention against a model that knows the runs alone; the check of the file
// counts them once more.
func TestIssue12_18CountsFollowTheRuns(t *testing.T) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { countsFollow(t, rand.New(rand.NewPCG(seed, 18))) })
	}
}

func countsFollow(t *testing.T, random *rand.Rand) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	m := &model{runs: map[string]*plan.Run{}, attention: map[string]bool{}}
	statuses := plan.RunStatuses()
	const steps = 400
	for n := range steps {
		if n%50 == 49 {
			m.compare(t, s)
		}
		if kind := random.IntN(10); kind < 4 || len(m.runs) == 0 {
			run := row(n * 700)
			run.Workflow = []string{"weekly", "daily", "daily2"}[random.IntN(3)]
			if random.IntN(5) == 0 {
				run.Parent = &plan.ParentStep{Run: id(999_999_999), Path: "call"}
			}
			create(t, s, run, n*700)
			m.put(nil, run)
			continue
		}
		ids := make([]string, 0, len(m.runs))
		for id := range m.runs {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		old := m.runs[ids[random.IntN(len(ids))]]
		switch random.IntN(8) {
		case 0:
			if old.Status.Ended() || old.Status == plan.RunPaused {
				if err := s.DeleteRun(old.ID); err != nil {
					t.Fatal(err)
				}
				delete(m.runs, old.ID)
				delete(m.attention, old.ID)
			}
		case 1:
			if _, err := s.Look([]string{old.ID, old.ID, "nonsense"}, "ann", startOfTime); err != nil {
				t.Fatal(err)
			}
			if old.Status != plan.RunPaused {
				delete(m.attention, old.ID)
			}
		default:
			run := *old
			run.Status = statuses[random.IntN(len(statuses))]
			if random.IntN(4) == 0 {
				run.Attempt++
			}
			if err := appendWait(s, run.ID, nil, &run); err != nil {
				t.Fatal(err)
			}
			m.put(old, &run)
		}
	}
	m.compare(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
	again := openStore(t, path)
	m.compare(t, again)
}

// TestP14WrongCountsAreFound: a count that is not that of the runs is damage.
func TestP14WrongCountsAreFound(t *testing.T) {
	for _, bucket := range []string{"run_counts", "attention", "attention_by_workflow", "runs_by_workflow_status"} {
		path := filepath.Join(t.TempDir(), "flowrun.db")
		s, err := boltstore.Open(path, quick())
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		failed := row(1)
		failed.Status = plan.RunFailed
		if err := appendWait(s, failed.ID, nil, failed); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		whole(t, path)
		boltstore.DropFirstForTest(t, path, bucket)
		report, err := boltstore.CheckFile(t.Context(), path, quick())
		if err != nil || len(report.Problems) == 0 {
			t.Errorf("%s: %+v, %v", bucket, report, err)
		}
	}
}

// TestIssue12_18AListByWorkflowAndStatusReadsItsOwn: what is selected is read, not
// what lies around it.
func TestIssue12_18AListByWorkflowAndStatusReadsItsOwn(t *testing.T) {
	s := newStore(t)
	for n := range 60 {
		run := row(n)
		if n%20 == 7 {
			run.Status = plan.RunFailed
		}
		create(t, s, run, n)
	}
	read := 0
	runs, next, err := s.Runs(store.Filter{Workflow: "weekly", Status: plan.RunFailed, Match: func(*plan.Run) (bool, error) {
		read++
		return true, nil
	}})
	if err != nil || next != "" || len(runs) != 3 || read != 3 {
		t.Errorf("%d runs, next %q, %d read, %v", len(runs), next, read, err)
	}
}
