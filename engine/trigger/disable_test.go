package trigger_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
)

// TestADisabledWorkflowsSchedulesRest: over a restart, with a row for what was left out,
// and nothing of it is made up for. A schedule that is paused itself stays so.
func TestADisabledWorkflowsSchedulesRest(t *testing.T) {
	s := newScheduled(t)
	s.look()
	if _, err := s.PauseSchedule(t.Context(), "report/daily", trigger.PauseRequest{By: "eve", Reason: "own"}); err != nil {
		t.Fatal(err)
	}
	for range 2 { // once more changes nothing
		if err := s.DisableWorkflow(t.Context(), "report", trigger.PauseRequest{By: "ann", Reason: "moving"}); err != nil {
			t.Fatal(err)
		}
	}
	closeEngine(t, s.Engine)
	s.open()
	detail, err := s.Workflow(t.Context(), "report")
	if err != nil || detail.Disabled == nil || detail.Disabled.By != "ann" || detail.Disabled.Reason != "moving" || !detail.Disabled.At.Equal(s.clock.now()) {
		t.Fatalf("%v %+v", err, detail.Disabled)
	}
	items, err := s.Schedules(t.Context())
	if err != nil || !items[1].Paused || items[1].PausedReason != "the workflow is disabled: moving" || items[1].Next != nil || items[0].PausedReason != "own" {
		t.Fatalf("%v %+v", err, items)
	}
	if next, err := s.NextFires(t.Context(), "report/quarter", time.Time{}, 1); err != nil || !next.Paused {
		t.Errorf("%v %+v", err, next)
	}
	var conflict *fault.ConflictError
	if _, err := s.ResumeSchedule(t.Context(), "report/quarter", trigger.PauseRequest{}); !errors.As(err, &conflict) || !strings.Contains(conflict.Hint.Text, "workflows enable report") {
		t.Errorf("a schedule of a disabled workflow is resumed: %v", err)
	}
	s.clock.move(20 * time.Minute)
	s.look() // a server leaves the slot out
	s.holds("quarter", "03-27 12:15 paused")
	if _, err := s.TriggerSchedule(t.Context(), "report/quarter", trigger.Request{By: "ann"}); err != nil {
		t.Errorf("a person can't start it: %v", err)
	}
	closeEngine(t, s.Engine)
	s.open() // nobody acts on slots
	s.clock.move(time.Hour)
	if err := s.EnableWorkflow(t.Context(), "report"); err != nil {
		t.Fatal(err)
	}
	if items, err = s.Schedules(t.Context()); err != nil || items[1].Paused || items[1].Next == nil || !items[1].Next.After(s.clock.now()) || !items[0].Paused || items[0].PausedReason != "own" {
		t.Fatalf("%v %+v", err, items)
	}
	s.look()
	for _, row := range s.fires("quarter") {
		if strings.HasSuffix(row, "run") && !strings.Contains(row, "by ann") {
			t.Errorf("a slot was made up for: %s", row)
		}
	}
	s.clock.move(15 * time.Minute)
	s.look()
	rows := s.fires("quarter")
	if last := rows[len(rows)-1]; !strings.HasSuffix(last, " run") {
		t.Errorf("it fires no more: %v", rows)
	}
	if detail, err = s.Workflow(t.Context(), "report"); err != nil || detail.Disabled != nil {
		t.Errorf("%v %+v", err, detail.Disabled)
	}
}

func TestADisabledWorkflowsWebhookIsRefused(t *testing.T) {
	e, _ := hooks(t)
	if err := e.DisableWorkflow(t.Context(), "site report", trigger.PauseRequest{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	if got := send(t, e, "signed", signedRequest(`{"site":"A"}`)); got != "409 the workflow is disabled" {
		t.Errorf("the sender gets %q", got)
	}
	if rows := firesOf(t, e, "site report", "signed"); len(rows) != 1 || rows[0].Skipped != runs.SkipPaused || rows[0].Note != "the workflow is disabled" {
		t.Errorf("%+v", rows)
	}
	wrong := signedRequest(`{"site":"A"}`)
	wrong.Header.Set("X-Signature", "sha256=00")
	if got := send(t, e, "signed", wrong); !strings.HasPrefix(got, "401 ") {
		t.Errorf("who does not know the secret gets %q", got)
	}
	if err := e.EnableWorkflow(t.Context(), "site report"); err != nil {
		t.Fatal(err)
	}
	if got := send(t, e, "signed", signedRequest(`{"site":"A"}`)); !strings.HasPrefix(got, "202 ") {
		t.Errorf("an enabled one answers %q", got)
	}
}

func TestADisabledWorkflowFollowsNobody(t *testing.T) {
	e, _ := afterEngine(t)
	if err := e.DisableWorkflow(t.Context(), "second", trigger.PauseRequest{By: "ann", Reason: "x"}); err != nil {
		t.Fatal(err)
	}
	first := runNamed(t, e, "first", nil)
	for range 2 {
		if err := e.FireAfter(t.Context(), endOf(t, e, first.Run.ID), ""); err != nil {
			t.Fatal(err)
		}
	}
	if followed := runsOf(t, e, "second"); len(followed) != 0 {
		t.Errorf("%d runs follow", len(followed))
	}
	if rows := firesOf(t, e, "second", "then"); len(rows) != 1 || rows[0].Skipped != runs.SkipPaused || rows[0].Note != "the workflow is disabled: x" {
		t.Errorf("%+v", rows)
	}
	if vitals, err := e.Vitals(); err != nil || len(vitals.Triggers) != 0 {
		t.Errorf("the row of the workflow is measured as a trigger: %v %+v", err, vitals.Triggers)
	}
}

func TestADisabledWorkflowPollsNobody(t *testing.T) {
	p := newPolled(t)
	p.list("1:a:1")
	p.want("the first poll notes")
	if err := p.DisableWorkflow(t.Context(), "items", trigger.PauseRequest{By: "ann"}); err != nil {
		t.Fatal(err)
	}
	p.list("1:a:1", "2:b:1")
	p.want("a disabled one")
	if err := p.EnableWorkflow(t.Context(), "items"); err != nil {
		t.Fatal(err)
	}
	p.want("what came meanwhile is noted")
	p.list("1:a:1", "2:b:1", "3:c:1")
	if got, err := p.poll(); err != nil || len(got) != 1 {
		t.Errorf("it polls no more: %q %v", got, err)
	}
}

func TestAnUnknownWorkflowIsNotDisabled(t *testing.T) {
	s := newScheduled(t)
	for _, err := range []error{s.DisableWorkflow(t.Context(), "reprot", trigger.PauseRequest{}), s.EnableWorkflow(t.Context(), "reprot")} {
		if unknown, ok := errors.AsType[*fault.UnknownError](err); !ok || unknown.Hint.Text != "did you mean `report`?" {
			t.Errorf("%v", err)
		}
	}
	if infos, err := (engine.Offline{Workspace: s.Project()}).WorkflowList(t.Context()); err != nil || infos[0].Triggers[1].Secret == "" && infos[0].Triggers[2].Secret == "" {
		t.Errorf("no webhook names its secret: %v %+v", err, infos)
	}
}
