package storetest

import (
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func rowsOfRunsAreToldWhenTheyAreDurable(t *testing.T, b Backend) {
	var told []runs.Run
	stages := []store.CommitStage{}
	var settings Settings
	settings.OnCommit = func(stage store.CommitStage) { stages = append(stages, stage) }
	settings.OnRuns = func(rows []runs.Run) {
		told = append(told, rows...)
		if stages[len(stages)-1] != store.AfterCommit {
			t.Error("told before the commit")
		}
	}
	s := b.Open(t, t.TempDir(), settings)
	Create(t, s, Row(1), 1)
	_, existing := Start(t, s, 2, Fire("nightly", 1))
	_, repeated := Start(t, s, 3, Fire("nightly", 1))
	if err := Append(s, ID(1), nil, Closed(*Row(1))); err != nil {
		t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if existing != "" || repeated != ID(2) || len(told) != 3 {
		t.Fatalf("%q, %q, told %+v", existing, repeated, told)
	}
	if told[0].ID != ID(1) || told[1].Fire.Run != ID(2) || !told[2].Closed {
		t.Errorf("told %+v", told)
	}
}
