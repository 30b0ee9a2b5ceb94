package boltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/storetest"
)

// TestP14WrongCountsAreFound: a count that is not that of the runs is damage.
func TestP14WrongCountsAreFound(t *testing.T) {
	t.Parallel()
	for _, bucket := range []string{"run_counts", "attention", "attention_by_workflow", "runs_by_workflow_status"} {
		path := filepath.Join(t.TempDir(), "flowrun.db")
		s, err := boltstore.Open(path, quick())
		if err != nil {
			t.Fatal(err)
		}
		fill(t, s)
		failed := storetest.Row(1)
		failed.Status = runs.RunFailed
		if err := storetest.Append(s, failed.ID, nil, failed); err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		whole(t, path)
		boltstore.DropFirstForTest(t, path, bucket)
		report, err := boltstore.CheckFile(t.Context(), path, quick())
		if err != nil || len(report.Problems) == 0 {
			t.Errorf("%s: %+v, %v", bucket, report, err)
		}
	}
}
