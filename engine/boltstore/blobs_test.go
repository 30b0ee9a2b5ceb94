package boltstore_test

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// big is a JSON text above the threshold, with what JSON escapes.
func big(mark string) json.RawMessage {
	data, err := json.Marshal(map[string]any{"mark": mark, "text": strings.Repeat("<é&>", boltstore.BlobThreshold/4)})
	if err != nil {
		panic(err)
	}
	return data
}

func random(n int) []byte {
	source := rand.NewChaCha8([32]byte{byte(n)})
	data := make([]byte, n)
	_, _ = source.Read(data)
	return data
}

// largeRecords has every value of a record that may be large.
func largeRecords() []*journal.Record {
	at := startOfTime
	big := func(mark string) json.RawMessage { return big(mark) }
	failure := func(mark string) *plan.Error {
		return &plan.Error{Kind: plan.KindInternal, Message: "m", Details: big(mark)}
	}
	events := []journal.Event{
		{Kind: journal.Completed, At: at, Completed: &plan.Completed{Output: big("output"), Meta: big("meta"), Watermark: random(70_000)}},
		{Kind: journal.Pending, At: at, Pending: &plan.Pending{Checkpoint: random(80_000)}},
		{Kind: journal.Failed, At: at, Failed: failure("details")},
		{Kind: journal.Signaled, At: at, Signal: &journal.Signal{Name: "s", Payload: big("payload")}},
		{Kind: journal.Resolved, At: at, Resolution: &journal.Resolution{Outcome: "happened", Output: big("resolution")}},
		{Kind: journal.ChildEnded, At: at, Child: &journal.Child{RunID: "r", Outputs: big("child"), Failed: failure("child")}},
	}
	commands := []journal.Command{
		{Kind: journal.CommandCall, Path: "a", Call: &journal.Call{Step: "a", Input: big("output"), Checkpoint: random(90_000)}},
		{Kind: journal.CommandCall, Path: "b", Call: &journal.Call{Step: "b", Input: json.RawMessage(`{"small":true}`)}},
		{Kind: journal.CommandLog, Log: &plan.Log{At: at, Message: "m", Fields: big("fields")}},
		{Kind: journal.CommandFinish, Finish: &journal.Finish{
			Status:  plan.RunSucceeded,
			Outputs: map[string]json.RawMessage{"big": big("output"), "a.b": big("dotted"), "small": json.RawMessage(`1`)},
			State:   map[string]json.RawMessage{"s": big("state")},
			Cursors: map[string][]byte{"c": random(100_000), "d": {1}},
			Error:   failure("finish"),
		}},
	}
	var records []*journal.Record
	for i, event := range events {
		records = append(records, &journal.Record{Seq: uint64(i + 2), Event: event, Commands: commands})
	}
	return records
}

func TestLargeValuesComeBack(t *testing.T) {
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	create(t, s, row(1), 1)
	records, want := largeRecords(), largeRecords()
	if err := appendWait(s, id(1), records, nil); err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(want, records) {
		t.Error("the writer's records were changed")
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The store reads them as the codec alone would.
	for i, record := range want {
		encoded, err := journal.Encode(record)
		if err != nil {
			t.Fatal(err)
		}
		if want[i], err = journal.Decode(encoded); err != nil {
			t.Fatal(err)
		}
	}
	got, err := openStore(t, path).Records(id(1), 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Errorf("record %d, %s, came back changed", want[i].Seq, want[i].Event.Kind)
		}
	}
}

func TestEqualLargeValuesAreStoredOnce(t *testing.T) {
	s := newStore(t)
	create(t, s, row(1), 1)
	store := func(from uint64) uint64 {
		t.Helper()
		before := s.Stats().Bytes
		for seq := from; seq < from+5; seq++ {
			record := completed(seq, string(big("same")))
			if err := appendWait(s, id(1), []*journal.Record{record}, nil); err != nil {
				t.Fatal(err)
			}
		}
		return s.Stats().Bytes - before
	}
	if first, second := store(2), store(7); second > first/2 {
		t.Errorf("5 records wrote %d bytes, 5 more with the same value %d", first, second)
	}
}

func TestALargePlanComesBack(t *testing.T) {
	s := newStore(t)
	large := append([]byte(nil), big("plan")...)
	run := row(1)
	run.PlanHash = ""
	if _, err := s.CreateRun(t.Context(), run, large, "", started(1)); err != nil {
		t.Fatal(err)
	}
	stored, err := s.Run(id(1))
	if err != nil || stored.PlanHash != hashOf(large) {
		t.Fatalf("plan hash = %v, %v", stored, err)
	}
	got, err := s.Plan(stored.PlanHash)
	if err != nil || string(got) != string(large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func TestWritersMayReadTheirRecordsMeanwhile(t *testing.T) { // for the race detector
	s := newStore(t)
	create(t, s, row(1), 1)
	records := largeRecords()
	done := make(chan error, 1)
	s.Append(id(1), records, nil, nil, func(err error) { done <- err })
	for _, record := range records {
		for _, command := range record.Commands {
			if command.Finish != nil {
				_ = maps.Clone(command.Finish.Outputs)
			}
		}
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}
