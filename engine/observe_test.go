package engine

import (
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// heard is an observer that keeps what it is told, in order.
type heard struct {
	mu      sync.Mutex
	what    []string
	commits int
}

func (h *heard) say(format string, args ...any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.what = append(h.what, fmt.Sprintf(format, args...))
}

func (h *heard) observer() *runs.Observer {
	return &runs.Observer{
		Run: func(r *runs.Run) { h.say("run %s %s attempt %d closed %v", r.Workflow, r.Status, r.Attempt, r.Closed) },
		Step: func(r *runs.Run, s *runs.Step) {
			if s.Status.Ended() {
				h.say("step %s %s", s.Path, s.Status)
			}
		},
		Call: func(r *runs.Request) func(runs.Answer) {
			h.say("call %s attempt %d", r.Action, r.Attempt)
			return func(a runs.Answer) { h.say("answer %s", a.Failed.Kind) }
		},
		Commit: func(took time.Duration) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.commits++
			if took < 0 {
				h.what = append(h.what, "a commit took less than no time")
			}
		},
	}
}

// said returns what was told so far.
func (h *heard) said() []string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return slices.Clone(h.what)
}

func TestTheObserverHearsOfEachRunStepCallAndCommit(t *testing.T) {
	h := &heard{}
	e, err := dbEngine(t, t.TempDir(), func(c *workspace.Config) { c.Observer = h.observer() })
	if err != nil {
		t.Fatal(err)
	}
	id := runHello(t, e)
	closeEngine(t, e)
	want := []string{
		"run hello succeeded attempt 1 closed true",
		"step log succeeded",
	}
	got := h.said()
	slices.Sort(got) // a run that ends with its first record is told before its steps
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("run %s (-want +got):\n%s", id, diff)
	}
	if h.commits == 0 {
		t.Error("no commit was told")
	}
}

func TestVitalsCountWhatIsThere(t *testing.T) {
	e, err := dbEngine(t, t.TempDir(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer closeEngine(t, e)
	id := runHello(t, e)
	if _, err := e.Backup(t.Context(), upkeep.BackupRequest{}); err != nil {
		t.Fatal(err)
	}
	v, err := e.Vitals()
	if err != nil {
		t.Fatal(err)
	}
	if v.Runs[runs.RunSucceeded] != 1 || v.Active != 0 || v.InFlight != 0 || v.Pressure != 0 {
		t.Errorf("runs %v, active %d, in flight %d, pressure %d", v.Runs, v.Active, v.InFlight, v.Pressure)
	}
	if v.Store.Commits == 0 || v.Store.Fsyncs < 2*v.Store.Commits || v.Writes < v.Store.Commits {
		t.Errorf("store %+v with %d writes", v.Store, v.Writes)
	}
	if v.Usage.File == 0 || v.Usage.Max == 0 || v.Usage.DiskTotal == 0 || v.Backup.IsZero() {
		t.Errorf("usage %+v, backup %v", v.Usage, v.Backup)
	}
	if row, err := e.Row(id); err != nil || row.Workflow != "hello" {
		t.Errorf("row %+v: %v", row, err)
	}
	if _, err := e.Row("01arz3ndektsv4rrffq69g5fav"); err == nil {
		t.Error("a run that is not there has a row")
	}
}
