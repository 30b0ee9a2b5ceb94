package telemetry_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/telemetry"
	"github.com/flowrun/flowrun/engine/vitals"
)

// everything returns metrics that have something to tell of each family.
func everything(t *testing.T) *telemetry.Metrics {
	t.Helper()
	wall := newClock()
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{
		Now: wall.now, Version: "test", Spans: func() (uint64, uint64) { return 0, 0 },
		Vitals: func() (*vitals.Vitals, error) {
			return &vitals.Vitals{
				Usage: vitals.StoreUsage{DiskTotal: 1}, Backup: wall.at,
				Plugins: []vitals.Plugin{{Name: "tasks"}}, Triggers: []runs.TriggerState{{Workflow: "w", Trigger: "t"}},
			}, nil
		},
	})
	observer := metrics.Observer()
	fire := &runs.Fire{Workflow: "w", Trigger: "t", Kind: plan.TriggerCron, Slot: wall.at, Run: "x"}
	row := &runs.Run{ID: runID(wall.at, 1), Workflow: "w", Trigger: "t", Status: runs.RunPaused, Paused: runs.PausedError, StartedAt: wall.at, Attempt: 1, Fire: fire}
	observer.RunStored(row)
	began := wall.at
	observer.StepStored(row, &runs.Step{Path: "s", Uses: "tasks.list", Status: runs.StepSucceeded, StartedAt: &began, FinishedAt: &began})
	observer.CallSent(&runs.Request{Action: "tasks.list", Attempt: 2})(runs.Answer{Completed: &runs.Completed{}})
	row.Status, row.Closed = runs.RunSucceeded, true
	observer.RunStored(row)
	observer.Waited("tasks", "api", 1)
	observer.Fired(fire)
	observer.Committed(1)
	metrics.Line("info")
	metrics.HTTP("GET /", http.NotFoundHandler()).ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	return metrics
}

// TestEachFigureIsDocumented compares the page with the table of the docs, both
// ways.
func TestEachFigureIsDocumented(t *testing.T) {
	text, err := os.ReadFile("../../docs/observability.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented, shown []string
	for _, row := range regexp.MustCompile("(?m)^\\| (`flowrun_[^|]*) \\|").FindAllStringSubmatch(string(text), -1) {
		documented = append(documented, regexp.MustCompile(`flowrun_[a-z_]+`).FindAllString(row[1], -1)...)
	}
	for _, match := range regexp.MustCompile(`(?m)^# TYPE (flowrun_\S+)`).FindAllStringSubmatch(read(t, everything(t)), -1) {
		shown = append(shown, match[1])
	}
	slices.Sort(documented)
	slices.Sort(shown)
	if diff := cmp.Diff(shown, documented); diff != "" {
		t.Errorf("figures of the page and of docs/observability.md (-page +docs):\n%s", diff)
	}
}

func TestOneObserverOfManyTellsThemAll(t *testing.T) {
	if telemetry.Join() != nil || telemetry.Join(nil, nil) != nil {
		t.Error("nobody listens, and there is an observer")
	}
	only := &runs.Observer{}
	if telemetry.Join(nil, only) != only {
		t.Error("one observer was wrapped")
	}
	told := map[string]int{}
	listener := &runs.Observer{
		Run:  func(*runs.Run) { told["run"]++ },
		Step: func(*runs.Run, *runs.Step) { told["step"]++ },
		Call: func(r *runs.Request) func(runs.Answer) {
			told["call"]++
			r.Traceparent += "x"
			return func(runs.Answer) { told["answer"]++ }
		},
		Fire: func(*runs.Fire) { told["fire"]++ },
	}
	deaf := &runs.Observer{Call: func(*runs.Request) func(runs.Answer) { return nil }}
	joined := telemetry.Join(listener, deaf, listener)
	joined.RunStored(&runs.Run{})
	joined.StepStored(&runs.Run{}, &runs.Step{})
	request := &runs.Request{}
	joined.CallSent(request)(runs.Answer{})
	joined.Fired(&runs.Fire{})
	joined.Waited("", "", 0)
	joined.Committed(0)
	want := map[string]int{"run": 2, "step": 2, "call": 2, "answer": 2, "fire": 2}
	if diff := cmp.Diff(want, told); diff != "" || request.Traceparent != "xx" {
		t.Errorf("told (-want +got):\n%s\ntraceparent %q", diff, request.Traceparent)
	}
}

func TestANilObserverHearsNothing(t *testing.T) {
	var nobody *runs.Observer
	nobody.RunStored(nil)
	nobody.StepStored(nil, nil)
	nobody.CallSent(nil)(runs.Answer{})
	nobody.Waited("", "", 0)
	nobody.Fired(nil)
	nobody.Committed(0)
	if allocations := testing.AllocsPerRun(100, func() { nobody.CallSent(nil)(runs.Answer{}) }); allocations > 0 {
		t.Errorf("telling nobody costs %g allocations", allocations)
	}
}
