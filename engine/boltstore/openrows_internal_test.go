package boltstore

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// TestAnEntryOfTheOutboxIsWhatJSONMakesOfIt: its row is not encoded again, and reads the
// same.
func TestAnEntryOfTheOutboxIsWhatJSONMakesOfIt(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	row := runs.Run{ID: "01", Workflow: "<weekly> & more", Status: runs.RunFailed, StartedAt: at, FinishedAt: &at, Error: &runs.Error{Message: "no\u2028answer"}}
	encoded, err := json.Marshal(&row)
	if err != nil {
		t.Fatal(err)
	}
	for _, epoch := range []uint64{0, 3} {
		entry := runs.OutboxEntry{Seq: 7, Kind: runs.OutboxClosed, At: at, Epoch: epoch}
		parts, err := encodeEntry(entry, encoded)
		if err != nil {
			t.Fatal(err)
		}
		entry.Run = row
		want, err := json.Marshal(entry)
		if err != nil {
			t.Fatal(err)
		}
		if got := bytes.Join(parts, nil); !bytes.Equal(got, want) {
			t.Errorf("an entry is\n%s\nwant\n%s", got, want)
		}
	}
}

// TestRememberedRowsAreTheirOwn: what a writer does with its row later changes nothing,
// closed runs are let go of, and there is a bound.
func TestRememberedRowsAreTheirOwn(t *testing.T) {
	t.Parallel()
	key := func(n int) []byte { return append(make([]byte, runKeySize-2), byte(n>>8), byte(n)) }
	open := openRows{}
	row := &runs.Run{ID: "a", Status: runs.RunRunning, Slot: &runs.Slot{Key: "k", State: runs.SlotHeld}}
	open.note(key(1), row, 7)
	open.follow(key(1), 5)
	row.Status, row.Slot.State = runs.RunFailed, runs.SlotFree
	if known := open.get(key(1)); known == nil || known.row.Status != runs.RunRunning || known.row.Slot.State != runs.SlotHeld || known.sum != 7 || known.next != 5 {
		t.Errorf("a row that its writer changed later is remembered as %+v", known)
	}
	row.Closed = true
	if open.note(key(1), row, 7); open.get(key(1)) != nil {
		t.Error("a closed run is remembered")
	}
	for n := range maxOpenRows + 10 {
		open.note(key(n), &runs.Run{}, 7)
	}
	if len(open) > maxOpenRows {
		t.Errorf("%d rows are remembered", len(open))
	}
	openRows(nil).note(key(1), row, 7)
	openRows(nil).forget(key(1))
}
