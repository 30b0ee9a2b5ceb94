package web

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/trigger"
	"github.com/flowrun/flowrun/internal/web/wire"
)

func TestSchedulesGoThroughTheAPI(t *testing.T) {
	a := newAlwaysOn(t)
	client, ctx := a.client(), t.Context()
	page, err := client.Schedules(ctx)
	if err != nil || len(page.Items) != 1 || page.Items[0].ID != scheduleKnown || page.Version != "2026a" || page.Source != "embedded" {
		t.Errorf("schedules %+v, %v", page, err)
	}
	at := time.Date(2026, 3, 29, 0, 0, 0, 0, time.UTC)
	next, err := client.NextFires(ctx, scheduleKnown, at, 3)
	if err != nil || next.ID != scheduleKnown || next.Version != "2026a" {
		t.Errorf("next %+v, %v", next, err)
	}
	if _, err := client.NextFires(ctx, scheduleKnown, time.Time{}, 0); err != nil {
		t.Error(err)
	}
	if want := []any{at, 3, time.Time{}, 10}; !cmp.Equal(a.schedules.asked, want) {
		t.Error(cmp.Diff(want, a.schedules.asked))
	}
	item, err := client.PauseSchedule(ctx, scheduleKnown, trigger.PauseRequest{Reason: "holiday", By: "ann"})
	if err != nil || !item.Paused || item.PausedBy != "ann" || item.PausedReason != "holiday" {
		t.Errorf("pause %+v, %v", item, err)
	}
	if item, err := client.ResumeSchedule(ctx, scheduleKnown, trigger.PauseRequest{}); err != nil || item.Paused {
		t.Errorf("resume %+v, %v", item, err)
	}
	a.schedules.asked = nil
	request := trigger.Request{At: at, By: "ann"}
	if run, err := client.TriggerSchedule(ctx, scheduleKnown, request); err != nil || run.ID != knownRun {
		t.Errorf("trigger %+v, %v", run, err)
	}
	backfill := trigger.BackfillRequest{From: at, Until: at.Add(time.Hour), All: true, DryRun: true, MaxParallel: 2, By: "ann"}
	if result, err := client.Backfill(ctx, scheduleKnown, backfill); err != nil || !result.DryRun {
		t.Errorf("backfill %+v, %v", result, err)
	}
	if want := []any{request, backfill}; !cmp.Equal(a.schedules.asked, want) {
		t.Error(cmp.Diff(want, a.schedules.asked))
	}
	filter := runs.FireFilter{Workflow: "w", Trigger: "t", Since: at, Until: at.Add(time.Hour), Limit: 2, Cursor: "c"}
	fires, err := client.Fires(ctx, filter)
	if err != nil || len(fires.Items) != 1 || fires.NextCursor == nil || *fires.NextCursor != "more" || !cmp.Equal(a.schedules.filter, filter) {
		t.Errorf("fires %+v, %v, asked %+v", fires, err, a.schedules.filter)
	}
}

func TestASchedulesIDIsOneSegmentOrTwo(t *testing.T) {
	workflow, trigger, _ := strings.Cut(scheduleKnown, "/")
	handler := NewSocketHandler(newAlwaysOn(t).options())
	for name, id := range map[string]string{
		"one segment":  url.PathEscape(scheduleKnown),
		"two segments": url.PathEscape(workflow) + "/" + url.PathEscape(trigger),
	} {
		for _, path := range []string{"GET next", "POST pause", "POST resume", "POST trigger"} {
			method, act, _ := strings.Cut(path, " ")
			if w := send(handler, method, Prefix+"/schedules/"+id+"/"+act, ""); w.Code/100 != 2 {
				t.Errorf("%s, %s: %d %s", name, path, w.Code, w.Body)
			}
		}
	}
	for id, want := range map[string]wire.Code{
		"nightly": wire.CodeNotFound, "a%2Fb": wire.CodeNotFound, "a/b": wire.CodeNotFound, "a%2Fb%2Fc": wire.CodeNotFound, "%2Fb": wire.CodeNotFound, "a%2F": wire.CodeNotFound,
		strings.Repeat("a", 1100) + "%2Fb": wire.CodeNotFound,
	} {
		if got := problemCode(t, send(handler, "GET", Prefix+"/schedules/"+id+"/next", "")); got != want {
			t.Errorf("%.50s: code %s, want %s", id, got, want)
		}
	}
}

