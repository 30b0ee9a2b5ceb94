package schedules

import (
	"context"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/upkeep"
)

// TestP10ARestoredStoreStartsNoFlood: of what lies between a backup and the restore
// nothing is caught up, whatever `keep` says, and a row says why.
func TestP10ARestoredStoreStartsNoFlood(t *testing.T) {
	t.Parallel()
	for name, restored := range map[string]bool{"restored": true, "control: the same absence without a restore is caught up": false} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			rules := project(t, dir)
			c := new(clock)
			serve(t, dir, c, func(e *engine.Engine) { waitFor(t, e, func(s stored) bool { return len(s.runs) > 8 }) })
			backup := filepath.Join(dir, "copy.db")
			e, err := open(config(dir, c.now, nil))
			if err != nil {
				t.Fatal(err)
			}
			if _, err := e.Backup(context.Background(), upkeep.BackupRequest{Path: backup}); err != nil {
				t.Fatal(err)
			}
			before := len(read(t, e).runs)
			if err := e.Close(context.Background()); err != nil {
				t.Fatal(err)
			}
			if restored {
				if _, err := engine.RestoreStore(context.Background(), config(dir, c.now, nil), backup); err != nil {
					t.Fatal(err)
				}
			}
			c.ahead.Add(int64(20 * time.Minute))
			reopened := c.now()
			wanted := before + len(rules)
			if !restored {
				wanted = before + 4*most
			}
			var s stored
			serve(t, dir, c, func(e *engine.Engine) {
				s = waitFor(t, e, func(s stored) bool { return len(s.runs) >= wanted })
			})
			old, rows := 0, 0
			for _, fire := range s.fires {
				switch {
				case fire.At.Before(reopened):
				case fire.Run != "" && fire.Slot.Before(reopened.Add(-time.Second)):
					old++
				case fire.Skipped == runs.SkipRestored:
					rows++
				}
			}
			if restored && (old > 0 || rows != len(rules)) {
				t.Errorf("%d runs of slots before the restore, %d rows say `restored`, want 0 and %d", old, rows, len(rules))
			}
			if !restored && (old < most || rows > 0) {
				t.Errorf("%d runs of missed slots, %d rows say `restored`", old, rows)
			}
		})
	}
}

// serve serves in this process while work is done.
func serve(t *testing.T, dir string, c *clock, work func(*engine.Engine)) {
	t.Helper()
	e, err := open(config(dir, c.now, nil))
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := e.Close(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	if err := e.AlwaysOn(context.Background()); err != nil {
		t.Fatal(err)
	}
	work(e)
}

// waitFor waits until the store says what is wanted.
func waitFor(t *testing.T, e *engine.Engine, wanted func(stored) bool) stored {
	t.Helper()
	var late atomic.Bool
	timer := time.AfterFunc(time.Minute, func() { late.Store(true) })
	defer timer.Stop()
	for {
		s := read(t, e)
		if wanted(s) {
			return s
		}
		if late.Load() {
			t.Fatalf("after a minute there are %d runs and %d fires", len(s.runs), len(s.fires))
		}
		time.Sleep(20 * time.Millisecond)
	}
}
