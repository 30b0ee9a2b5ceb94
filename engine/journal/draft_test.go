package journal_test

import (
	"encoding/json"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// anything makes values of all types that stand in events and commands, with all that
// JSON changes on its way: text that is no UTF-8, lists that are empty and not nil, times
// of other zones and with a monotonic clock, documents with white space.
func anything() rapid.MakeConfig {
	texts := rapid.OneOf(rapid.SampledFrom([]string{"", "a", "s1#page2", "items[a b].get", "ä", "<&>", "\xff", "a\"\\\n", "\u2028", "\x7f"}), rapid.String())
	documents := rapid.Map(rapid.SampledFrom([]string{
		`null`, `{}`, `{"n":9007199254740993,"t":"a b"}`, ` { "n" : 1 } `, `"<&>"`, `["\u2028", 1.50]`, "\"\xff\"", `-0`, `[]`, `[1,2]`, `{"a": 1}`,
		`true`, `"a b"`, `1e5`, `{"a":{"b":[null]}}`, `"\"\\"`, `{"b":1,"a":2}`, `["a","b"]`, ` 1`, `0.10`,
	}), func(text string) json.RawMessage { return json.RawMessage(text) })
	times := rapid.Custom(func(t *rapid.T) time.Time {
		switch rapid.IntRange(0, 5).Draw(t, "time") {
		case 0:
			return time.Time{}
		case 1:
			return time.Now()
		case 2:
			return time.Date(rapid.IntRange(-1, 10_000).Draw(t, "year"), 3, 1, 9, 0, 0, 7, time.FixedZone("", 3600))
		}
		return time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "s"), rapid.Int64Range(0, 1e9).Draw(t, "ns")).UTC()
	})
	return rapid.MakeConfig{
		Types: map[reflect.Type]*rapid.Generator[any]{
			reflect.TypeFor[json.RawMessage](): rapid.OneOf(documents, documents, documents, rapid.SampledFrom([]json.RawMessage{nil, {}, json.RawMessage(`{"a":`)})).AsAny(),
			reflect.TypeFor[time.Time]():       times.AsAny(),
			reflect.TypeFor[float64]():         rapid.Float64Range(-1e9, 1e9).AsAny(),
		},
		Kinds: map[reflect.Kind]*rapid.Generator[any]{reflect.String: texts.AsAny()},
	}
}

// stored is what json.Marshal alone makes of an event and its commands, and what the
// journal gives back of it.
func stored(ev journal.Event, commands []journal.Command) (text []byte, back *journal.Record, err error) {
	encoded, err := json.Marshal(&ev)
	if err != nil {
		return nil, nil, err
	}
	first := new(journal.Event)
	if err := json.Unmarshal(encoded, first); err != nil {
		return nil, nil, err
	}
	if text, err = journal.Encode(&journal.Record{Seq: 7, Event: *first, Commands: commands}); err != nil {
		return nil, nil, err
	}
	back, err = journal.Decode(text)
	return text, back, err
}

// An event is applied as the journal gives it back, and encoded once: the bytes are those
// that json.Marshal writes of what was applied.
func TestADraftIsWhatTheJournalGivesBack(t *testing.T) {
	cfg := anything()
	events, commands := rapid.MakeCustom[journal.Event](cfg), rapid.SliceOfN(rapid.MakeCustom[journal.Command](cfg), 0, 3)
	rapid.Check(t, func(t *rapid.T) {
		ev := events.Draw(t, "event")
		checkDraft(t, ev, commands.Draw(t, "commands"))
		for _, own := range alone(ev) { // as it happens: one thing, at a time in UTC
			own.At = time.Unix(1_800_000_000, 7).UTC()
			checkDraft(t, own, nil)
		}
	})
}

// alone are the events that hold one of the parts of another.
func alone(ev journal.Event) []journal.Event {
	return []journal.Event{
		{Kind: journal.Completed, Path: "a", Completed: ev.Completed}, {Kind: journal.Started, Start: ev.Start}, {Kind: journal.Failed, Failed: ev.Failed},
		{Kind: journal.Pending, Pending: ev.Pending}, {Kind: journal.Signaled, Signal: ev.Signal}, {Kind: journal.Resolved, Resolution: ev.Resolution},
		{Kind: journal.ChildEnded, Child: ev.Child}, {Kind: journal.Reconciled, Outcome: ev.Outcome}, {Kind: journal.Replanned, Replan: ev.Replan},
		{Kind: journal.Driven, Interrupted: ev.Interrupted}, {Kind: journal.Stopped, Unsent: ev.Unsent}, {Kind: journal.TimerFired, Path: ev.Path, By: ev.By, Waits: ev.Waits},
	}
}

