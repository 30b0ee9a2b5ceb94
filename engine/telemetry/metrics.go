package telemetry

import (
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/vitals"
)

// Metrics counts what an engine does and serves the figures to Prometheus. Safe
// for concurrent use.
type Metrics struct {
	options  MetricsOptions
	registry *prometheus.Registry
	runs     *ledger
	names    *names

	started, finished, paused       *prometheus.CounterVec
	runTime, queued                 *prometheus.HistogramVec
	steps, calls, retries           *prometheus.CounterVec
	stepTime, callTime, waits, lags *prometheus.HistogramVec
	fires, lines, requests          *prometheus.CounterVec
	commits                         prometheus.Histogram
	requestTime                     *prometheus.HistogramVec
	open                            *prometheus.GaugeVec
}

// MetricsOptions are what Metrics need. Now and Version are required.
type MetricsOptions struct {
	Now     func() time.Time
	Version string
	// Vitals are read for each page. nil = the page has none of them.
	Vitals func() (*vitals.Vitals, error)
	// Spans counts what became of traces. nil = nothing is traced.
	Spans func() (sent, lost uint64)
}

// The bounds of histograms, in seconds: of a transaction or request, of a call or
// step, of a run, and of what is late.
var (
	shortBounds = []float64{.0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 10}
	callBounds  = []float64{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60, 300, 1800, 7200}
	runBounds   = []float64{.01, .05, .1, .5, 1, 5, 10, 30, 60, 300, 900, 3600, 14400, 86400, 604800}
	lateBounds  = []float64{.1, .25, .5, 1, 2.5, 5, 15, 60, 300, 900, 3600, 14400, 86400}
)

// NewMetrics returns metrics that count from now on.
func NewMetrics(o MetricsOptions) *Metrics {
	m := &Metrics{options: o, registry: prometheus.NewRegistry(), runs: newLedger(o.Now()), names: newNames()}
	m.countRuns()
	m.countSteps()
	m.countServer()
	m.registry.MustRegister(
		collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}),
		&vitalsCollector{options: o},
	)
	return m
}

func (m *Metrics) countRuns() {
	m.started = m.counter("flowrun_runs_started_total", "Runs that were accepted.", "workflow", "trigger")
	m.finished = m.counter("flowrun_runs_finished_total", "Runs that have ended, with their handlers.", "workflow", "status")
	m.paused = m.counter("flowrun_runs_paused_total", "Times that a run was paused.", "workflow", "reason")
	m.runTime = m.histogram("flowrun_run_duration_seconds", "Time from a run's begin to its end.", runBounds, "workflow", "status")
	m.queued = m.histogram("flowrun_run_queue_seconds", "Time that an accepted run waited for its place.", lateBounds, "workflow")
	m.fires = m.counter("flowrun_trigger_fires_total", "Fires of triggers that were decided: result is run, or why none was started.", "workflow", "trigger", "result")
	m.lags = m.histogram("flowrun_schedule_lag_seconds", "Time from a schedule's slot to the begin of its run, without backfills.", lateBounds, "kind")
}

func (m *Metrics) countSteps() {
	m.steps = m.counter("flowrun_steps_finished_total", "Steps that have ended, those of loops' items too.", "workflow", "status")
	m.stepTime = m.histogram("flowrun_step_duration_seconds", "Time from a step's begin to its end, with its retries and waits.", callBounds, "uses", "status")
	m.calls = m.counter("flowrun_calls_total", "Attempts of one page that were answered: outcome is completed, pending or the error's kind.", "action", "outcome")
	m.callTime = m.histogram("flowrun_call_duration_seconds", "Time of one attempt of one page.", callBounds, "action")
	m.retries = m.counter("flowrun_call_retries_total", "Attempts after the first one.", "action")
	m.waits = m.histogram("flowrun_limiter_wait_seconds", "Time that calls waited for a rate limit; those that did not wait are not counted.", callBounds, "plugin", "limiter")
}

func (m *Metrics) countServer() {
	m.commits = prometheus.NewHistogram(prometheus.HistogramOpts{
		Name: "flowrun_store_commit_seconds", Help: "Time of one transaction of the store, with its fsyncs.", Buckets: shortBounds,
	})
	m.registry.MustRegister(m.commits)
	m.requests = m.counter("flowrun_http_requests_total", "HTTP requests that were answered.", "route", "code")
	m.requestTime = m.histogram("flowrun_http_request_duration_seconds", "Time to answer a request; streams are not counted.", shortBounds, "route")
	m.open = prometheus.NewGaugeVec(prometheus.GaugeOpts{
		Name: "flowrun_http_requests_in_flight", Help: "HTTP requests that are being answered; of a stream's route these are its clients.",
	}, []string{"route"})
	m.registry.MustRegister(m.open)
	m.lines = m.counter("flowrun_log_lines_total", "Lines of the server's log.", "level")
}

