package cli

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/telemetry"
	"github.com/flowrun/flowrun/engine/vitals"
	"github.com/flowrun/flowrun/engine/workspace"
)

// tracesGrace is how long a process that ends waits for its last spans to be taken.
const tracesGrace = 2 * time.Second

// watch is what looks at the engine of this process: nothing, unless it serves
// or the environment names a collector of traces.
type watch struct {
	observer *runs.Observer     // nil = nobody looks
	metrics  *telemetry.Metrics // nil = not counted
	traces   *telemetry.Traces  // nil = not traced
	log      *slog.Logger
	vitals   func() (*vitals.Vitals, error)
}

// startWatch makes what a process in its role needs.
func (a *app) startWatch(ctx context.Context, role role) *watch {
	w := &watch{log: a.logger()}
	if role == roleLook {
		return w
	}
	w.startTraces(ctx, a)
	if role != roleServe {
		if w.traces != nil {
			w.observer = w.traces.Observer()
		}
		return w
	}
	options := telemetry.MetricsOptions{Now: a.sys.Now, Version: a.sys.Version, Vitals: w.readVitals}
	if w.traces != nil {
		options.Spans = w.traces.Spans
	}
	w.metrics = telemetry.NewMetrics(options)
	observers := []*runs.Observer{w.metrics.Observer()}
	if w.traces != nil {
		observers = append(observers, w.traces.Observer())
	}
	observers = append(observers, telemetry.NewLines(w.log, w.traces != nil, a.sys.Now))
	w.observer = telemetry.Join(observers...)
	return w
}

// startTraces begins to trace where the environment asks for it. A wrong setting
// costs the traces and not the run.
func (w *watch) startTraces(ctx context.Context, a *app) {
	if !telemetry.Traced(a.sys.Environ) {
		return
	}
	exporter, err := telemetry.NewOTLP(ctx, a.sys.Environ, w.log)
	if err != nil {
		a.note("nothing is traced: %v", err)
		return
	}
	w.traces = telemetry.NewTraces(telemetry.TracesOptions{
		Now: a.sys.Now, Version: a.sys.Version, Host: a.sys.Host, PID: a.sys.PID, Exporter: exporter,
	})
}

var errNotOpen = errors.New("the store is not open yet")

func (w *watch) readVitals() (*vitals.Vitals, error) {
	if w.vitals == nil {
		return nil, errNotOpen
	}
	return w.vitals()
}

// begin joins with the engine that is open now.
func (w *watch) begin(a *app, opened *engine.Engine, project *workspace.Workspace) {
	w.vitals = opened.Vitals
	if w.traces != nil {
		w.traces.LookUp(opened.Row)
	}
	if a.logSink == nil {
		return
	}
	redact := project.Redact
	a.logSink.redact.Store(&redact)
	if w.metrics != nil {
		count := func(level slog.Level) { w.metrics.Line(strings.ToLower(level.String())) }
		a.logSink.count.Store(&count)
	}
}

// end sends the last spans.
func (w *watch) end() {
	if w == nil || w.traces == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), tracesGrace)
	defer cancel()
	if err := w.traces.Close(ctx); err != nil {
		w.log.Warn("the last traces were not sent", "error", err)
	}
}
