package boltstore_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

func TestP12TheWatermarksStopAdmissionThenDispatch(t *testing.T) {
	t.Parallel()
	free, total := uint64(10<<30), uint64(100<<30)
	path := filepath.Join(t.TempDir(), "flowrun.db")
	ballast := path + ".ballast"
	options := quick()
	options.Ballast = 1 << 20
	options.FreeSpace = func(string) (uint64, uint64, error) { return free, total, nil }
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, step := range []struct {
		free, total uint64
		level       store.Level
		reason      string
		ballast     bool
	}{
		{10 << 30, 100 << 30, store.None, "", true},
		{4 << 30, 100 << 30, store.StopAdmission, "4294967296 bytes are free", true},
		{511 << 20, 1 << 30, store.StopAdmission, "536870912 are wanted", true},
		{127 << 20, 1 << 30, store.PauseDispatch, filepath.Dir(path), false},
		{300 << 20, 1 << 30, store.StopAdmission, "", false},
		{513 << 20, 1 << 30, store.None, "", true},
	} {
		free, total = step.free, step.total
		got := s.Pressure()
		if got.Level != step.level || !strings.Contains(got.Reason, step.reason) {
			t.Errorf("%d of %d bytes free: %+v", step.free, step.total, got)
		}
		if info, err := os.Stat(ballast); (err == nil) != step.ballast || err == nil && info.Size() != 1<<20 {
			t.Errorf("%d bytes free: ballast %v, %v", step.free, info, err)
		}
	}
}

func TestP12AFullFileStopsAdmissionUntilRunsAreRemoved(t *testing.T) {
	t.Parallel()
	options := quick()
	options.MaxSize = 64 << 20
	path := filepath.Join(t.TempDir(), "flowrun.db")
	s, err := boltstore.Open(path, options)
	if err != nil {
		t.Fatal(err)
	}
	large := strings.Repeat("x", 200<<10)
	n := 0
	for ; n < 1000; n++ {
		run := storetest.Row(n)
		run.PlanHash = "" // each has a plan of its own
		if _, err = s.CreateRun(t.Context(), run, []byte(fmt.Sprintf(`{"text":"%d %s"}`, n, large)), "", storetest.Started(n)); err != nil {
			break
		}
		if run, err = s.Run(storetest.ID(n)); err != nil {
			t.Fatal(err)
		}
		closeRun(t, s, run, storetest.Begin())
	}
	if !errors.Is(err, store.ErrPressure) {
		t.Fatalf("after %d runs: %v", n, err)
	}
	if got := s.Pressure(); got.Level != store.StopAdmission || !strings.Contains(got.Reason, path) {
		t.Errorf("pressure %+v", got)
	}
	if removed, err := s.Expire(t.Context(), store.Retention{MaxRuns: 2}, storetest.Begin()); err != nil || len(removed) != n-2 {
		t.Fatalf("removed %d, %v", len(removed), err)
	}
	if got := s.Pressure(); got.Level != store.None {
		t.Errorf("after runs were removed: %+v, %+v", got, s.Usage())
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	// The free pages are known at the next start, before anything is written.
	if s, err = boltstore.Open(path, options); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if got := s.Pressure(); got.Level != store.None {
		t.Errorf("at the next start: %+v, %+v", got, s.Usage())
	}
}

// Each removal writes its neighbours anew before their pages are free: a file that
// is nearly full has room for one at a time, whatever is free inside it.
func TestP12AsManyRunsAreRemovedAtATimeAsThereIsRoomFor(t *testing.T) {
	t.Parallel()
	for limit, want := range map[int]int{16 << 20: 1, 64 << 20: 7, 8 << 30: 32} {
		options := quick()
		options.MaxSize, options.InitialMmapSize = limit, 32<<10
		s, err := boltstore.Open(filepath.Join(t.TempDir(), "flowrun.db"), options)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.ExpireBatch(); got != want {
			t.Errorf("limit %d: %d runs at a time, want %d", limit, got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestKernelWarning(t *testing.T) {
	t.Parallel()
	for release, warns := range map[string]bool{
		"5.10.93": true, "5.10.93-generic": true, "5.10.94": false, "5.10": true, "5.15.16-1-pve": true, "5.15.17": false,
		"5.4.1": false, "6.1.0": false, "5.11.1": false, "": false, "nonsense": false, "5.15.167.4-microsoft-standard-WSL2": false,
	} {
		if got := boltstore.KernelWarning(release); (got != "") != warns {
			t.Errorf("%q: %q", release, got)
		}
	}
}
