package boltstore_test

import (
	"bytes"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/store"
)

// manyRecords is more than two reads of a journal take.
const manyRecords = 2500

// fillMany stores a run with many records.
func fillMany(t *testing.T, s *boltstore.Store) {
	t.Helper()
	create(t, s, row(1), 1)
	var records []*journal.Record
	for seq := uint64(2); seq <= manyRecords; seq++ {
		records = append(records, completed(seq, `1`))
	}
	if err := appendWait(s, id(1), records, nil); err != nil {
		t.Fatal(err)
	}
}

// TestIssue13_08EachRecordIsReadOnce: none is lost where one read of a journal
// ends and the next begins.
func TestIssue13_08EachRecordIsReadOnce(t *testing.T) {
	s := newStore(t)
	fillMany(t, s)
	for _, from := range []uint64{0, 1, 2, 1000, 1001, 1002, 2001, manyRecords, manyRecords + 1} {
		want := max(from, 1)
		err := s.EachRecord(id(1), from, func(record *journal.Record) error {
			if record.Seq != want {
				t.Fatalf("from %d: record %d comes where %d should", from, record.Seq, want)
			}
			want++
			return nil
		})
		if err != nil || want != manyRecords+1 {
			t.Errorf("from %d: the last record is %d (%v)", from, want-1, err)
		}
		records, err := s.Records(id(1), from, 0)
		if first := max(from, 1); err != nil || uint64(len(records)) != manyRecords+1-first {
			t.Errorf("from %d: %d records (%v)", from, len(records), err)
		}
	}
	stop := errors.New("enough")
	seen := 0
	err := s.EachRecord(id(1), 1, func(*journal.Record) error {
		seen++
		return stop
	})
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("after its error %d records were shown: %v", seen, err)
	}
	if err := s.EachRecord(id(2), 1, nil); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("of a run that is not there: %v", err)
	}
}

// TestIssue13_08AHoleInAJournalIsNoticed: also where a read begins with it.
func TestIssue13_08AHoleInAJournalIsNoticed(t *testing.T) {
	for _, hole := range []uint64{1, 2, 700, 1000, 1001, 2001, manyRecords - 1} {
		path := filepath.Join(t.TempDir(), "flowrun.db")
		s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: smallMap})
		if err != nil {
			t.Fatal(err)
		}
		fillMany(t, s)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		boltstore.DropRecordForTest(t, path, id(1), hole)
		s = openStore(t, path)
		var corrupt *store.CorruptError
		last := uint64(0)
		err = s.EachRecord(id(1), 1, func(record *journal.Record) error {
			if last++; record.Seq != last {
				t.Errorf("record %d was shown after %d", record.Seq, last-1)
			}
			return nil
		})
		if !errors.As(err, &corrupt) || !strings.Contains(err.Error(), "missing") || last >= hole {
			t.Errorf("without record %d: %d were shown, %v", hole, last, err)
		}
		if _, err := s.Records(id(1), 1, 0); !errors.As(err, &corrupt) {
			t.Errorf("without record %d Records says %v", hole, err)
		}
	}
}

// TestIssue13_02WhatARunTakesIsMeasured: records with their large values, and the
// lines of its log.
func TestIssue13_02WhatARunTakesIsMeasured(t *testing.T) {
	s := newStore(t)
	create(t, s, row(1), 1)
	create(t, s, row(2), 2)
	small, _, err := s.JournalBytes(id(1))
	if err != nil || small < 100 || small > 1000 {
		t.Fatalf("a new run takes %d (%v)", small, err)
	}
	big := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 300<<10)...), '"')
	line := plan.Log{Step: "a", Message: strings.Repeat("l", 50<<10)}
	if err := appendWait(s, id(1), []*journal.Record{completed(2, string(big)), completed(3, `1`)}, nil, line, line); err != nil {
		t.Fatal(err)
	}
	records, logs, err := s.JournalBytes(id(1))
	if err != nil || records < small+300<<10 || records > small+302<<10 || logs < 100<<10 || logs > 102<<10 {
		t.Errorf("it takes %d and its log %d (%v)", records, logs, err)
	}
	if other, logs, err := s.JournalBytes(id(2)); err != nil || other != small || logs != 0 {
		t.Errorf("the run beside it takes %d and %d (%v)", other, logs, err)
	}
	if _, _, err := s.JournalBytes(id(3)); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("of a run that is not there: %v", err)
	}
}
