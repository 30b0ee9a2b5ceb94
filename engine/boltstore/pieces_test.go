package boltstore_test

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/storetest"
)

// letters is a JSON text of n random letters.
func letters(n int) string { return `"` + hex.EncodeToString(storetest.Random(n/2)) + `"` }

// TestIssue13_02TheFileOfALargeJournalIsSmall: the pages that large values leave
// free, and those that the file grows ahead by, are few.
func TestIssue13_02TheFileOfALargeJournalIsSmall(t *testing.T) {
	t.Parallel()
	const values, size, most = 10, 4 << 20, 50 << 20
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, boltstore.Options{InitialMmapSize: 1 << 30}) // as usual: the file grows in steps
	if err != nil {
		t.Fatal(err)
	}
	storetest.Create(t, s, storetest.Row(1), 1)
	for n := range values {
		record := storetest.Completed(uint64(n+2), letters(size+2*n))
		if err := storetest.Append(s, storetest.ID(1), []*journal.Record{record}, nil); err != nil {
			t.Fatal(err)
		}
	}
	if records, _, err := s.JournalBytes(storetest.ID(1)); err != nil || records < values*size || records > values*size+64<<10 {
		t.Errorf("the journal is said to have %d bytes (%v)", records, err)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if info.Size() > most {
		t.Errorf("a journal of %d MiB takes a file of %d MiB", values*size>>20, info.Size()>>20)
	}
}

// TestIssue13_02LargeValuesOfOlderProgramsAreRead: those lie in one blob, however
// large it is, and go with their run.
func TestIssue13_02LargeValuesOfOlderProgramsAreRead(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	ended := storetest.Row(1)
	ended.Closed, ended.Status = true, "succeeded"
	storetest.Create(t, s, ended, 1)
	outputs := map[uint64]string{2: letters(900_000), 3: letters(800_000)}
	if err := boltstore.PutWholeForTest(s, storetest.ID(1), storetest.Completed(2, outputs[2])); err != nil {
		t.Fatal(err)
	}
	if err := storetest.Append(s, storetest.ID(1), []*journal.Record{storetest.Completed(3, outputs[3])}, nil); err != nil {
		t.Fatal(err)
	}
	records, err := s.Records(storetest.ID(1), 2, 0)
	if err != nil || len(records) != 2 {
		t.Fatalf("%d records, %v", len(records), err)
	}
	for _, record := range records {
		if got := record.Event.Completed.Output; !bytes.Equal(got, []byte(outputs[record.Seq])) {
			t.Errorf("record %d came back with %d bytes that are others", record.Seq, len(got))
		}
	}
	wellFormed(t, s)
	if err := s.DeleteRun(storetest.ID(1)); err != nil {
		t.Fatal(err)
	}
	if got := boltstore.BlobsForTest(t, s); got != 0 {
		t.Errorf("%d blobs are left of a run that was removed", got)
	}
	wellFormed(t, s)
}

func wellFormed(t *testing.T, s *boltstore.Store) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "copy.db")
	if _, err := s.Backup(t.Context(), path); err != nil {
		t.Fatal(fmt.Errorf("a backup, with its check: %w", err))
	}
}
