package storetest

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// model is what the counts and the index of attention must say of runs.
type model struct {
	runs      map[string]*runs.Run
	attention map[string]bool
}

func (m *model) put(old, run *runs.Run) {
	again := old != nil && old.Attempt != run.Attempt
	m.runs[run.ID] = run
	if old != nil && old.Status == run.Status && !again {
		return
	}
	delete(m.attention, run.ID)
	switch run.Status {
	case runs.RunSucceeded:
		for id := range m.attention {
			if other := m.runs[id]; other.Workflow == run.Workflow && id < run.ID && other.Status != runs.RunPaused {
				delete(m.attention, id)
			}
		}
	case runs.RunPaused:
		m.attention[run.ID] = true
	case runs.RunFailed, runs.RunTimedOut:
		if run.Parent == nil {
			m.attention[run.ID] = true
		}
	}
}

func (m *model) compare(t *testing.T, s store.Store) {
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
	total, err := s.Counts("")
	if diff := Diff(all, total); err != nil || diff != "" {
		t.Fatalf("all: %v (-want +got):\n%s", err, diff)
	}
	listed, err := s.HourCounts("", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	heads, err := s.WorkflowHeads("")
	if err != nil {
		t.Fatal(err)
	}
	counts := map[time.Time]store.Counts{}
	for _, hour := range listed {
		counts[hour.Hour] = hour.Runs
	}
	if diff := Diff(hours, counts); diff != "" {
		t.Fatalf("hours (-want +got):\n%s", diff)
	}
	names := map[string]store.Counts{}
	for _, one := range heads {
		names[one.Workflow] = one.Runs
	}
	if diff := Diff(byName, names); diff != "" {
		t.Fatalf("workflows (-want +got):\n%s", diff)
	}
	wanted := slices.Sorted(maps.Keys(m.attention))
	slices.Reverse(wanted)
	rows, _, err := s.Runs(runs.Filter{Attention: true, Limit: 1000})
	if err != nil {
		t.Fatal(err)
	}
	var needy []string
	for _, row := range rows {
		needy = append(needy, row.ID)
	}
	if diff := Diff(wanted, needy); diff != "" {
		t.Fatalf("attention (-want +got):\n%s", diff)
	}
	if n, err := s.AttentionCount(""); err != nil || n != len(wanted) {
		t.Fatalf("attention count %d, %v, want %d", n, err, len(wanted))
	}
}

// countsFollowTheRuns takes random changes of runs and holds counts
// and attention against a model that knows the runs alone; the check of the file
// counts them once more.
func countsFollowTheRuns(t *testing.T, b Backend) {
	for seed := range uint64(6) {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) { countsFollow(t, b, rand.New(rand.NewPCG(seed, 18))) })
	}
}

func countsFollow(t *testing.T, b Backend, random *rand.Rand) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	m := &model{runs: map[string]*runs.Run{}, attention: map[string]bool{}}
	statuses := runs.Statuses()
	const steps = 400
	for n := range steps {
		if n%50 == 49 {
			m.compare(t, s)
		}
		if kind := random.IntN(10); kind < 4 || len(m.runs) == 0 {
			run := Row(n * 700)
			run.Workflow = []string{"weekly", "daily", "daily2"}[random.IntN(3)]
			if random.IntN(5) == 0 {
				run.Parent = &runs.ParentStep{Run: ID(999_999_999), Path: "call"}
			}
			Create(t, s, run, n*700)
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
			if old.Status.Ended() || old.Status == runs.RunPaused {
				if err := s.DeleteRun(old.ID); err != nil {
					t.Fatal(err)
				}
				delete(m.runs, old.ID)
				delete(m.attention, old.ID)
			}
		case 1:
			if _, err := s.Look([]string{old.ID, old.ID, "nonsense"}, "ann", Begin()); err != nil {
				t.Fatal(err)
			}
			if old.Status != runs.RunPaused {
				delete(m.attention, old.ID)
			}
		default:
			run := *old
			run.Status = statuses[random.IntN(len(statuses))]
			if random.IntN(4) == 0 {
				run.Attempt++
			}
			if err := Append(s, run.ID, nil, &run); err != nil {
				t.Fatal(err)
			}
			m.put(old, &run)
		}
	}
	m.compare(t, s)
	b.shut(t, s, dir)
	again := b.open(t, dir)
	m.compare(t, again)
}
