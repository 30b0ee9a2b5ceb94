package storetest

import (
	"encoding/json"
	"maps"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// largeValue is above what stores keep beside a record, in bytes.
const largeValue = 64 << 10

// Large is a JSON text that is large, with what JSON escapes.
func Large(mark string) json.RawMessage {
	data, err := json.Marshal(map[string]any{"mark": mark, "text": strings.Repeat("<é&>", largeValue/4)})
	if err != nil {
		panic(err)
	}
	return data
}

// Random are n bytes, the same ones for the same n.
func Random(n int) []byte {
	source := rand.NewChaCha8([32]byte{byte(n)})
	data := make([]byte, n)
	_, _ = source.Read(data)
	return data
}

// largeRecords has every value of a record that may be large.
func largeRecords() []*journal.Record {
	at := Begin()
	failure := func(mark string) *runs.Error {
		return &runs.Error{Kind: plan.KindInternal, Message: "m", Details: Large(mark)}
	}
	events := []journal.Event{
		{Kind: journal.Completed, At: at, Completed: &runs.Completed{Output: Large("output"), Meta: Large("meta"), Watermark: Random(70_000)}},
		{Kind: journal.Pending, At: at, Pending: &runs.Pending{Checkpoint: Random(80_000)}},
		{Kind: journal.Failed, At: at, Failed: failure("details")},
		{Kind: journal.Signaled, At: at, Signal: &journal.Signal{Name: "s", Payload: Large("payload")}},
		{Kind: journal.Resolved, At: at, Resolution: &journal.Resolution{Outcome: "happened", Output: Large("resolution")}},
		{Kind: journal.ChildEnded, At: at, Child: &journal.Child{RunID: "r", Outputs: Large("child"), Failed: failure("child")}},
	}
	commands := []journal.Command{
		{Kind: journal.CommandCall, Path: "a", Call: &journal.Call{Step: "a", Input: Large("output"), Checkpoint: Random(90_000)}},
		{Kind: journal.CommandCall, Path: "b", Call: &journal.Call{Step: "b", Input: json.RawMessage(`{"small":true}`)}},
		{Kind: journal.CommandLog, Log: &runs.Log{At: at, Message: "m", Fields: Large("fields")}},
		{Kind: journal.CommandFinish, Finish: &journal.Finish{
			Status:  runs.RunSucceeded,
			Outputs: map[string]json.RawMessage{"big": Large("output"), "a.b": Large("dotted"), "small": json.RawMessage(`1`)},
			State:   map[string]json.RawMessage{"s": Large("state")},
			Cursors: map[string][]byte{"c": Random(100_000), "d": {1}},
			Error:   failure("finish"),
		}},
	}
	var records []*journal.Record
	for i, event := range events {
		records = append(records, &journal.Record{Seq: uint64(i + 2), Event: event, Commands: commands})
	}
	return records
}

func largeValuesComeBack(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	Create(t, s, Row(1), 1)
	records, want := largeRecords(), largeRecords()
	if err := Append(s, ID(1), records, nil); err != nil {
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
	got, err := b.open(t, dir).Records(ID(1), 2, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range want {
		if !reflect.DeepEqual(want[i], got[i]) {
			t.Errorf("record %d, %s, came back changed", want[i].Seq, want[i].Event.Kind)
		}
	}
}

func aLargePlanComesBack(t *testing.T, b Backend) {
	s := b.fresh(t)
	large := append([]byte(nil), Large("plan")...)
	run := Row(1)
	run.PlanHash = ""
	if _, err := s.CreateRun(t.Context(), run, large, "", Started(1)); err != nil {
		t.Fatal(err)
	}
	stored, err := s.Run(ID(1))
	if err != nil || stored.PlanHash != HashOf(large) {
		t.Fatalf("plan hash = %v, %v", stored, err)
	}
	got, err := s.Plan(stored.PlanHash)
	if err != nil || string(got) != string(large) {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}

func writersMayReadTheirRecordsMeanwhile(t *testing.T, b Backend) { // for the race detector
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	records := largeRecords()
	done := make(chan error, 1)
	s.Append(ID(1), records, nil, nil, func(err error) { done <- err })
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
