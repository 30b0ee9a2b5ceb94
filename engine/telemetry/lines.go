package telemetry

import (
	"context"
	"log/slog"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
)

// NewLines returns an observer that logs what becomes of runs, steps and fires:
// with the run's id, the step's path and, where runs are traced, the trace's id.
// No value of an input or output stands in a line.
func NewLines(log *slog.Logger, traced bool, now func() time.Time) *runs.Observer {
	l := &lines{log: log, traced: traced, runs: newLedger(now())}
	return &runs.Observer{Run: l.run, Step: l.step, Fire: l.fire, Wait: l.wait}
}

type lines struct {
	log    *slog.Logger
	traced bool
	runs   *ledger
}

// of returns the attributes that every line of a run begins with.
func (l *lines) of(run *runs.Run) []slog.Attr {
	attributes := []slog.Attr{slog.String("run", run.ID), slog.String("workflow", run.Workflow)}
	if l.traced && run.Parent == nil {
		attributes = append(attributes, slog.String("trace_id", TraceID(run.ID).String()))
	}
	return attributes
}

func (l *lines) say(level slog.Level, message string, attributes []slog.Attr, more ...slog.Attr) {
	l.log.LogAttrs(context.Background(), level, message, append(attributes, more...)...)
}

func (l *lines) run(run *runs.Run) {
	news := l.runs.run(run)
	if news.accepted {
		l.say(slog.LevelInfo, "run accepted", l.of(run), slog.String("trigger", run.Trigger))
	}
	switch {
	case news.paused:
		l.say(slog.LevelWarn, "run paused", l.of(run), append([]slog.Attr{slog.String("reason", run.Paused)}, failureOf(run.Error)...)...)
	case news.closed:
		level := slog.LevelInfo
		if run.Status == runs.RunFailed || run.Status == runs.RunTimedOut {
			level = slog.LevelWarn
		}
		ended := []slog.Attr{slog.String("status", string(run.Status)), slog.Int64("duration_ms", run.DurationMS), slog.Int("attempt", run.Attempt)}
		l.say(level, "run ended", l.of(run), append(ended, failureOf(run.Error)...)...)
	}
}

func (l *lines) step(run *runs.Run, step *runs.Step) {
	about := func() []slog.Attr {
		return append(l.of(run), slog.String("step", step.Path), slog.String("uses", step.Uses))
	}
	switch {
	case step.Status == runs.StepRetrying:
		l.say(slog.LevelInfo, "step is tried again", about(), append([]slog.Attr{slog.String("wait", step.Wait)}, failureOf(step.Error)...)...)
	case !l.runs.stepEnded(run.ID, step):
	case step.Status == runs.StepFailed, step.Status == runs.StepUnknown:
		l.say(slog.LevelWarn, "step failed", about(), append([]slog.Attr{slog.Int("attempts", step.Attempts)}, failureOf(step.Error)...)...)
	default:
		l.say(slog.LevelDebug, "step ended", about(), slog.String("status", string(step.Status)), slog.Int("attempts", step.Attempts))
	}
}

// failureOf describes an error in attributes.
func failureOf(failure *runs.Error) []slog.Attr {
	if failure == nil {
		return nil
	}
	attributes := []slog.Attr{slog.String("kind", string(failure.Kind)), slog.String("error", failure.Message)}
	if failure.Step != "" {
		attributes = append(attributes, slog.String("failed_step", failure.Step))
	}
	return attributes
}

func (l *lines) fire(fire *runs.Fire) {
	about := []slog.Attr{
		slog.String("trigger", runs.TriggerID(fire.Workflow, fire.Trigger)), slog.String("kind", string(fire.Kind)), slog.Time("slot", fire.Slot),
	}
	if fire.Run != "" {
		l.say(slog.LevelInfo, "trigger fired", about, slog.String("run", fire.Run))
		return
	}
	level := slog.LevelInfo
	switch fire.Skipped {
	case runs.SkipInvalid:
		level = slog.LevelWarn
	case runs.SkipPaused: // as somebody wanted, at each slot
		level = slog.LevelDebug
	}
	l.say(level, "trigger started no run", about, slog.String("reason", fire.Skipped), slog.Int("slots", max(1, fire.Slots)), slog.String("note", fire.Note))
}

func (l *lines) wait(plugin, limiter string, took time.Duration) {
	l.say(slog.LevelDebug, "call waited for a rate limit", []slog.Attr{
		slog.String("plugin", plugin), slog.String("limiter", limiter), slog.Int64("waited_ms", took.Milliseconds()),
	})
}