func checkDraft(t *rapid.T, ev journal.Event, follow []journal.Command) {
	before, _ := json.Marshal(&ev)
	want, back, wantErr := stored(ev, follow)
	draft, err := journal.NewDraft(7, ev)
	var record *journal.Record
	size := 0
	if err == nil {
		record, size, err = draft.Record(follow)
	}
	if (err != nil) != (wantErr != nil) {
		t.Fatalf("the draft says %v, json.Marshal %v", err, wantErr)
	}
	if after, _ := json.Marshal(&ev); string(before) != string(after) {
		t.Errorf("the event was changed: %s, before %s", after, before)
	}
	if err != nil {
		return
	}
	if !reflect.DeepEqual(draft.Event(), back.Event) {
		t.Errorf("applied is another event than the one that comes back (-back +applied):\n%s", cmp.Diff(back.Event, draft.Event()))
	}
	got, err := journal.Encode(record)
	// json.Marshal escapes what is no UTF-8 where it is first put in, and not after that.
	if err != nil || string(got) != string(want) && !strings.Contains(string(got), `\ufffd`) {
		t.Errorf("stored is %s (%v)\nwant      %s", got, err, want)
	}
	if decoded, err := journal.Decode(got); err != nil || !reflect.DeepEqual(decoded, back) {
		t.Errorf("what is stored comes back otherwise (%v, -want +got):\n%s", err, cmp.Diff(back, decoded, ignoreForm))
	}
	if rest := len(got) - size; rest < len(`1{"seq":7,"event":}`) || rest > len(`1{"seq":7,"event":,"commands":}`) {
		t.Errorf("the record counts %d of its %d bytes", size, len(got))
	}
}

// What happens at every step is encoded once, and not decoded: in few allocations.
// TestARecordKeepsItsOwnForm: drafts are encoded in room that is used again, and a record
// stays what it was.
func TestARecordKeepsItsOwnForm(t *testing.T) {
	at := time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	made := map[*journal.Record]string{}
	for n := range 200 {
		output := json.RawMessage(strconv.Quote(strings.Repeat("x", n*20)))
		draft, err := journal.NewDraft(uint64(n+1), journal.Event{Kind: journal.Completed, At: at, Path: "a", Completed: &runs.Completed{Output: output}})
		if err != nil {
			t.Fatal(err)
		}
		record, _, err := draft.Record([]journal.Command{{Kind: journal.CommandCancel, Path: "b"}})
		if err != nil {
			t.Fatal(err)
		}
		encoded, err := json.Marshal(record)
		if err != nil {
			t.Fatal(err)
		}
		made[record] = string(encoded)
	}
	for record, want := range made {
		if got, err := journal.Encode(record); err != nil || string(got[1:]) != want {
			t.Fatalf("record %d became %s (%v)", record.Seq, got, err)
		}
	}
}

func TestAnEventOfAStepIsEncodedOnce(t *testing.T) {
	at := time.Date(2026, 3, 1, 9, 0, 0, 7, time.UTC)
	ev := journal.Event{Kind: journal.Completed, At: at, Path: "a", Completed: &runs.Completed{Output: json.RawMessage(`{"n":1}`)}}
	commands := []journal.Command{{Kind: journal.CommandCall, Path: "b", Call: &journal.Call{
		Step: "b", Action: "svc.get", Effect: plan.EffectRead, Input: json.RawMessage(`{"n":2}`), Attempt: 1, Timeout: time.Minute,
	}}}
	if allocs := testing.AllocsPerRun(100, func() {
		draft, err := journal.NewDraft(7, ev)
		if err != nil {
			t.Fatal(err)
		}
		record, _, err := draft.Record(commands)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := journal.Encode(record); err != nil {
			t.Fatal(err)
		}
	}); allocs > 2 {
		t.Errorf("a record is made in %v allocations, at most 2 are due", allocs)
	}
}

// ignoreForm leaves out the stored form that a record knows.
var ignoreForm = cmpopts.IgnoreUnexported(journal.Record{})
