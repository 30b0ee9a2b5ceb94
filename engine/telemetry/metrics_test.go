package telemetry_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus/testutil/promlint"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/telemetry"
	"github.com/flowrun/flowrun/engine/vitals"
)

// clock is a time that only moves when it is told to.
type clock struct{ at time.Time }

func (c *clock) now() time.Time { return c.at }

func (c *clock) pass(d time.Duration) time.Time {
	c.at = c.at.Add(d)
	return c.at
}

func newClock() *clock { return &clock{time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC)} }

// runID is the id of a run that is accepted at a time.
func runID(at time.Time, n byte) string {
	return strings.ToLower(ulid.MustNew(ulid.Timestamp(at), bytes.NewReader(bytes.Repeat([]byte{n}, 10))).String())
}

// fetch returns the page.
func fetch(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	answer := httptest.NewRecorder()
	m.Handler().ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	if answer.Code != http.StatusOK {
		t.Fatalf("status %d: %s", answer.Code, answer.Body)
	}
	return answer.Body.String()
}

// read returns the page, after the linter of Prometheus has found nothing in it.
func read(t *testing.T, m *telemetry.Metrics) string {
	t.Helper()
	page := fetch(t, m)
	problems, err := promlint.New(strings.NewReader(page)).Lint()
	if err != nil {
		t.Fatalf("the page can't be parsed: %v\n%s", err, page)
	}
	for _, problem := range problems {
		if strings.HasPrefix(problem.Metric, "flowrun_") {
			t.Errorf("promlint: %s: %s", problem.Metric, problem.Text)
		}
	}
	return page
}

// wants compares whole lines of the page.
func wants(t *testing.T, page string, lines ...string) {
	t.Helper()
	for _, line := range lines {
		if !strings.Contains("\n"+page, "\n"+line+"\n") {
			name, _, _ := strings.Cut(strings.Fields(line)[0], "{")
			var near []string
			for found := range strings.Lines(page) {
				if strings.HasPrefix(found, name) {
					near = append(near, found)
				}
			}
			t.Errorf("the page lacks\n  %s\nit has\n  %s", line, strings.Join(near, "  "))
		}
	}
}

func TestARunIsCountedOnceHoweverOftenItsRowIsTold(t *testing.T) {
	wall := newClock()
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: wall.now, Version: "test"})
	observer := metrics.Observer()
	row := runs.Run{ID: runID(wall.at, 1), Workflow: "report", Trigger: "nightly", Status: runs.RunQueued, Attempt: 1}
	observer.RunStored(&row)
	row.StartedAt, row.Status = wall.pass(2_000_000_000), runs.RunRunning
	observer.RunStored(&row)
	observer.RunStored(&row)
	row.Status, row.Paused = runs.RunPaused, runs.PausedAuthRequired
	observer.RunStored(&row)
	observer.RunStored(&row)
	row.Status, row.Paused, row.Attempt = runs.RunRunning, "", 2
	observer.RunStored(&row)
	row.Status, row.Closed, row.DurationMS = runs.RunSucceeded, true, 1500
	observer.RunStored(&row)
	wants(t, read(t, metrics),
		`flowrun_runs_started_total{trigger="nightly",workflow="report"} 1`,
		`flowrun_runs_paused_total{reason="auth_required",workflow="report"} 1`,
		`flowrun_runs_finished_total{status="succeeded",workflow="report"} 1`,
		`flowrun_run_queue_seconds_sum{workflow="report"} 2`,
		`flowrun_run_queue_seconds_count{workflow="report"} 1`,
		`flowrun_run_duration_seconds_bucket{status="succeeded",workflow="report",le="1"} 0`,
		`flowrun_run_duration_seconds_bucket{status="succeeded",workflow="report",le="5"} 1`,
		`flowrun_run_duration_seconds_sum{status="succeeded",workflow="report"} 1.5`,
	)
}

func TestARunThatWasAcceptedBeforeTheServerIsNotCountedAsStarted(t *testing.T) {
	wall := newClock()
	old := runID(wall.at.Add(-3600e9), 1)
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: wall.now, Version: "test"})
	metrics.Observer().RunStored(&runs.Run{ID: old, Workflow: "report", Status: runs.RunFailed, Attempt: 1, Closed: true})
	page := read(t, metrics)
	wants(t, page, `flowrun_runs_finished_total{status="failed",workflow="report"} 1`)
	if strings.Contains(page, "flowrun_runs_started_total{") || strings.Contains(page, "flowrun_run_queue_seconds_count{") {
		t.Errorf("an old run was counted as started:\n%s", page)
	}
}

