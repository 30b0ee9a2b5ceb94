package trigger_test

import (
	"context"
	"errors"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// closedRun is the outbox entry of a run that a trigger started.
func closedRun(seq uint64, status runs.Status, hash string) runs.OutboxEntry {
	return runs.OutboxEntry{Seq: seq, Kind: runs.OutboxClosed, At: time.Date(2026, 3, 1, 0, 0, int(seq), 0, time.UTC), Run: runs.Run{
		ID: "x", Workflow: "often", Status: status, PlanHash: hash, Closed: true,
		Fire: &runs.Fire{Workflow: "often", Trigger: "tick", Kind: plan.TriggerEvery},
	}}
}

const oftenWorkflow = `flowrun: v1
name: often
triggers:
  tick: {every: 1h, pause_after_failures: 3}
steps:
  - {id: say, uses: core.log, with: {text: hello}}
`

func TestFailuresInARowAreCountedOnceAndPauseTheTrigger(t *testing.T) {
	e := withFiles(t, time.Now, map[string]string{"often.yaml": oftenWorkflow})
	run, problems, err := e.Start(t.Context(), engine.StartRequest{File: "often.yaml", Source: []byte(oftenWorkflow)})
	if err != nil || run == nil {
		t.Fatal(err, problems)
	}
	hash := run.PlanHash
	tell := func(entry runs.OutboxEntry) runs.TriggerState {
		t.Helper()
		for range 2 { // each is told twice
			if err := e.CountFailures(entry); err != nil {
				t.Fatal(err)
			}
		}
		state, err := e.Store().TriggerState("often", "tick")
		if err != nil {
			t.Fatal(err)
		}
		if state == nil {
			return runs.TriggerState{}
		}
		return *state
	}
	if state := tell(closedRun(1, runs.RunSucceeded, hash)); state.Trigger != "" {
		t.Errorf("a success without a failure is written: %+v", state)
	}
	tell(closedRun(2, runs.RunFailed, hash))
	if state := tell(closedRun(3, runs.RunTimedOut, hash)); state.Failures != 2 || state.Paused {
		t.Errorf("two failures: %+v", state)
	}
	if state := tell(closedRun(4, runs.RunCanceled, hash)); state.Failures != 2 {
		t.Errorf("a canceled run counts: %+v", state)
	}
	if state := tell(closedRun(5, runs.RunSucceeded, hash)); state.Failures != 0 {
		t.Errorf("after a success: %+v", state)
	}
	back := closedRun(6, runs.RunFailed, hash)
	back.Run.Fire.Backfill = true
	if state := tell(back); state.Failures != 0 {
		t.Errorf("a backfill counts: %+v", state)
	}
	tell(closedRun(7, runs.RunFailed, hash))
	tell(closedRun(2, runs.RunFailed, hash)) // told again, long after
	tell(closedRun(8, runs.RunFailed, hash))
	state := tell(closedRun(9, runs.RunFailed, hash))
	if state.Failures != 3 || !state.Paused || state.PausedBy != "" || state.Reason != "3 failures in a row" || state.PausedAt.IsZero() {
		t.Errorf("three failures: %+v", state)
	}
	gone := closedRun(10, runs.RunFailed, strings.Repeat("0", 64))
	if state := tell(gone); state.Failures != 4 {
		t.Errorf("a run that is removed: %+v", state)
	}
}

func TestOldEntriesAreLateAndRestoredOnesAreSaidSo(t *testing.T) {
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	e := withFiles(t, func() time.Time { return now }, nil)
	r := trigger.NewReader(e.Triggers, "test", time.After)
	r.SetBegin(10)
	for name, test := range map[string]struct {
		entry runs.OutboxEntry
		want  string
	}{
		"it has just happened":                 {runs.OutboxEntry{Seq: 10, At: now}, ""},
		"it waited for an hour":                {runs.OutboxEntry{Seq: 10, At: now.Add(-time.Hour)}, ""},
		"it waited for longer":                 {runs.OutboxEntry{Seq: 10, At: now.Add(-time.Hour - 1)}, runs.SkipLate},
		"it came while the server was there":   {runs.OutboxEntry{Seq: 11, At: now.Add(-2 * time.Hour)}, ""},
		"it comes from before the restore":     {runs.OutboxEntry{Seq: 10, At: now, Epoch: 7}, runs.SkipRestored},
		"and is old at the same time":          {runs.OutboxEntry{Seq: 10, At: now.Add(-2 * time.Hour), Epoch: 7}, runs.SkipRestored},
		"a clock that was set back makes none": {runs.OutboxEntry{Seq: 10, At: now.Add(time.Hour)}, ""},
	} {
		if got := r.Skip(test.entry); got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// What lies before a restore is not followed: it may have been, by what came after
// the backup. What happens after it is.
func TestARestoredStoreDoesNotFollowItsPast(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	inFile := func(*workspace.Config) {}
	e := inFolder(t, dir, inFile)
	skips := func(e *engine.Engine) (all []string) {
		t.Helper()
		readers, err := e.OutboxReaders()
		if err != nil {
			t.Fatal(err)
		}
		entries, err := e.Store().Outbox(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			all = append(all, readers[0].Skip(entry))
		}
		return all
	}
	runHello(t, e)
	if got := skips(e); !slices.Equal(got, []string{""}) {
		t.Errorf("the control, before the restore: %q", got)
	}
	report, err := e.Backup(t.Context(), upkeep.BackupRequest{})
	if err != nil {
		t.Fatal(err)
	}
	closeEngine(t, e)
	if _, err := engine.RestoreStore(t.Context(), workspace.Config{StateDir: filepath.Join(other, "state"), Now: time.Now}, report.Path); err != nil {
		t.Fatal(err)
	}
	e = inFolder(t, other, inFile)
	defer closeEngine(t, e)
	runHello(t, e)
	if got := skips(e); !slices.Equal(got, []string{runs.SkipRestored, ""}) {
		t.Errorf("after the restore: %q", got)
	}
}

// What all readers are past is dropped.
func TestTheOutboxIsEmptiedWhenAllHaveReadIt(t *testing.T) {
	h := newHookServer(t)
	e := withFiles(t, time.Now, noticeProject(h))
	e.ChangeReaders(hastily)
	if err := e.AlwaysOn(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 5 {
		startMay(t, e, nil)
	}
	eventually(t, "the outbox is empty", func() bool {
		entries, err := e.Store().Outbox(0, 100)
		return err == nil && len(entries) == 0
	})
}

// A reader that is ahead drops nothing that another has not read, whichever of
// them notes its place last.
func TestTheOutboxKeepsWhatOneReaderHasNotRead(t *testing.T) {
	e := withFiles(t, time.Now, map[string]string{"flowrun.yaml": "notify: {ops: {webhook: \"http://127.0.0.1:9/ops\", on: [failed]}}\n"})
	for range 3 {
		runHello(t, e)
	}
	readers, err := e.OutboxReaders()
	if err != nil || len(readers) != 3 {
		t.Fatalf("%d readers, %v", len(readers), err)
	}
	left := func() (seqs []uint64) {
		t.Helper()
		entries, err := e.Store().Outbox(0, 100)
		if err != nil {
			t.Fatal(err)
		}
		for _, entry := range entries {
			seqs = append(seqs, entry.Seq)
		}
		return seqs
	}
	// read hands a reader its entries up to last, and lets it note its place.
	read := func(r *trigger.OutboxReader, last uint64) (got []uint64) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r.SetTake(func(_ context.Context, entry runs.OutboxEntry, _ string) error {
			if got = append(got, entry.Seq); entry.Seq == last {
				cancel()
			}
			return nil
		})
		r.Run(ctx)
		return got
	}
	all := left()
	if len(all) != 3 {
		t.Fatalf("the outbox has %v", all)
	}
	// The reader finishes the page that it has: so the slow one is given its place.
	fast, slow := readers[0], readers[2]
	for _, reader := range readers[:2] {
		if got := read(reader, all[2]); !slices.Equal(got, all) {
			t.Errorf("a reader got %v", got)
		}
	}
	if got := left(); !slices.Equal(got, all) {
		t.Fatalf("one reader has read all, the other nothing: left %v", got)
	}
	slow.SetPlace(all[0], 0)
	slow.Note()
	if got := left(); !slices.Equal(got, all[1:]) {
		t.Fatalf("the other has read the first: left %v", got)
	}
	fast.SetPlace(all[2], 0)
	fast.Note() // again, and last
	if got := left(); !slices.Equal(got, all[1:]) {
		t.Fatalf("the first reader notes its place again: left %v", got)
	}
	if got := read(slow, all[2]); !slices.Equal(got, all[1:]) {
		t.Errorf("the other reader got %v", got)
	}
	if got := left(); len(got) != 0 {
		t.Errorf("all have read all: left %v", got)
	}
}

func TestEntriesAreTriedAgainUntilTheyAreHandedOn(t *testing.T) {
	e := withFiles(t, time.Now, nil)
	var got []uint64
	var waits []time.Duration
	r := trigger.NewReader(e.Triggers, "test", func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		now := make(chan time.Time, 1)
		now <- time.Time{}
		return now
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	r.SetTake(func(_ context.Context, entry runs.OutboxEntry, _ string) error {
		got = append(got, entry.Seq)
		if entry.Seq == 2 && len(got) < 6 {
			return errors.New("not now")
		}
		if entry.Seq == 3 {
			cancel()
		}
		return nil
	})
	for range 3 {
		runHello(t, e)
	}
	r.Run(ctx)
	if !slices.Equal(got, []uint64{1, 2, 2, 2, 2, 2, 3}) || !slices.Equal(waits[:4], []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}) {
		t.Errorf("handed on %v, waits %v", got, waits)
	}
	if place, err := e.OutboxPlace("test"); err != nil || place != 3 {
		t.Errorf("its place is %d, %v", place, err)
	}
}
