package storetest_test

import (
	"context"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// spoiledVariable names the fault of the store that a child process exercises.
const spoiledVariable = "STORETEST_SPOILED"

// spoils are stores with one fault each, and a behaviour that must tell.
func spoils() map[string]struct {
	of   func(s store.Store) store.Store
	told string
} {
	type spoil = struct {
		of   func(s store.Store) store.Store
		told string
	}
	return map[string]spoil{
		"none":                         {func(s store.Store) store.Store { return s }, ""},
		"loses a record":               {func(s store.Store) store.Store { return losesRecords{s} }, "ARunSurvivesReopening"},
		"keeps the old row":            {func(s store.Store) store.Store { return keepsRows{s} }, "IndexesFollowTheRow"},
		"shows the oldest run first":   {func(s store.Store) store.Store { return oldestFirst{s} }, "RunsAreListedNewestFirst"},
		"writes whatever the version":  {func(s store.Store) store.Store { return anyVersion{s} }, "OneOfManyCompareAndSetsWins"},
		"forgets a request":            {func(s store.Store) store.Store { return noRequests{s} }, "ARepeatedRequestMakesOneRun"},
		"stores a run without a fire":  {func(s store.Store) store.Store { return noFires{s} }, "P10ARunItsFireAndTheTriggersStateAreOne"},
		"loses an entry of the outbox": {func(s store.Store) store.Store { return losesNews{s} }, "WhatBecomesOfARunGoesToTheOutbox"},
		"gives the place to the last":  {func(s store.Store) store.Store { return lastFirst{s} }, "Rule16NobodyPassesThoseThatWait"},
		"loses lines of a log":         {func(s store.Store) store.Store { return losesLines{s} }, "LogsComeBackInOrder"},
		"shows sessions that ended":    {func(s store.Store) store.Store { return longSessions{s} }, "SessionsOutliveTheProcessAndEnd"},
		"loses a part of a value":      {func(s store.Store) store.Store { return losesParts{s} }, "BlobsComeBackAsTheyWent"},
		"reads values of other runs":   {func(s store.Store) store.Store { return openBlobs{s} }, "ABlobIsItsRunsAlone"},
		"forgets notes of uploads":     {func(s store.Store) store.Store { return noNotes{s} }, "AnUploadGoesOnWhereItStood"},
		"keeps uploads of ended calls": {func(s store.Store) store.Store { return keepsUploads{s} }, "UploadsEndWithTheirCallAndRun"},
		"takes runs without room":      {func(s store.Store) store.Store { return roomy{s} }, "P12NoNewRunIsTakenWhileSpaceIsShort"},
	}
}

type (
	losesRecords struct{ store.Store }
	keepsRows    struct{ store.Store }
	oldestFirst  struct{ store.Store }
	anyVersion   struct{ store.Store }
	noRequests   struct{ store.Store }
	noFires      struct{ store.Store }
	losesNews    struct{ store.Store }
	lastFirst    struct{ store.Store }
	losesLines   struct{ store.Store }
	longSessions struct{ store.Store }
	roomy        struct{ store.Store }
	losesParts   struct{ store.Store }
	openBlobs    struct{ store.Store }
	noNotes      struct{ store.Store }
	keepsUploads struct{ store.Store }
)

func (s losesParts) Blobs(sealer store.BlobSealer) store.Blobs {
	return lostParts{s.Store.Blobs(sealer)}
}

type lostParts struct{ store.Blobs }

func (b lostParts) AppendBlob(run, upload string, offset int64, part []byte, sealed bool, note []byte) error {
	if len(part) > 50 {
		part = append(part[:len(part)-1:len(part)-1], 'x')
	}
	return b.Blobs.AppendBlob(run, upload, offset, part, sealed, note)
}

func (s openBlobs) Blobs(sealer store.BlobSealer) store.Blobs {
	return othersBlobs{s.Store.Blobs(sealer)}
}

type othersBlobs struct{ store.Blobs }

func (b othersBlobs) OpenBlob(_, digest string) (store.BlobReader, error) {
	return b.Blobs.OpenBlob(storetest.ID(1), digest)
}

func (s noNotes) Blobs(sealer store.BlobSealer) store.Blobs {
	return unnoted{s.Store.Blobs(sealer)}
}

type unnoted struct{ store.Blobs }

func (b unnoted) AppendBlob(run, upload string, offset int64, part []byte, sealed bool, _ []byte) error {
	return b.Blobs.AppendBlob(run, upload, offset, part, sealed, nil)
}

func (s keepsUploads) Blobs(sealer store.BlobSealer) store.Blobs {
	return keptUploads{s.Store.Blobs(sealer)}
}

type keptUploads struct{ store.Blobs }

func (keptUploads) DropUploads(string, string, []string) error { return nil }

func (s losesRecords) Append(id string, records []*journal.Record, row *runs.Run, logs []runs.Log, done func(error)) {
	s.Store.Append(id, records[:max(0, len(records)-1)], row, logs, done)
}

func (s keepsRows) Append(id string, records []*journal.Record, _ *runs.Run, logs []runs.Log, done func(error)) {
	s.Store.Append(id, records, nil, logs, done)
}

func (s oldestFirst) Runs(filter runs.Filter) ([]runs.Run, string, error) {
	runs, next, err := s.Store.Runs(filter)
	slices.Reverse(runs)
	return runs, next, err
}

func (s anyVersion) KV() store.KV { return anyVersionRows{s.Store.KV()} }

type anyVersionRows struct{ store.KV }

func (kv anyVersionRows) Put(bucket, key string, value []byte, _ *uint64) (uint64, error) {
	return kv.KV.Put(bucket, key, value, nil)
}

func (s noRequests) CreateRun(ctx context.Context, row *runs.Run, planBytes []byte, _ string, first *journal.Record) (string, error) {
	return s.Store.CreateRun(ctx, row, planBytes, "", first)
}

func (s noFires) CreateRun(ctx context.Context, row *runs.Run, planBytes []byte, requestID string, first *journal.Record) (string, error) {
	apart := *row
	apart.Fire = nil
	return s.Store.CreateRun(ctx, &apart, planBytes, requestID, first)
}

func (s losesNews) Outbox(after uint64, limit int) ([]runs.OutboxEntry, error) {
	return s.Store.Outbox(after+1, limit)
}

func (s lastFirst) SlotRuns(key string) (held, queued []string, err error) {
	held, queued, err = s.Store.SlotRuns(key)
	slices.Reverse(queued)
	return held, queued, err
}

func (s losesLines) Append(id string, records []*journal.Record, row *runs.Run, logs []runs.Log, done func(error)) {
	s.Store.Append(id, records, row, logs[:len(logs)/2], done)
}

func (s longSessions) Sessions(time.Time) ([]store.Session, error) {
	return s.Store.Sessions(storetest.Begin())
}

func (s roomy) CreateRun(ctx context.Context, row *runs.Run, planBytes []byte, requestID string, first *journal.Record) (string, error) {
	child := *row
	child.Parent = &runs.ParentStep{Run: row.ID}
	return s.Store.CreateRun(ctx, &child, planBytes, requestID, first)
}

// TestASpoiledStoreIsFound: each fault is told by the behaviour that it is against, and
// the same store without one shows them all.
func TestASpoiledStoreIsFound(t *testing.T) {
	if name := os.Getenv(spoiledVariable); name != "" {
		exercise(t, spoils()[name].of)
		return
	}
	var all []string
	for _, spoil := range spoils() {
		if spoil.told != "" {
			all = append(all, spoil.told)
		}
	}
	for name, spoil := range spoils() {
		t.Run(name, func(t *testing.T) {
			shown := spoil.told
			if shown == "" {
				shown = "(" + strings.Join(all, "|") + ")"
			}
			c := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestASpoiledStoreIsFound$/^"+shown+"$")
			c.Env = append(os.Environ(), spoiledVariable+"="+name)
			out, err := c.CombinedOutput()
			if spoil.told == "" {
				if err != nil {
					t.Errorf("the control fails:\n%s", out)
				}
				return
			}
			if err == nil || !strings.Contains(string(out), "--- FAIL: TestASpoiledStoreIsFound/"+spoil.told) {
				t.Errorf("nothing tells: %v\n%.2000s", err, out)
			}
		})
	}
}

func exercise(t *testing.T, spoil func(s store.Store) store.Store) {
	b := storetest.Memory()
	open := b.Open
	b.Open = func(t testing.TB, dir string, settings storetest.Settings) store.Store {
		return spoil(open(t, dir, settings))
	}
	storetest.Exercise(t, b)
}
