package storetest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// Begin is the moment at which everything of the fixtures begins.
func Begin() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

// ID returns the lower-case ULID of the nth second.
func ID(n int) string {
	var u ulid.ULID
	if err := u.SetTime(uint64(Begin().Add(time.Duration(n) * time.Second).UnixMilli())); err != nil {
		panic(err)
	}
	return strings.ToLower(u.String())
}

// Row is the row of the nth run, which runs.
func Row(n int) *runs.Run {
	at := Begin().Add(time.Duration(n) * time.Second)
	return &runs.Run{
		ID: ID(n), Workflow: "weekly", Status: runs.RunRunning, Attempt: 1, Trigger: "manual",
		ScheduledAt: at, StartedAt: at, PlanHash: PlanHash(),
	}
}

// PlanBytes is the plan of all runs.
func PlanBytes() []byte { return []byte(`{"format":1,"name":"weekly"}`) }

// PlanHash is the hash of PlanBytes.
func PlanHash() string { return HashOf(PlanBytes()) }

// HashOf is the hash of a plan: its SHA-256 in hex.
func HashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// Started is the first record of the nth run.
func Started(n int) *journal.Record {
	return &journal.Record{Seq: 1, Event: journal.Event{
		Kind: journal.Started, At: Begin(),
		Start: &journal.Start{RunID: ID(n), Inputs: json.RawMessage(`{"n":1}`), Trigger: "manual", ScheduledAt: Begin(), PlanHash: PlanHash()},
	}}
}

// Completed is a record with an output, which is JSON, and the call of the next step.
func Completed(seq uint64, output string) *journal.Record {
	return &journal.Record{
		Seq: seq,
		Event: journal.Event{
			Kind: journal.Completed, At: Begin(), Path: fmt.Sprintf("step_%d", seq),
			Completed: &runs.Completed{Output: json.RawMessage(output)},
		},
		Commands: []journal.Command{{Kind: journal.CommandCall, Path: fmt.Sprintf("step_%d", seq+1), Call: &journal.Call{
			Step: fmt.Sprintf("step_%d", seq+1), Action: "netinfo.whois", Effect: plan.EffectRead,
			Input: json.RawMessage(`{"domain":"example.com"}`), Attempt: 1, Timeout: time.Minute,
		}}},
	}
}

// Create stores the nth run.
func Create(t testing.TB, s store.Store, run *runs.Run, n int) {
	t.Helper()
	if _, err := s.CreateRun(t.Context(), run, PlanBytes(), "", Started(n)); err != nil {
		t.Fatal(err)
	}
}

// Append appends and waits for the answer.
func Append(s store.Store, runID string, records []*journal.Record, run *runs.Run, logs ...runs.Log) error {
	answered := make(chan error, 1)
	s.Append(runID, records, run, logs, func(err error) { answered <- err })
	return <-answered
}
