package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func runRow(workflow string, slot *runs.Slot, labels map[string]string) *runs.Run {
	return &runs.Run{
		ID: strings.ToLower(ulid.Make().String()), Workflow: workflow, Status: runs.RunRunning, Labels: labels, Slot: slot,
		StartedAt: Begin(),
	}
}

func accept(t *testing.T, s store.Store, row *runs.Run) *runs.Run {
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

func appendRecord(s store.Store, record *journal.Record, row *runs.Run) error {
	stored := make(chan error, 1)
	s.Append(row.ID, []*journal.Record{record}, row, nil, func(err error) { stored <- err })
	return <-stored
}

func success(seq uint64, finish journal.Finish) *journal.Record {
	finish.Status = runs.RunSucceeded
	return &journal.Record{
		Seq: seq, Event: journal.Event{Kind: journal.TimerFired, At: time.Unix(100, 0).UTC()},
		Commands: []journal.Command{{Kind: journal.CommandFinish, Finish: &finish}},
	}
}

func stateAndCursorsAreWrittenWithTheSuccessOrNotAtAll(t *testing.T, b Backend) {
	s := b.fresh(t)
	row := accept(t, s, runRow("w", nil, nil))
	key := runs.CursorKey("w", "c", "id")
	record := success(2, journal.Finish{
		State:   map[string]json.RawMessage{"a": json.RawMessage("1"), "b": json.RawMessage("2")},
		Cursors: map[string][]byte{key: []byte("mark")}, StateVersions: map[string]uint64{}, CursorVersions: map[string]uint64{key: 0},
	})
	if _, err := s.Change(store.Change{Workflow: "w", Name: "b", Value: []byte("9"), At: Begin(), By: "ann"}); err != nil {
		t.Fatal(err)
	}
	row.Status = runs.RunSucceeded
	var moved *journal.MovedError
	if err := appendRecord(s, record, row); !errors.As(err, &moved) || moved.Name != "b" || moved.By != "ann" {
		t.Fatalf("append gave %v", err)
	}
	if stored, err := s.Run(row.ID); err != nil || stored.Status != runs.RunRunning {
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

func aCursorThatStaysKeepsItsVersion(t *testing.T, b Backend) {
	s := b.fresh(t)
	key := runs.CursorKey("w", "c", "id")
	version, err := s.Change(store.Change{Workflow: "w", Name: "c", Key: key, Value: []byte("mark"), At: Begin()})
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

func historyIsBoundedAndTellsWhoAndWhen(t *testing.T, b Backend) {
	s := b.fresh(t)
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
		if _, err := s.Change(store.Change{Workflow: "w", Name: "big", Value: big, At: Begin()}); err != nil {
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

func noWorkflowReachesIntoAnothersState(t *testing.T, b Backend) {
	s := b.fresh(t)
	for _, workflow := range []string{"a", "ab", "a\x00b"} {
		if _, err := s.Change(store.Change{Workflow: workflow, Name: "b", Value: []byte(`1`), At: Begin()}); err != nil {
			t.Fatal(err)
		}
		key := runs.CursorKey(workflow, "c", "x")
		if _, err := s.Change(store.Change{Workflow: workflow, Name: "c", Key: key, Value: []byte(`1`), At: Begin()}); err != nil {
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
