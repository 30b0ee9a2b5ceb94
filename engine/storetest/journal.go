package storetest

import (
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

func recordsArePaged(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	var all []*journal.Record
	for seq := uint64(2); seq <= 2500; seq++ {
		all = append(all, Completed(seq, `{"n":1}`))
	}
	if err := Append(s, ID(1), all, nil); err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		from        uint64
		limit       int
		first, last uint64
	}{
		"all":                 {0, 0, 1, 2500},
		"from the middle":     {1500, 0, 1500, 2500},
		"a page":              {10, 20, 10, 29},
		"over a view's bound": {400, 1700, 400, 2099},
		"behind the end":      {2501, 0, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := s.Records(ID(1), test.from, test.limit)
			if err != nil {
				t.Fatal(err)
			}
			if test.first == 0 {
				if len(got) != 0 {
					t.Errorf("%d records, want none", len(got))
				}
				return
			}
			if len(got) == 0 || got[0].Seq != test.first || got[len(got)-1].Seq != test.last || len(got) != int(test.last-test.first+1) {
				t.Errorf("%d records, want %d to %d", len(got), test.first, test.last)
			}
		})
	}
}

func aJournalHasNoHoles(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	for name, records := range map[string][]*journal.Record{
		"a hole":         {Completed(3, `1`)},
		"a second one":   {Started(1)},
		"holes inside":   {Completed(2, `1`), Completed(4, `1`)},
		"a wrong output": {Completed(2, `{"a"`)},
	} {
		t.Run(name, func(t *testing.T) {
			if err := Append(s, ID(1), records, nil); err == nil {
				t.Error("no error")
			}
		})
	}
	if err := Append(s, ID(1), []*journal.Record{Completed(2, `1`)}, nil); err != nil {
		t.Errorf("the store goes on after refused writes: %v", err)
	}
	if err := Append(s, ID(2), []*journal.Record{Started(2)}, nil); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("append to no run: %v", err)
	}
	if err := Append(s, ID(1), nil, Row(2)); err == nil {
		t.Error("a row of another run was taken")
	}
}

// eachRecordIsReadOnce: none is lost where one read of a journal
// ends and the next begins.
func eachRecordIsReadOnce(t *testing.T, b Backend) {
	s := b.fresh(t)
	FillMany(t, s)
	for _, from := range []uint64{0, 1, 2, 1000, 1001, 1002, 2001, ManyRecords, ManyRecords + 1} {
		want := max(from, 1)
		err := s.EachRecord(ID(1), from, func(record *journal.Record) error {
			if record.Seq != want {
				t.Fatalf("from %d: record %d comes where %d should", from, record.Seq, want)
			}
			want++
			return nil
		})
		if err != nil || want != ManyRecords+1 {
			t.Errorf("from %d: the last record is %d (%v)", from, want-1, err)
		}
		records, err := s.Records(ID(1), from, 0)
		if first := max(from, 1); err != nil || uint64(len(records)) != ManyRecords+1-first {
			t.Errorf("from %d: %d records (%v)", from, len(records), err)
		}
	}
	stop := errors.New("enough")
	seen := 0
	err := s.EachRecord(ID(1), 1, func(*journal.Record) error {
		seen++
		return stop
	})
	if !errors.Is(err, stop) || seen != 1 {
		t.Errorf("after its error %d records were shown: %v", seen, err)
	}
	if err := s.EachRecord(ID(2), 1, nil); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("of a run that is not there: %v", err)
	}
}

// whatARunTakesIsMeasured: records with their large values, and the
// lines of its log.
func whatARunTakesIsMeasured(t *testing.T, b Backend) {
	s := b.fresh(t)
	Create(t, s, Row(1), 1)
	Create(t, s, Row(2), 2)
	small, _, err := s.JournalBytes(ID(1))
	if err != nil || small < 100 || small > 1000 {
		t.Fatalf("a new run takes %d (%v)", small, err)
	}
	big := append(append([]byte{'"'}, bytes.Repeat([]byte("x"), 300<<10)...), '"')
	line := runs.Log{Step: "a", Message: strings.Repeat("l", 50<<10)}
	if err := Append(s, ID(1), []*journal.Record{Completed(2, string(big)), Completed(3, `1`)}, nil, line, line); err != nil {
		t.Fatal(err)
	}
	records, logs, err := s.JournalBytes(ID(1))
	if err != nil || records < small+300<<10 || records > small+302<<10 || logs < 100<<10 || logs > 102<<10 {
		t.Errorf("it takes %d and its log %d (%v)", records, logs, err)
	}
	if other, logs, err := s.JournalBytes(ID(2)); err != nil || other != small || logs != 0 {
		t.Errorf("the run beside it takes %d and %d (%v)", other, logs, err)
	}
	if _, _, err := s.JournalBytes(ID(3)); !errors.Is(err, store.ErrRunNotFound) {
		t.Errorf("of a run that is not there: %v", err)
	}
}

func closeCommitsWhatWaits(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	Create(t, s, Row(1), 1)
	for seq := uint64(2); seq <= 500; seq++ {
		s.Append(ID(1), []*journal.Record{Completed(seq, `1`)}, nil, nil, nil) // not waited for
	}
	if err := errors.Join(s.Close(), s.Close()); err != nil {
		t.Fatal(err)
	}
	if err := Append(s, ID(1), []*journal.Record{Completed(501, `1`)}, nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("append after close: %v", err)
	}
	if _, err := s.Run(ID(1)); !errors.Is(err, store.ErrClosed) {
		t.Errorf("read after close: %v", err)
	}
	if _, err := s.KV().Put("b", "k", nil, nil); !errors.Is(err, store.ErrClosed) {
		t.Errorf("a row after close: %v", err)
	}
	got, err := b.open(t, dir).Records(ID(1), 0, 0)
	if err != nil || len(got) != 500 {
		t.Errorf("%d records, %v", len(got), err)
	}
}

// ManyRecords is more than two reads of a journal take.
const ManyRecords = 2500

// FillMany stores the first run with many records.
func FillMany(t testing.TB, s store.Store) {
	t.Helper()
	Create(t, s, Row(1), 1)
	var records []*journal.Record
	for seq := uint64(2); seq <= ManyRecords; seq++ {
		records = append(records, Completed(seq, `1`))
	}
	if err := Append(s, ID(1), records, nil); err != nil {
		t.Fatal(err)
	}
}