func TestTheLagOfAScheduleIsThatOfItsSlots(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*runs.Fire)
		counts bool
	}{
		"a slot of a cron trigger is counted":    {func(*runs.Fire) {}, true},
		"a backfill is not":                      {func(f *runs.Fire) { f.Backfill = true }, false},
		"what a person asked for is not":         {func(f *runs.Fire) { f.By = "ada" }, false},
		"a webhook has no slot to be late after": {func(f *runs.Fire) { f.Kind = plan.TriggerWebhook }, false},
	} {
		t.Run(name, func(t *testing.T) {
			wall := newClock()
			metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: wall.now, Version: "test"})
			fire := &runs.Fire{Workflow: "report", Trigger: "nightly", Kind: plan.TriggerCron, Slot: wall.at}
			test.change(fire)
			accepted := wall.pass(3e9)
			row := &runs.Run{ID: runID(accepted, 1), Workflow: "report", Status: runs.RunRunning, StartedAt: accepted, Attempt: 1, Fire: fire}
			metrics.Observer().RunStored(row)
			if counted := strings.Contains(read(t, metrics), `flowrun_schedule_lag_seconds_sum{kind="cron"} 3`); counted != test.counts {
				t.Errorf("counted: %v, want %v", counted, test.counts)
			}
		})
	}
}

func TestStepsCallsAndWaitsAreCounted(t *testing.T) {
	wall := newClock()
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: wall.now, Version: "test"})
	observer := metrics.Observer()
	row := &runs.Run{ID: runID(wall.at, 1), Workflow: "report", Status: runs.RunRunning, StartedAt: wall.at, Attempt: 1}
	observer.RunStored(row)
	began := wall.at
	step := &runs.Step{Path: "read", Uses: "tasks.list", Status: runs.StepRunning, StartedAt: &began}
	observer.StepStored(row, step)
	first := observer.CallSent(&runs.Request{Action: "tasks.list", RunID: row.ID, Attempt: 1})
	wall.pass(2e9)
	first(runs.Answer{Failed: &runs.Error{Kind: plan.KindUnavailable}})
	second := observer.CallSent(&runs.Request{Action: "tasks.list", RunID: row.ID, Attempt: 2})
	wall.pass(1e9)
	second(runs.Answer{Completed: &runs.Completed{}})
	poll := observer.CallSent(&runs.Request{Action: "tasks.list", RunID: row.ID, Attempt: 2, Checkpoint: []byte("x")})
	poll(runs.Answer{Pending: &runs.Pending{}})
	ended := wall.at
	step.Status, step.FinishedAt = runs.StepSucceeded, &ended
	observer.StepStored(row, step)
	observer.StepStored(row, step) // its outputs were dropped: no second end
	observer.Waited("tasks", "api", 4e9)
	observer.Fired(&runs.Fire{Workflow: "report", Trigger: "nightly", Skipped: runs.SkipLate, Slots: 3})
	observer.Fired(&runs.Fire{Workflow: "report", Trigger: "nightly", Run: row.ID})
	observer.Committed(3e6)
	metrics.Line("warn")
	wants(t, read(t, metrics),
		`flowrun_steps_finished_total{status="succeeded",workflow="report"} 1`,
		`flowrun_step_duration_seconds_sum{status="succeeded",uses="tasks.list"} 3`,
		`flowrun_calls_total{action="tasks.list",outcome="completed"} 1`,
		`flowrun_calls_total{action="tasks.list",outcome="unavailable"} 1`,
		`flowrun_calls_total{action="tasks.list",outcome="pending"} 1`,
		`flowrun_call_duration_seconds_sum{action="tasks.list"} 3`,
		`flowrun_call_retries_total{action="tasks.list"} 1`,
		`flowrun_limiter_wait_seconds_sum{limiter="api",plugin="tasks"} 4`,
		`flowrun_trigger_fires_total{result="late",trigger="nightly",workflow="report"} 3`,
		`flowrun_trigger_fires_total{result="run",trigger="nightly",workflow="report"} 1`,
		`flowrun_store_commit_seconds_bucket{le="0.005"} 1`,
		`flowrun_log_lines_total{level="warn"} 1`,
	)
}

