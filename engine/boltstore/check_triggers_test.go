package boltstore_test

import (
	"bytes"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/storetest"
)

func triggerStore(t *testing.T) (path string) {
	t.Helper()
	path = filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, quick())
	if err != nil {
		t.Fatal(err)
	}
	fillFixture(t, s)
	fillTriggers(t, s)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	whole(t, path)
	return path
}

// A row of the triggers' buckets is lost, and the census was made to match.
func TestP14ALostRowOfATriggerIsFound(t *testing.T) {
	t.Parallel()
	for _, bucket := range []string{"fires", "fires_by_slot"} {
		path := triggerStore(t)
		boltstore.DropFirstForTest(t, path, bucket)
		report, err := boltstore.CheckFile(t.Context(), path, quick())
		if err != nil || len(report.Problems) != 1 || !strings.Contains(report.Err().Error(), "fires_by_slot") {
			t.Errorf("%s: %+v, %v", bucket, report.Problems, err)
		}
	}
}

// A row says something else than its key, or than the run that it names. The
// checksum is made to match: only the meaning is wrong.
func TestP14ARowOfATriggerThatMeansAnotherIsFound(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ bucket, old, new string }{
		"a fire of another trigger":       {"fires", `"trigger":"hook"`, `"trigger":"hoop"`},
		"a fire of another slot":          {"fires", `"slot":"2026-01-02T03:07`, `"slot":"2026-01-02T04:07`},
		"a fire with another's run":       {"fires", storetest.ID(fixtureRuns), storetest.ID(fixtureRuns + 1)},
		"a fire with no run's id":         {"fires", storetest.ID(fixtureRuns), strings.Repeat("!", 26)},
		"a state of another trigger":      {"triggers", `"trigger":"hook"`, `"trigger":"hoop"`},
		"an entry of another number":      {"outbox", `"seq":1,`, `"seq":7,`},
		"an entry of another run":         {"outbox", storetest.ID(fixturePaused), storetest.ID(fixtureOpen)},
		"a fire that is not JSON":         {"fires", `{"workflow"`, `["workflow"`},
		"a state that is not JSON":        {"triggers", `{"workflow"`, `["workflow"`},
		"an outbox entry that is no JSON": {"outbox", `{"seq"`, `["seq"`},
	} {
		path := triggerStore(t)
		changed := boltstore.ResealForTest(t, path, func(bucket string, payload []byte) []byte {
			if bucket != test.bucket {
				return payload
			}
			return bytes.Replace(payload, []byte(test.old), []byte(test.new), 1)
		})
		report, err := boltstore.CheckFile(t.Context(), path, quick())
		if err != nil || len(report.Problems) == 0 || report.Problems[0].Bucket != test.bucket && report.Problems[0].Bucket != "fires_by_slot" {
			t.Errorf("%s (%d changed): %+v, %v", name, changed, report.Problems, err)
		}
	}
}
