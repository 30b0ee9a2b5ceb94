package storetest

import (
	"errors"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func aFireThatHasItsRunIsAnsweredWhileSpaceIsShort(t *testing.T, b Backend) {
	short := false
	s := b.Open(t, t.TempDir(), Settings{Short: func() bool { return short }})
	defer s.Close()
	run, _ := Start(t, s, 1, Fire("nightly", 1))
	short = true
	if _, existing := Start(t, s, 2, Fire("nightly", 1)); existing != run.ID {
		t.Errorf("the slot's run is %q", existing)
	}
	if _, err := s.CreateRun(t.Context(), Fired(3, Fire("nightly", 2)), PlanBytes(), "", Started(3)); !errors.Is(err, store.ErrPressure) {
		t.Errorf("a new slot: %v", err)
	}
}

func noNewRunIsTakenWhileSpaceIsShort(t *testing.T, b Backend) {
	short := false
	s := b.Open(t, t.TempDir(), Settings{Short: func() bool { return short }})
	defer s.Close()
	if _, err := s.CreateRun(t.Context(), Row(1), PlanBytes(), "once", Started(1)); err != nil {
		t.Fatal(err)
	}
	short = true
	if pressure := s.Pressure(); pressure.Level != store.StopAdmission || pressure.Reason == "" {
		t.Errorf("pressure %+v", pressure)
	}
	_, err := s.CreateRun(t.Context(), Row(2), PlanBytes(), "", Started(2))
	var pressure *store.PressureError
	if !errors.As(err, &pressure) || !errors.Is(err, store.ErrPressure) || pressure.Reason == "" {
		t.Errorf("a new run: %v", err)
	}
	if existing, err := s.CreateRun(t.Context(), Row(3), PlanBytes(), "once", Started(3)); err != nil || existing != ID(1) {
		t.Errorf("a request that was seen before: %q, %v", existing, err)
	}
	child := Row(4)
	child.Parent = &runs.ParentStep{Run: ID(1), Step: "sub"}
	if _, err := s.CreateRun(t.Context(), child, PlanBytes(), "", Started(4)); err != nil {
		t.Errorf("a run of a run that goes on: %v", err)
	}
	// What is in flight is still stored.
	if err := Append(s, ID(1), nil, Row(1)); err != nil {
		t.Error(err)
	}
}
