package journal_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
)

// whole is a record in which the parts that carry bytes of their own are set.
func whole() *journal.Record {
	at := time.Date(2026, 3, 1, 9, 0, 0, 7, time.UTC)
	return &journal.Record{
		Seq: 7,
		Event: journal.Event{
			Kind: journal.Completed, At: at, Path: "a#page2", By: "ann",
			Completed: &runs.Completed{Output: json.RawMessage(`{"n":9007199254740993}`), NextCursor: "c", Watermark: []byte{0, 255}, PageNote: []byte("note")},
			Waits:     []runs.Hold{{For: runs.WaitRateLimit, From: at, Until: at.Add(time.Second)}}, Unsent: []string{"b"}, Interrupted: []string{"c"},
		},
		Commands: []journal.Command{
			{Kind: journal.CommandCall, Path: "a#page3", Call: &journal.Call{
				Step: "a", Action: "svc.list", Effect: plan.EffectRead, Input: json.RawMessage(`{"t":{"$secret":"T"}}`), Attempt: 2,
				PageCursor: "c", Checkpoint: []byte{1, 2}, PageNote: []byte("note"), Timeout: time.Minute, Reconcile: "a#page3",
			}},
			{Kind: journal.CommandTimer, Path: "a!retry2", Timer: &journal.Timer{At: at.Add(time.Hour), Reason: "retry"}},
			{Kind: journal.CommandFinish, Finish: &journal.Finish{
				Status: runs.RunSucceeded, State: map[string]json.RawMessage{"s": json.RawMessage(`1`)}, Cursors: map[string][]byte{"k": {9}},
				StateVersions: map[string]uint64{"s": 3}, CursorVersions: map[string]uint64{"k": 4},
			}},
		},
	}
}

func TestARecordComesBackAsItWas(t *testing.T) {
	encoded, err := journal.Encode(whole())
	if err != nil {
		t.Fatal(err)
	}
	decoded, err := journal.Decode(encoded)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(whole(), decoded, ignoreForm); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestARecordThatIsNoneOfOursIsRefused(t *testing.T) {
	encoded, err := journal.Encode(whole())
	if err != nil {
		t.Fatal(err)
	}
	later := append([]byte{encoded[0] + 1}, encoded[1:]...)
	for name, data := range map[string][]byte{"nothing": nil, "a later version": later, "a record that is cut": encoded[:len(encoded)-1], "no version": encoded[1:]} {
		if _, err := journal.Decode(data); err == nil || !strings.Contains(err.Error(), "decode record") {
			t.Errorf("%s was read: %v", name, err)
		}
	}
}

// Only the success of a run writes, and only where there is something to write.
func TestWhichEndWrites(t *testing.T) {
	state := map[string]json.RawMessage{"s": json.RawMessage(`1`)}
	for _, c := range []struct {
		finish journal.Finish
		want   bool
	}{
		{journal.Finish{Status: runs.RunSucceeded, State: state}, true},
		{journal.Finish{Status: runs.RunSucceeded, Cursors: map[string][]byte{"k": nil}}, true},
		{journal.Finish{Status: runs.RunSucceeded}, false},
		{journal.Finish{Status: runs.RunFailed, State: state}, false},
		{journal.Finish{Status: runs.RunPaused, Cursors: map[string][]byte{"k": nil}}, false},
	} {
		if got := c.finish.Writes(); got != c.want {
			t.Errorf("%+v writes: %v", c.finish, got)
		}
	}
}
