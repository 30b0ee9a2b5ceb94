package boltstore_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

func TestWaitingWritesShareACommit(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	storetest.Create(t, s, storetest.Row(1), 1)
	before := s.Stats()
	release := s.BlockCommitter()
	const writes = 64
	var order []int
	var answered sync.WaitGroup
	answered.Add(writes)
	for i := range writes {
		s.Append(storetest.ID(1), []*journal.Record{storetest.Completed(uint64(i+2), `1`)}, nil, nil, func(err error) {
			if err != nil {
				t.Error(err)
			}
			order = append(order, i)
			answered.Done()
		})
	}
	release()
	answered.Wait()
	after := s.Stats()
	if got := after.Commits - before.Commits; got != 1 {
		t.Errorf("%d writes took %d commits", writes, got)
	}
	if got := after.Ops - before.Ops; got != writes {
		t.Errorf("%d ops", got)
	}
	for i, n := range order {
		if i != n {
			t.Fatalf("answers came in the order %v", order)
		}
	}
}

func TestAGroupIsBounded(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		size    int
		writes  int
		commits uint64
	}{
		"in number": {10, 257, 2},
		"in bytes":  {60 << 10, 32, 2},
	} {
		t.Run(name, func(t *testing.T) {
			s := newStore(t)
			storetest.Create(t, s, storetest.Row(1), 1)
			before := s.Stats()
			release := s.BlockCommitter()
			for i := range test.writes {
				output := `"` + strings.Repeat("x", test.size) + `"`
				s.Append(storetest.ID(1), []*journal.Record{storetest.Completed(uint64(i+2), output)}, nil, nil, nil)
			}
			release()
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			if got := s.Stats().Commits - before.Commits; got != test.commits {
				t.Errorf("%d commits, want %d", got, test.commits)
			}
		})
	}
}

func TestNothingIsCommittedForNothing(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	storetest.Create(t, s, storetest.Row(1), 1)
	before := s.Stats()
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.KV().Put("b", "k", nil, new(uint64(9))); !errors.Is(err, store.ErrConflict) {
		t.Fatal(err)
	}
	if after := s.Stats(); after.Commits != before.Commits {
		t.Errorf("%d commits", after.Commits-before.Commits)
	}
	if before.Fsyncs < 2 || before.Bytes == 0 || before.FileSize == 0 {
		t.Errorf("stats = %+v", before)
	}
}

func TestACommitErrorStopsTheStore(t *testing.T) { // P13
	for name, test := range map[string]struct {
		cause error
		full  bool
	}{
		"an I/O error":           {syscall.EIO, false},
		"no space":               {fmt.Errorf("write: %w", syscall.ENOSPC), true},
		"no space, wrapped by s": {fmt.Errorf("file resize error: %s", syscall.EFBIG), true},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "flowrun.db")
			var heard []error
			s, err := boltstore.Open(path, boltstore.Options{
				InitialMmapSize: smallMap, Hooks: store.Hooks{OnFail: func(err error) { heard = append(heard, err) }},
			})
			if err != nil {
				t.Fatal(err)
			}
			storetest.Create(t, s, storetest.Row(1), 1)
			release := s.BlockCommitter()
			failing := make(chan error, 1)
			go func() { failing <- s.FailNextCommit(test.cause) }()
			waiting := make(chan error, 1)
			s.Append(storetest.ID(1), []*journal.Record{storetest.Completed(2, `1`)}, nil, nil, func(err error) { waiting <- err })
			release()
			if err := <-failing; !errors.Is(err, store.ErrFailed) {
				t.Errorf("failed commit: %v", err)
			}
			var failed *store.FailedError
			err = storetest.Append(s, storetest.ID(1), []*journal.Record{storetest.Completed(3, `1`)}, nil)
			if !errors.As(err, &failed) || failed.Full != test.full || !strings.Contains(failed.Error(), path) {
				t.Errorf("later append: %v", err)
			}
			<-waiting // in the failed commit, before it, or refused: the outcome is open
			if err := s.Flush(context.Background()); !errors.Is(err, store.ErrFailed) {
				t.Errorf("flush: %v", err)
			}
			if _, err := s.Run(storetest.ID(1)); err != nil {
				t.Errorf("reads go on: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Error(err)
			}
			if len(heard) != 1 || !errors.Is(heard[0], store.ErrFailed) {
				t.Errorf("OnFail heard %v", heard)
			}
			if _, err := openStore(t, path).Run(storetest.ID(1)); err != nil {
				t.Errorf("after reopening: %v", err)
			}
		})
	}
}

func TestTheQuotaStopsTheStoreAsFull(t *testing.T) { // P12
	path := filepath.Join(t.TempDir(), "flowrun.db")
	// bbolt grows a file by 16 MiB at least: the quota must leave room for that.
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap, MaxSize: 20 << 20})
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Row(1), 1)
	acked := 0
	for {
		output, _ := json.Marshal(strings.Repeat(fmt.Sprintf("%06d", acked), 50<<10))
		err = storetest.Append(s, storetest.ID(1), []*journal.Record{storetest.Completed(uint64(acked+2), string(output))}, nil)
		if err != nil {
			break
		}
		if acked++; acked > 100 {
			t.Fatal("the quota was not met")
		}
	}
	var failed *store.FailedError
	if !errors.As(err, &failed) || !failed.Full {
		t.Errorf("err = %v", err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	got, err := openStore(t, path).Records(storetest.ID(1), 0, 0)
	if err != nil || len(got) < acked+1 {
		t.Errorf("%d records of %d acked, %v", len(got), acked, err)
	}
}

func TestFlushKeepsToItsContext(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	release := s.BlockCommitter()
	defer release()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Flush(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("err = %v", err)
	}
}