func TestScheduleRequestsThatAreRefused(t *testing.T) {
	a := newAlwaysOn(t)
	handler := NewSocketHandler(a.options())
	path := Prefix + "/schedules/" + url.PathEscape(scheduleKnown)
	for name, test := range map[string]struct{ method, target, body string }{
		"too many slots":        {"GET", path + "/next?n=1001", ""},
		"no slot":               {"GET", path + "/next?n=0", ""},
		"a from that is none":   {"GET", path + "/next?from=monday", ""},
		"an unknown parameter":  {"GET", path + "/next?limit=1", ""},
		"a backfill of nothing": {"POST", path + "/backfill", ""},
		"times that are none":   {"POST", path + "/backfill", `{"from":"monday","until":"friday"}`},
		"an unknown field":      {"POST", path + "/pause", `{"until":"tomorrow"}`},
		"a fires' limit":        {"GET", Prefix + "/fires?limit=0", ""},
		"an unknown filter":     {"GET", Prefix + "/fires?status=x", ""},
	} {
		t.Run(name, func(t *testing.T) {
			if w := send(handler, test.method, test.target, test.body); problemCode(t, w) != wire.CodeBadRequest {
				t.Errorf("%s", w.Body)
			}
		})
	}
}

func TestWhoActsOverTCPIsTheToken(t *testing.T) {
	a := newAlwaysOn(t)
	handler := a.remote(ci())
	const by = "token ci from 10.0.0.1"
	path := Prefix + "/schedules/" + url.PathEscape(scheduleKnown)
	if w := send(handler, "POST", path+"/pause", `{"by":"the boss"}`); !strings.Contains(w.Body.String(), by) {
		t.Errorf("pause: %s", w.Body)
	}
	send(handler, "POST", path+"/trigger", `{"by":"the boss","request_id":"r"}`)
	if got := a.schedules.asked[0].(trigger.Request); got.By != by || got.RequestID != "api/t1/"+scheduleKnown+"/r" {
		t.Errorf("trigger: %+v", got)
	}
	send(handler, "POST", path+"/trigger", "", "Idempotency-Key", "k")
	if got := a.schedules.asked[1].(trigger.Request); got.RequestID != "api/t1/"+scheduleKnown+"/k" {
		t.Errorf("trigger with a key: %+v", got)
	}
	if w := send(handler, "POST", path+"/trigger", "", "Idempotency-Key", "k k"); problemCode(t, w) != wire.CodeBadRequest {
		t.Errorf("a key with a space: %s", w.Body)
	}
	if w := send(handler, "POST", Prefix+"/runs/"+knownRun+"/cancel", `{"by":"the boss"}`); w.Code != http.StatusAccepted || a.runs.canceled[0] != knownRun+" by "+by {
		t.Errorf("cancel: %d %v", w.Code, a.runs.canceled)
	}
}

// TestIssue12_25APollThatFoundNothingIsAnsweredWithoutARun: there is none to name in
// the answer or in Location.
func TestIssue12_25APollThatFoundNothingIsAnsweredWithoutARun(t *testing.T) {
	a := newAlwaysOn(t)
	a.schedules.nothing = true
	for name, handler := range map[string]http.Handler{"socket": NewSocketHandler(a.options()), "TCP": a.remote(ci())} {
		w := send(handler, "POST", Prefix+"/schedules/"+url.PathEscape(scheduleKnown)+"/trigger", "")
		if got := strings.TrimSpace(w.Body.String()); w.Code != http.StatusOK || got != `{"run":null}` || w.Header().Get("Location") != "" {
			t.Errorf("%s: %d %s, Location %q", name, w.Code, got, w.Header().Get("Location"))
		}
	}
}
