package boltstore_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
)

// childVariable makes the test program play a child process.
const childVariable = "BOLTSTORE_TEST_CHILD"

func TestMain(m *testing.M) {
	if role := os.Getenv(childVariable); role != "" {
		os.Exit(child(role))
	}
	goleak.VerifyTestMain(m)
}

// smallMap keeps the address space of many stores small.
const smallMap = 32 << 20

var startOfTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// id returns the lower-case ULID of the nth second.
func id(n int) string {
	var u ulid.ULID
	if err := u.SetTime(uint64(startOfTime.Add(time.Duration(n) * time.Second).UnixMilli())); err != nil {
		panic(err)
	}
	return strings.ToLower(u.String())
}

func newStore(t testing.TB) *boltstore.Store {
	t.Helper()
	return openStore(t, filepath.Join(t.TempDir(), "flowrun.db"))
}

func openStore(t testing.TB, path string) *boltstore.Store {
	t.Helper()
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
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

func row(n int) *plan.Run {
	at := startOfTime.Add(time.Duration(n) * time.Second)
	return &plan.Run{
		ID: id(n), Workflow: "weekly", Status: plan.RunRunning, Attempt: 1, Trigger: "manual",
		ScheduledAt: at, StartedAt: at, PlanHash: planHash,
	}
}

var planBytes = []byte(`{"format":1,"name":"weekly"}`)

var planHash = hashOf(planBytes)

func hashOf(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func started(n int) *journal.Record {
	return &journal.Record{Seq: 1, Event: journal.Event{
		Kind: journal.Started, At: startOfTime,
		Start: &journal.Start{RunID: id(n), Inputs: json.RawMessage(`{"n":1}`), Trigger: "manual", ScheduledAt: startOfTime, PlanHash: planHash},
	}}
}

func completed(seq uint64, output string) *journal.Record {
	return &journal.Record{
		Seq: seq,
		Event: journal.Event{
			Kind: journal.Completed, At: startOfTime, Path: fmt.Sprintf("step_%d", seq),
			Completed: &plan.Completed{Output: json.RawMessage(output)},
		},
		Commands: []journal.Command{{Kind: journal.CommandCall, Path: fmt.Sprintf("step_%d", seq+1), Call: &journal.Call{
			Step: fmt.Sprintf("step_%d", seq+1), Action: "netinfo.whois", Effect: plan.EffectRead,
			Input: json.RawMessage(`{"domain":"example.com"}`), Attempt: 1, Timeout: time.Minute,
		}}},
	}
}

func create(t testing.TB, s *boltstore.Store, run *plan.Run, n int) {
	t.Helper()
	if _, err := s.CreateRun(t.Context(), run, planBytes, "", started(n)); err != nil {
		t.Fatal(err)
	}
}

// appendWait appends and waits for the answer.
func appendWait(s *boltstore.Store, runID string, records []*journal.Record, run *plan.Run, logs ...plan.Log) error {
	answered := make(chan error, 1)
	s.Append(runID, records, run, logs, func(err error) { answered <- err })
	return <-answered
}
