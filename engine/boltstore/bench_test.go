package boltstore_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

// BenchmarkAppend measures one record, waited for, with so many runs at a time.
func BenchmarkAppend(b *testing.B) {
	for _, writers := range []int{1, 64} {
		b.Run(fmt.Sprintf("writers=%d", writers), func(b *testing.B) {
			s := benchStore(b)
			for n := range writers {
				storetest.Create(b, s, storetest.Row(n), n)
			}
			before := s.Stats()
			b.ResetTimer()
			var all sync.WaitGroup
			for n := range writers {
				all.Go(func() {
					for seq := uint64(2); seq < uint64(2+b.N/writers); seq++ {
						if err := storetest.Append(s, storetest.ID(n), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, nil); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			b.StopTimer()
			report(b, s, before)
		})
	}
}

// BenchmarkAppendLazy measures records that nobody waits for, as results of
// reads are.
func BenchmarkAppendLazy(b *testing.B) {
	s := benchStore(b)
	storetest.Create(b, s, storetest.Row(1), 1)
	before := s.Stats()
	for seq := uint64(2); b.Loop(); seq++ {
		s.Append(storetest.ID(1), []*journal.Record{storetest.Completed(seq, `{"ok":true}`)}, nil, nil, nil)
	}
	if err := s.Flush(b.Context()); err != nil {
		b.Fatal(err)
	}
	report(b, s, before)
}

// BenchmarkListRuns measures the newest page of many runs.
func BenchmarkListRuns(b *testing.B) {
	s := benchStore(b)
	for n := range 2000 {
		storetest.Create(b, s, storetest.Row(n), n)
	}
	for b.Loop() {
		if _, _, err := s.Runs(runs.Filter{}); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkListRunsOfNoMatch reads 2,000 rows of which none is selected.
func BenchmarkListRunsOfNoMatch(b *testing.B) {
	s := benchStore(b)
	for n := range 2000 {
		storetest.Create(b, s, storetest.Row(n), n)
	}
	none := runs.Filter{Match: func(*runs.Run) (bool, error) { return false, nil }}
	for b.Loop() {
		if runs, _, err := s.Runs(none); err != nil || len(runs) > 0 {
			b.Fatal(len(runs), err)
		}
	}
}

func benchStore(b *testing.B) *boltstore.Store {
	b.Helper()
	s, err := boltstore.Open(filepath.Join(b.TempDir(), "flowrun.db"), boltstore.Options{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Error(err)
		}
	})
	return s
}

func report(b *testing.B, s *boltstore.Store, before store.Stats) {
	after := s.Stats()
	b.ReportMetric(float64(after.Fsyncs-before.Fsyncs)/float64(b.N), "fsyncs/op")
	b.ReportMetric(float64(after.Bytes-before.Bytes)/float64(b.N), "written-B/op")
}