func (m *Metrics) counter(name, help string, labels ...string) *prometheus.CounterVec {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	m.registry.MustRegister(vec)
	return vec
}

func (m *Metrics) histogram(name, help string, bounds []float64, labels ...string) *prometheus.HistogramVec {
	vec := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	m.registry.MustRegister(vec)
	return vec
}

// Handler serves the page of figures. What can't be read is left out.
func (m *Metrics) Handler() http.Handler {
	return promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{ErrorHandling: promhttp.ContinueOnError, MaxRequestsInFlight: 4})
}

// Observer is what counts when the engine tells it.
func (m *Metrics) Observer() *runs.Observer {
	return &runs.Observer{
		Run: m.runStored, Step: m.stepStored, Call: m.callSent, Fire: m.fired,
		Wait: func(plugin, limiter string, took time.Duration) {
			m.waits.WithLabelValues(m.names.of(plugin), m.names.of(limiter)).Observe(took.Seconds())
		},
		Commit: func(took time.Duration) { m.commits.Observe(took.Seconds()) },
	}
}

func (m *Metrics) runStored(run *runs.Run) {
	news, workflow := m.runs.run(run), m.names.of(run.Workflow)
	if news.accepted {
		m.started.WithLabelValues(workflow, m.names.of(run.Trigger)).Inc()
	}
	if news.began {
		m.queued.WithLabelValues(workflow).Observe(max(0, run.StartedAt.Sub(news.acceptedAt).Seconds()))
		m.countLag(run)
	}
	if news.paused {
		m.paused.WithLabelValues(workflow, run.Paused).Inc()
	}
	if news.closed {
		m.finished.WithLabelValues(workflow, string(run.Status)).Inc()
		m.runTime.WithLabelValues(workflow, string(run.Status)).Observe(float64(run.DurationMS) / 1000)
	}
}

// countLag tells how long after its slot a schedule's run began.
func (m *Metrics) countLag(run *runs.Run) {
	fire := run.Fire
	if fire == nil || fire.Backfill || fire.By != "" || fire.Kind != plan.TriggerCron && fire.Kind != plan.TriggerEvery {
		return
	}
	m.lags.WithLabelValues(string(fire.Kind)).Observe(max(0, run.StartedAt.Sub(fire.Slot).Seconds()))
}

func (m *Metrics) stepStored(run *runs.Run, step *runs.Step) {
	if !m.runs.stepEnded(run.ID, step) {
		return
	}
	m.steps.WithLabelValues(m.names.of(run.Workflow), string(step.Status)).Inc()
	if step.StartedAt != nil && step.FinishedAt != nil && step.Uses != "" {
		took := step.FinishedAt.Sub(*step.StartedAt).Seconds()
		m.stepTime.WithLabelValues(m.names.of(step.Uses), string(step.Status)).Observe(max(0, took))
	}
}

func (m *Metrics) callSent(request *runs.Request) func(runs.Answer) {
	began, action := m.options.Now(), m.names.of(request.Action)
	if request.Attempt > 1 && len(request.Checkpoint) == 0 {
		m.retries.WithLabelValues(action).Inc()
	}
	return func(answer runs.Answer) {
		m.calls.WithLabelValues(action, outcomeOf(answer)).Inc()
		m.callTime.WithLabelValues(action).Observe(m.options.Now().Sub(began).Seconds())
	}
}

// outcomeOf names how a call ended.
func outcomeOf(answer runs.Answer) string {
	switch {
	case answer.Failed != nil:
		return string(answer.Failed.Kind)
	case answer.Pending != nil:
		return "pending"
	case answer.Completed != nil:
		return "completed"
	}
	return string(plan.KindCrashed)
}

func (m *Metrics) fired(fire *runs.Fire) {
	result := fire.Skipped
	if fire.Run != "" {
		result = "run"
	}
	m.fires.WithLabelValues(m.names.of(fire.Workflow), m.names.of(fire.Trigger), result).Add(float64(max(1, fire.Slots)))
}

// Line counts a line of the log.
func (m *Metrics) Line(level string) { m.lines.WithLabelValues(level).Inc() }