func TestThePageShowsTheVitalsOfTheEngine(t *testing.T) {
	wall := newClock()
	now := &vitals.Vitals{
		Active: 3, Busy: 2, InFlight: 1, Runs: map[runs.Status]int{runs.RunFailed: 4},
		Store: vitals.StoreStats{Commits: 10, Fsyncs: 21, Bytes: 4096}, Writes: 12,
		Usage: vitals.StoreUsage{File: 1 << 20, Free: 4096, Max: 8 << 30, DiskFree: 5, DiskTotal: 10}, Pressure: 1, Backup: wall.at,
		Plugins:  []vitals.Plugin{{Name: "tasks", PID: 12, InFlight: 1, Starts: 2, Crashes: 1}},
		Triggers: []runs.TriggerState{{Workflow: "report", Trigger: "nightly", Paused: true, Failures: 3}},
	}
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{
		Now: wall.now, Version: "v1.2.3", Vitals: func() (*vitals.Vitals, error) { return now, nil },
		Spans: func() (uint64, uint64) { return 7, 1 },
	})
	wants(t, read(t, metrics),
		`flowrun_up 1`,
		`flowrun_runs_active 3`, `flowrun_runs_busy 2`, `flowrun_calls_in_flight 1`,
		`flowrun_runs{status="failed"} 4`, `flowrun_runs{status="paused"} 0`,
		`flowrun_store_commits_total 10`, `flowrun_store_fsyncs_total 21`, `flowrun_store_writes_total 12`, `flowrun_store_written_bytes_total 4096`,
		`flowrun_store_file_bytes 1.048576e+06`, `flowrun_store_pressure 1`, `flowrun_disk_free_bytes 5`,
		fmt.Sprintf("flowrun_backup_timestamp_seconds %g", float64(wall.at.Unix())),
		`flowrun_plugin_running{plugin="tasks"} 1`, `flowrun_plugin_starts_total{plugin="tasks"} 2`, `flowrun_plugin_crashes_total{plugin="tasks"} 1`,
		`flowrun_trigger_paused{trigger="nightly",workflow="report"} 1`, `flowrun_trigger_failures{trigger="nightly",workflow="report"} 3`,
		`flowrun_trace_spans_total{result="sent"} 7`, `flowrun_trace_spans_total{result="lost"} 1`,
	)
}

func TestAStoreThatCantBeReadIsDownAndTheRestIsThere(t *testing.T) {
	wall := newClock()
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{
		Now: wall.now, Version: "test", Vitals: func() (*vitals.Vitals, error) { return nil, errors.New("disk gone") },
	})
	page := read(t, metrics)
	wants(t, page, `flowrun_up 0`)
	for _, name := range []string{"go_goroutines", "process_resident_memory_bytes", "flowrun_build_info{"} {
		if !strings.Contains(page, "\n"+name) {
			t.Errorf("the page lacks %s", name)
		}
	}
}

func TestNamesFromWorkflowsDoNotLetThePageGrowForGood(t *testing.T) {
	wall := newClock()
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: wall.now, Version: "test"})
	observer := metrics.Observer()
	for i := range 3000 {
		observer.Fired(&runs.Fire{Workflow: fmt.Sprintf("w%d", i), Trigger: "t", Run: "x"})
	}
	observer.Fired(&runs.Fire{Workflow: strings.Repeat("é", 200) + "\xff\n\"\\", Trigger: "bad\xffname\n", Run: "x"})
	page := fetch(t, metrics) // the linter takes long for a long page
	if lines := strings.Count(page, "flowrun_trigger_fires_total{"); lines > 2001 {
		t.Errorf("%d series of one name", lines)
	}
	wants(t, page, `flowrun_trigger_fires_total{result="run",trigger="t",workflow="other"} 1001`)
}

func TestRequestsAreCountedByRouteAndStreamsByTheirClients(t *testing.T) {
	wall := newClock()
	metrics := telemetry.NewMetrics(telemetry.MetricsOptions{Now: wall.now, Version: "test"})
	open, end := make(chan struct{}), make(chan struct{})
	routes := http.NewServeMux()
	routes.Handle("GET /runs/{id}", metrics.HTTP("GET /runs/{id}", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		wall.pass(20e6)
		if r.PathValue("id") == "none" {
			w.WriteHeader(http.StatusNotFound)
		}
	})))
	routes.Handle("GET /stream", metrics.HTTP("GET /stream", http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		if err := http.NewResponseController(w).Flush(); err != nil {
			t.Errorf("flush: %v", err)
		}
		close(open)
		<-end
	})))
	server := httptest.NewServer(routes)
	defer server.Close()
	for _, path := range []string{"/runs/a", "/runs/b", "/runs/none"} {
		answer, err := http.Get(server.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		answer.Body.Close()
	}
	stream, err := http.Get(server.URL + "/stream") // returns with the header, which was flushed
	if err != nil {
		t.Fatal(err)
	}
	<-open
	wants(t, read(t, metrics), `flowrun_http_requests_in_flight{route="GET /stream"} 1`)
	close(end)
	stream.Body.Close()
	server.Close() // waits for the handlers
	wants(t, read(t, metrics),
		`flowrun_http_requests_total{code="200",route="GET /runs/{id}"} 2`,
		`flowrun_http_requests_total{code="404",route="GET /runs/{id}"} 1`,
		`flowrun_http_requests_total{code="200",route="GET /stream"} 1`,
		`flowrun_http_requests_in_flight{route="GET /stream"} 0`,
		`flowrun_http_request_duration_seconds_count{route="GET /runs/{id}"} 3`,
		`flowrun_http_request_duration_seconds_count{route="GET /stream"} 0`,
	)
}
