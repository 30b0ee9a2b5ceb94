package storetest

import (
	"context"
	"errors"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func aRunSurvivesReopening(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	want := []*journal.Record{Started(1), Completed(2, `{"a":9007199254740993}`), Completed(3, `null`)}
	Create(t, s, Row(1), 1)
	ended := Row(1)
	ended.Status = runs.RunSucceeded
	ended.Closed = true
	if err := Append(s, ID(1), want[1:], ended); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}

	s = b.open(t, dir)
	got, err := s.Records(ID(1), 0, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(want, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	run, err := s.Run(ID(1))
	if err != nil {
		t.Fatal(err)
	}
	if diff := Diff(ended, run); diff != "" {
		t.Errorf("row (-want +got):\n%s", diff)
	}
	data, err := s.Plan(PlanHash())
	if err != nil || string(data) != string(PlanBytes()) {
		t.Errorf("plan = %q, %v", data, err)
	}
}

func aRepeatedRequestMakesOneRun(t *testing.T, b Backend) {
	s := b.fresh(t)
	existing, err := s.CreateRun(t.Context(), Row(1), PlanBytes(), "request", Started(1))
	if err != nil || existing != "" {
		t.Fatal(existing, err)
	}
	existing, err = s.CreateRun(t.Context(), Row(2), PlanBytes(), "request", Started(2))
	if err != nil || existing != ID(1) {
		t.Errorf("existing = %q, %v", existing, err)
	}
	if _, err := s.Run(ID(2)); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("second run: %v", err)
	}
	if _, err := s.CreateRun(t.Context(), Row(1), PlanBytes(), "", Started(1)); !errors.Is(err, store.ErrRunExists) {
		t.Errorf("same id: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.CreateRun(canceled, Row(3), PlanBytes(), "", Started(3)); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wrong := Row(4)
	wrong.PlanHash = HashOf(nil)
	if _, err := s.CreateRun(t.Context(), wrong, PlanBytes(), "", Started(4)); err == nil {
		t.Error("a plan under a foreign hash was taken")
	}
}

func hostileNamesAreNotFound(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	for _, name := range []string{"", "..", "../../etc/passwd", "\x00", "01ARZ3NDEKTSV4RRFFQ69G5FAV", ID(1) + "x", ID(1)[:25], "8zzzzzzzzzzzzzzzzzzzzzzzzz", ID(1)[:25] + "é"} {
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

func indexesFollowTheRow(t *testing.T, b Backend) {
	s := b.fresh(t)
	for n := range 5 {
		Create(t, s, Row(n), n)
	}
	change := func(n int, edit func(*runs.Run)) {
		t.Helper()
		run, err := s.Run(ID(n))
		if err != nil {
			t.Fatal(err)
		}
		edit(run)
		if err := Append(s, run.ID, nil, run); err != nil {
			t.Fatal(err)
		}
	}
	change(0, func(r *runs.Run) { r.Status, r.Closed = runs.RunSucceeded, true })
	change(1, func(r *runs.Run) { r.Status, r.Paused = runs.RunPaused, runs.PausedError })
	change(2, func(r *runs.Run) { r.Status = runs.RunFailed }) // its handlers run on
	change(3, func(r *runs.Run) { r.Status, r.Paused = runs.RunPaused, runs.PausedError })
	change(3, func(r *runs.Run) { r.Status, r.Paused = runs.RunRunning, "" })

	open, err := s.OpenRuns()
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, run := range open {
		ids = append(ids, run.ID)
	}
	if diff := Diff([]string{ID(2), ID(3), ID(4)}, ids); diff != "" {
		t.Errorf("open runs (-want +got):\n%s", diff)
	}
	if diff := Diff([]string{ID(1)}, listed(t, s, runs.Filter{Status: runs.RunPaused})); diff != "" {
		t.Errorf("paused runs (-want +got):\n%s", diff)
	}
	if diff := Diff([]string{ID(4), ID(3)}, listed(t, s, runs.Filter{Status: runs.RunRunning})); diff != "" {
		t.Errorf("running runs (-want +got):\n%s", diff)
	}
}
