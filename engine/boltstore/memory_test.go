package boltstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

func memoryStore(t *testing.T) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(filepath.Join(t.TempDir(), "flowrun.db"), quick())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

func runRow(workflow string, slot *plan.Slot, labels map[string]string) *plan.Run {
	return &plan.Run{
		ID: strings.ToLower(ulid.Make().String()), Workflow: workflow, Status: plan.RunRunning, Labels: labels, Slot: slot,
		StartedAt: time.Now(),
	}
}

func accept(t *testing.T, s *boltstore.Store, row *plan.Run) *plan.Run {
	t.Helper()
	first := &journal.Record{Seq: 1, Event: journal.Event{Kind: journal.Queued, Start: &journal.Start{RunID: row.ID}}}
	if _, err := s.CreateRun(context.Background(), row, []byte(`{"format":1}`), "", first); err != nil {
		t.Fatal(err)
	}
	stored, err := s.Run(row.ID)
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

func appendRecord(s *boltstore.Store, record *journal.Record, row *plan.Run) error {
	stored := make(chan error, 1)
	s.Append(row.ID, []*journal.Record{record}, row, nil, func(err error) { stored <- err })
	return <-stored
}

func success(seq uint64, finish journal.Finish) *journal.Record {
	finish.Status = plan.RunSucceeded
	return &journal.Record{
		Seq: seq, Event: journal.Event{Kind: journal.TimerFired, At: time.Unix(100, 0).UTC()},
		Commands: []journal.Command{{Kind: journal.CommandFinish, Finish: &finish}},
	}
}

func TestP5StateAndCursorsAreWrittenWithTheSuccessOrNotAtAll(t *testing.T) {
	s := memoryStore(t)
	row := accept(t, s, runRow("w", nil, nil))
	key := plan.CursorKey("w", "c", "id")
	record := success(2, journal.Finish{
		State:   map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("2")},
		Cursors: map[string][]byte{key: []byte("mark")}, StateVersions: map[string]uint64{}, CursorVersions: map[string]uint64{key: 0},
	})
	if _, err := s.Change(store.Change{Workflow: "w", Name: "b", Value: []byte("9"), At: time.Now(), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	row.Status = plan.RunSucceeded
	var moved *journal.MovedError
	if err := appendRecord(s, record, row); !errors.As(err, &moved) || moved.Name != "b" || moved.By != "ann" {
		t.Fatalf("append gave %v", err)
	}
	if stored, err := s.Run(row.ID); err != nil || stored.Status != plan.RunRunning {
		t.Errorf("the row is %+v: %v", stored, err)
	}
	if records, err := s.Records(row.ID, 1, 0); err != nil || len(records) != 1 {
		t.Errorf("%d records: %v", len(records), err)
	}
	values, err := s.State("w")
	if err != nil || len(values) != 1 || string(values[0].Value) != "9" {
		t.Fatalf("state %v: %v", values, err)
	}
	record.Commands[0].Finish.StateVersions["b"] = values[0].Version
	if err := appendRecord(s, record, row); err != nil {
		t.Fatal(err)
	}
	values, err = s.State("w")
	if err != nil || len(values) != 2 || string(values[0].Value) != "1" || string(values[1].Value) != "2" || values[1].Run != row.ID {
		t.Errorf("state %v: %v", values, err)
	}
	if cursor, err := s.Cursor(key); err != nil || string(cursor.Value) != "mark" || cursor.Name != "c" || !cursor.At.Equal(time.Unix(100, 0)) {
		t.Errorf("cursor %v: %v", cursor, err)
	}
}

func TestP5ACursorThatStaysKeepsItsVersion(t *testing.T) {
	s := memoryStore(t)
	key := plan.CursorKey("w", "c", "id")
	version, err := s.Change(store.Change{Workflow: "w", Name: "c", Key: key, Value: []byte("mark"), At: time.Now()})
	if err != nil {
		t.Fatal(err)
	}
	row := accept(t, s, runRow("w", nil, nil))
	record := success(2, journal.Finish{Cursors: map[string][]byte{key: []byte("mark")}, CursorVersions: map[string]uint64{key: version}})
	if err := appendRecord(s, record, row); err != nil {
		t.Fatal(err)
	}
	if cursor, err := s.Cursor(key); err != nil || cursor.Version != version {
		t.Errorf("cursor %v: %v", cursor, err)
	}
}

func TestHistoryIsBoundedAndTellsWhoAndWhen(t *testing.T) {
	s := memoryStore(t)
	for i := range 60 {
		if _, err := s.Change(store.Change{Workflow: "w", Name: "a", Value: fmt.Append(nil, i), At: time.Unix(int64(i), 0), By: "ann"}); err != nil {
			t.Fatal(err)
		}
	}
	if version, err := s.Change(store.Change{Workflow: "w", Name: "a", At: time.Unix(99, 0), By: "bob"}); err != nil || version != 0 {
		t.Fatalf("reset gave %d, %v", version, err)
	}
	changes, err := s.History("w", "a", "")
	if err != nil || len(changes) != 50 {
		t.Fatalf("%d changes: %v", len(changes), err)
	}
	last := changes[49]
	if last.By != "bob" || last.Version != 0 || len(last.Value) != 0 || string(changes[48].Value) != "59" || changes[48].By != "ann" {
		t.Errorf("the last changes are %+v, %+v", changes[48], last)
	}
	big := make([]byte, 200<<10)
	for range 3 {
		if _, err := s.Change(store.Change{Workflow: "w", Name: "big", Value: big, At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if changes, err := s.History("w", "big", ""); err != nil || len(changes) != 1 {
		t.Errorf("%d changes of a big value: %v", len(changes), err)
	}
	if values, err := s.State("w"); err != nil || len(values) != 1 || values[0].Name != "big" {
		t.Errorf("state %v: %v", values, err)
	}
}

func TestNoWorkflowReachesIntoAnothersState(t *testing.T) {
	s := memoryStore(t)
	for _, workflow := range []string{"a", "ab", "a\x00b"} {
		if _, err := s.Change(store.Change{Workflow: workflow, Name: "b", Value: []byte(`1`), At: time.Now()}); err != nil {
			t.Fatal(err)
		}
		key := plan.CursorKey(workflow, "c", "x")
		if _, err := s.Change(store.Change{Workflow: workflow, Name: "c", Key: key, Value: []byte(`1`), At: time.Now()}); err != nil {
			t.Fatal(err)
		}
	}
	if values, err := s.State("a"); err != nil || len(values) != 1 || values[0].Workflow != "a" {
		t.Errorf("state %v: %v", values, err)
	}
	if cursors, err := s.Cursors("a", ""); err != nil || len(cursors) != 1 || cursors[0].Workflow != "a" {
		t.Errorf("cursors %v: %v", cursors, err)
	}
	if cursors, err := s.Cursors("", ""); err != nil || len(cursors) != 3 {
		t.Errorf("cursors %v: %v", cursors, err)
	}
}

func TestRule16PlacesAreGivenInOneTransaction(t *testing.T) {
	s := memoryStore(t)
	slot := func() *plan.Slot { return &plan.Slot{Key: "k", Limit: 2, State: plan.SlotQueued} }
	var rows []*plan.Run
	for range 4 {
		rows = append(rows, accept(t, s, runRow("w", slot(), nil)))
	}
	for i, want := range []plan.RunStatus{plan.RunRunning, plan.RunRunning, plan.RunQueued, plan.RunQueued} {
		if rows[i].Status != want || (rows[i].StateOf() == plan.SlotHeld) != (want == plan.RunRunning) {
			t.Errorf("run %d is %s %q", i, rows[i].Status, rows[i].StateOf())
		}
	}
	if next, err := s.AdmitNext("k"); err != nil || next != nil {
		t.Fatalf("a third place was given to %v: %v", next, err)
	}
	rows[0].Status, rows[0].Slot.State = plan.RunPaused, plan.SlotFree
	if err := appendRecord(s, &journal.Record{Seq: 2, Event: journal.Event{Kind: journal.TimerFired}}, rows[0]); err != nil {
		t.Fatal(err)
	}
	next, err := s.AdmitNext("k")
	if err != nil || next == nil || next.ID != rows[2].ID || next.Status != plan.RunRunning {
		t.Fatalf("the place went to %v: %v", next, err)
	}
	resumed, err := s.TakeSlot(rows[0].ID, plan.GoOn{Resume: true, By: "ann", Discard: true})
	if err != nil || resumed.Status != plan.RunQueued || !resumed.Slot.Resume || !resumed.Slot.Discard || resumed.Slot.By != "ann" {
		t.Fatalf("the resumed run is %+v: %v", resumed, err)
	}
	held, queued, err := s.SlotRuns("k")
	if err != nil || len(held) != 2 || len(queued) != 2 || queued[0] != rows[0].ID {
		t.Errorf("held %v, queued %v: %v", held, queued, err)
	}
	open, err := s.OpenRuns()
	if err != nil || len(open) != 4 {
		t.Errorf("%d open runs: %v", len(open), err)
	}
}

// TestRule16NobodyPassesThoseThatWait: a place is free for a moment before it is
// given on. Who comes in that moment, new or resumed, waits behind those that wait.
func TestRule16NobodyPassesThoseThatWait(t *testing.T) {
	s := memoryStore(t)
	slot := func() *plan.Slot { return &plan.Slot{Key: "k", Limit: 1, State: plan.SlotQueued} }
	first, second := accept(t, s, runRow("w", slot(), nil)), accept(t, s, runRow("w", slot(), nil))
	first.Status, first.Slot.State = plan.RunPaused, plan.SlotFree
	if err := appendRecord(s, &journal.Record{Seq: 2, Event: journal.Event{Kind: journal.TimerFired}}, first); err != nil {
		t.Fatal(err)
	}
	if third := accept(t, s, runRow("w", slot(), nil)); third.Status != plan.RunQueued || third.StateOf() != plan.SlotQueued {
		t.Errorf("a new run is %s: it passed the one that waits", third.Status)
	}
	if resumed, err := s.TakeSlot(first.ID, plan.GoOn{Resume: true}); err != nil || resumed.Status != plan.RunQueued {
		t.Errorf("a resumed run is %+v: it passed the one that waits (%v)", resumed, err)
	}
	if other := accept(t, s, runRow("w", &plan.Slot{Key: "other", Limit: 1, State: plan.SlotQueued}, nil)); other.Status != plan.RunRunning {
		t.Errorf("the control, a run of another key, is %s", other.Status)
	}
	// first is older than second: runs wait in the order of their acceptance.
	if next, err := s.AdmitNext("k"); err != nil || next == nil || next.ID != first.ID {
		t.Errorf("the place went to %+v: %v", next, err)
	}
	if held, queued, err := s.SlotRuns("k"); err != nil || len(held) != 1 || len(queued) != 2 || queued[0] != second.ID {
		t.Errorf("held %v, queued %v: %v", held, queued, err)
	}
}

func TestLabelsAreIndexed(t *testing.T) {
	s := memoryStore(t)
	a := accept(t, s, runRow("w", nil, map[string]string{"team": "web", "area": "x"}))
	accept(t, s, runRow("w", nil, map[string]string{"team": "webb"}))
	accept(t, s, runRow("v", nil, map[string]string{"tea": "mweb"}))
	both := accept(t, s, runRow("v", nil, map[string]string{"team": "web"}))
	for _, c := range []struct {
		filter store.Filter
		want   []string
	}{
		{store.Filter{Labels: map[string]string{"team": "web"}}, []string{both.ID, a.ID}},
		{store.Filter{Labels: map[string]string{"team": "web"}, Limit: 1}, []string{both.ID}},
		{store.Filter{Labels: map[string]string{"team": "web", "area": "x"}}, []string{a.ID}},
		{store.Filter{Labels: map[string]string{"team": "web"}, Workflow: "v"}, []string{both.ID}},
		{store.Filter{Labels: map[string]string{"team": "web"}, Status: plan.RunFailed}, nil},
		{store.Filter{Labels: map[string]string{"team": "we"}}, nil},
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
