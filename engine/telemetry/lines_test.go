package telemetry_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/telemetry"
)

// logged returns what the lines of an observer say, without their times.
func logged(traced bool, tell func(*runs.Observer, *clock)) string {
	var out bytes.Buffer
	wall := newClock()
	log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelDebug, ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
	tell(telemetry.NewLines(log, traced, wall.now), wall)
	return out.String()
}

func TestTheLogTellsARunsLife(t *testing.T) {
	var id string
	got := logged(false, func(o *runs.Observer, wall *clock) {
		id = runID(wall.at, 1)
		row := &runs.Run{ID: id, Workflow: "report", Trigger: "nightly", Status: runs.RunRunning, Attempt: 1, StartedAt: wall.at}
		failed := &runs.Error{Kind: plan.KindUnavailable, Message: "no answer", Step: "read"}
		o.RunStored(row)
		o.StepStored(row, &runs.Step{Path: "read", Uses: "tasks.list", Status: runs.StepRetrying, Wait: "retry 2 of 4", Error: failed})
		ended := wall.at
		o.StepStored(row, &runs.Step{Path: "first", Uses: "core.log", Status: runs.StepSucceeded, Attempts: 1, FinishedAt: &ended})
		o.StepStored(row, &runs.Step{Path: "read", Uses: "tasks.list", Status: runs.StepFailed, Attempts: 4, Error: failed, FinishedAt: &ended})
		row.Status, row.Paused = runs.RunPaused, runs.PausedAuthRequired
		o.RunStored(row)
		o.RunStored(row)
		row.Status, row.Paused, row.Closed, row.Error, row.DurationMS, row.Attempt = runs.RunFailed, "", true, failed, 812, 2
		o.RunStored(row)
	})
	want := `
level=INFO msg="run accepted" run=ID workflow=report trigger=nightly
level=INFO msg="step is tried again" run=ID workflow=report step=read uses=tasks.list wait="retry 2 of 4" kind=unavailable error="no answer" failed_step=read
level=DEBUG msg="step ended" run=ID workflow=report step=first uses=core.log status=succeeded attempts=1
level=WARN msg="step failed" run=ID workflow=report step=read uses=tasks.list attempts=4 kind=unavailable error="no answer" failed_step=read
level=WARN msg="run paused" run=ID workflow=report reason=auth_required
level=WARN msg="run ended" run=ID workflow=report status=failed duration_ms=812 attempt=2 kind=unavailable error="no answer" failed_step=read
`
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), strings.ReplaceAll(got, id, "ID")); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}

func TestTheLogTellsOfFiresAndNamesTraces(t *testing.T) {
	var id string
	got := logged(true, func(o *runs.Observer, wall *clock) {
		id = runID(wall.at, 1)
		o.Fired(&runs.Fire{Workflow: "report", Trigger: "nightly", Kind: plan.TriggerCron, Slot: wall.at, Run: id})
		o.Fired(&runs.Fire{Workflow: "report", Trigger: "nightly", Kind: plan.TriggerCron, Slot: wall.at, Skipped: runs.SkipLate, Slots: 3})
		o.Fired(&runs.Fire{Workflow: "report", Trigger: "hook", Kind: plan.TriggerWebhook, Slot: wall.at, Skipped: runs.SkipInvalid, Note: "no site"})
		o.RunStored(&runs.Run{ID: id, Workflow: "report", Trigger: "nightly", Status: runs.RunSucceeded, Attempt: 1, Closed: true, StartedAt: wall.at})
		o.Waited("tasks", "api", 1500e6)
	})
	want := `
level=INFO msg="trigger fired" trigger=report/nightly kind=cron slot=2026-03-01T09:00:00.000Z run=ID
level=INFO msg="trigger started no run" trigger=report/nightly kind=cron slot=2026-03-01T09:00:00.000Z reason=late slots=3 note=""
level=WARN msg="trigger started no run" trigger=report/hook kind=webhook slot=2026-03-01T09:00:00.000Z reason=invalid slots=1 note="no site"
level=INFO msg="run accepted" run=ID workflow=report trace_id=TRACE trigger=nightly
level=INFO msg="run ended" run=ID workflow=report trace_id=TRACE status=succeeded duration_ms=0 attempt=1
level=DEBUG msg="call waited for a rate limit" plugin=tasks limiter=api waited_ms=1500
`
	got = strings.ReplaceAll(strings.ReplaceAll(got, id, "ID"), telemetry.TraceID(id).String(), "TRACE")
	if diff := cmp.Diff(strings.TrimLeft(want, "\n"), got); diff != "" {
		t.Errorf("lines (-want +got):\n%s", diff)
	}
}
