package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
)

const greetFlow = `flowrun: v1
name: greet us
description: Greets somebody.
labels: {team: web}
triggers:
  nightly:
    cron: "30 2 * * *"
    timezone: Europe/Berlin
    inputs: {name: the night}
  often: {every: 15m, inputs: {name: all}}
  hook:
    webhook: {auth: {token: "${{ secrets.HOOK }}"}}
    inputs: {name: a hook}
inputs:
  name: {type: string, minLength: 2, description: Whom to greet.}
  times: {type: integer, minimum: 1, default: 2}
steps:
  - id: text
    let: {value: "hello ${{ inputs.name }}"}
outputs:
  text: ${{ steps.text.outputs.value }}
`

const brokenFlow = `flowrun: v1
name: broken
steps:
  - id: a
    uses: core.log
    with: {txt: hi}
`

func TestWorkflowsShowWhatIsBrokenFirst(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow, "broken.yaml": brokenFlow, "asking.yaml": askingFlow})
	has(t, d.get("/workflows", 200), "3 workflows", "1 with errors", ">broken<", "1 error", ">asking<", ">greet us<", "team=web", "30 2 * * * Europe/Berlin", "every 15m", "POST /hooks/")
	page := d.get("/workflows?q=TEAM%3Dweb", 200)
	has(t, page, "1 workflow ", "greet us")
	lacks(t, mainOf(page), ">asking<")
	has(t, d.get("/workflows?q=nothing", 200), "No workflow fits")
	page = d.get("/workflows/broken", 200)
	has(t, page, "The file has errors", "it can't run", "there is no field", "workflows/broken.yaml:6:12", "FR4003", "did you mean", `class="line hit"`, "no field")
	lacks(t, page, "Start a run")
	has(t, d.post("/workflows/reload", nil, 200), "1 file with errors", "workflows/broken.yaml", "is broken")
	d.get("/workflows/none", 404)
	d.get("/workflows/"+url.PathEscape("../etc"), 404)
}

func TestAWorkflowsPageShowsItsTriggersGraphAndSource(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow})
	page := d.get("/workflows/greet%20us", 200)
	has(t, page, "Greets somebody.", "required", "Whom to greet.", `name="in.name"`, `name="in.times"`, `value="2"`, "nightly", "Next 10", "02:30:00 CE", "often", "Next 10", "hook", "POST /hooks/greet%20us/hook", "It has not run yet", "<svg", "flowrun graph workflows/greet.yaml", "Whom to greet.")
	has(t, page, "flowrun run workflows/greet.yaml -i &#39;name=…&#39; --detach")
}

func TestARunIsStartedOnceByItsForm(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow})
	page := d.post("/workflows/greet%20us/runs", url.Values{"in.name": {"A"}, "in.times": {"zero"}}, 422)
	has(t, page, "2 fields to look at", `value="A"`, "at least 2", `value="zero"`, "expects an integer")
	to := d.post("/workflows/greet%20us/runs", url.Values{"in.name": {"Ada"}, "in.times": {""}, "once": {"17"}}, 303)
	if again := d.post("/workflows/greet%20us/runs", url.Values{"in.name": {"Ada"}, "in.times": {""}, "once": {"17"}}, 303); again != to {
		t.Errorf("the form that was sent twice made %s and %s", to, again)
	}
	for _, other := range []url.Values{{"in.name": {"Ada"}, "in.times": {""}, "once": {"18"}}, {"in.name": {"Bob"}, "in.times": {""}, "once": {"17"}}, {"in.name": {"Ada"}, "in.times": {""}}} {
		if made := d.post("/workflows/greet%20us/runs", other, 303); made == to {
			t.Errorf("%v made no run of its own", other)
		}
	}
	run := d.settle(strings.TrimPrefix(to, "/runs/"))
	if run.Status != "succeeded" || run.Workflow != "greet us" || run.Trigger != "manual" {
		t.Errorf("%+v", run)
	}
	events, _, err := d.engine.Events(t.Context(), run.ID, 0, 1)
	text, _ := json.Marshal(events) // what is wrong with it is seen below
	if err != nil || len(events) != 1 || !strings.Contains(string(text), "page of ann from 127.0.0.1") || !strings.Contains(string(text), `"times":2`) {
		t.Errorf("%s (%v)", text, err)
	}
	has(t, d.get("/workflows/greet%20us", 200), "Runs", "succeeded", to)
	d.post("/workflows/none/runs", nil, 404)
	if d.send(formWithout(t, "/workflows/greet%20us/runs"), 403); d.caller.CSRF == "" {
		t.Error("no token to leave out")
	}
}

// formWithout is a form that does not come from this session.
func formWithout(t *testing.T, path string) *http.Request {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, path, strings.NewReader("in.name=Eve"))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r
}

func TestWhoMayOnlyLookSeesNoForms(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow, "asking.yaml": askingFlow})
	d.start("asking", nil)
	d.caller.Scope = guard.Viewer
	for _, path := range []string{"/workflows", "/workflows/greet%20us", "/approvals", "/schedules", "/schedules/greet%20us/often", "/connections", "/system"} {
		if page := mainOf(d.get(path, 200)); strings.Contains(page, `method="post"`) {
			t.Errorf("%s has a form that is refused", path)
		}
	}
}

func TestRoutesThatChangeAskForMoreThanLooking(t *testing.T) {
	for _, route := range Routes(Options{}) {
		method, path, _ := strings.Cut(route.Pattern, " ")
		want := guard.Viewer
		switch {
		case route.Face == guard.FaceOpen:
			want = ""
		case path == "/runs/{id}/rerun": // a page that is a form
			want = guard.Operator
		case path == "/system/backup":
			want = guard.Admin
		case method == http.MethodPost:
			want = guard.Operator
		}
		if route.Scope != want {
			t.Errorf("%s asks for %q, want %q", route.Pattern, route.Scope, want)
		}
	}
}

func TestApprovalsAreDecidedOnThePage(t *testing.T) {
	d := newDesk(t, map[string]string{"asking.yaml": askingFlow, "waiting.yaml": "flowrun: v1\nname: waiting\nsteps:\n  - id: paid\n    uses: core.wait\n    with: {signal: paid}\n"})
	has(t, d.get("/approvals", 200), "Nobody asks for an approval")
	first, second := d.start("asking", nil), d.start("asking", map[string]workspace.Input{"target": text("<b>beta</b>")})
	d.start("waiting", nil)
	page := d.get("/approvals", 200)
	has(t, page, "Publish to &lt;b&gt;beta&lt;/b&gt;?", "Publish to stable?", "Waiting for a signal", "waiting / paid")
	has(t, page, fmt.Sprintf("flowrun runs approve %s approve", second))
	values := func(run, act, amount string) url.Values {
		return url.Values{"run": {run}, "step": {"approve"}, "act": {act}, "in.amount": {amount}, "in.note": {"keep me"}, "comment": {"because"}}
	}
	page = d.post("/approvals", values(first, "approve", "0"), 422)
	has(t, page, "1 field to look at", `value="0"`, "keep me", "because")
	if strings.Count(page, "field to look at") != 1 {
		t.Error("the other form has the error too")
	}
	to := d.post("/approvals", values(first, "approve", "3"), 303)
	has(t, d.get(to, 200), "Approved: approve")
	if run := d.settle(first); run.Status != "succeeded" {
		t.Errorf("%+v", run)
	}
	steps, err := d.engine.Steps(t.Context(), first)
	if err != nil || steps[0].Decision == nil || steps[0].Decision.By != "page of ann from 127.0.0.1" || steps[0].Decision.Comment != "because" || !strings.Contains(string(steps[0].Outputs), `"amount":3`) {
		t.Errorf("%+v (%v)", steps[0], err)
	}
	has(t, d.post("/approvals", values(first, "approve", "3"), 409), "does not wait for an approval any more")
	to = d.post("/approvals", values(second, "reject", ""), 303)
	has(t, d.get(to, 200), "Rejected: approve")
	if run := d.settle(second); run.Status != "failed" {
		t.Errorf("%+v", run)
	}
	d.post("/approvals", values(second, "shrug", ""), 400)
	lacks(t, mainOf(d.get("/approvals?done=approve&run=%3Cscript%3E&step=%3Cimg%3E", 200)), "<script>", "<img>")
}

func TestASchedulesPageShowsPausesAndFires(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow})
	has(t, d.get("/schedules", 200), "Nobody acts on schedules now", "2 schedules", "greet us", "nightly", "30 2 * * *", "Europe/Berlin", "often", "every 15m", `class="strip"`, "coming")
	page := d.get("/schedules/greet%20us/nightly", 200)
	has(t, page, "Next 10 slots", "02:30:00 CE", "flowrun schedules next &#39;greet us/nightly&#39; -n 10", "Backfill", "It has not fired yet")
	to := d.post("/schedules/greet%20us/nightly/pause", url.Values{"reason": {"moving <house>"}}, 303)
	has(t, d.get(to, 200), ">Resume<", "Paused: moving &lt;house&gt;", "page of ann", "flowrun schedules resume")
	has(t, d.get("/schedules?q=paused", 200), "1 schedule", "1 paused")
	if to = d.post("/schedules/greet%20us/nightly/resume", url.Values{"back": {"/schedules"}}, 303); to != "/schedules" {
		t.Errorf("it leads to %s", to)
	}
	if to = d.post("/schedules/greet%20us/nightly/resume", url.Values{"back": {"//evil.example"}}, 303); !strings.HasPrefix(to, "/schedules/greet%20us/nightly") {
		t.Errorf("it leads to %s", to)
	}
	lacks(t, d.get("/schedules/greet%20us/nightly", 200), "Paused")
	d.post("/schedules/greet%20us/nightly/pause", url.Values{"reason": {strings.Repeat("x", 501)}}, 422)
	d.get("/schedules/greet%20us/none", 404)
	d.post("/schedules/greet%20us/none/pause", nil, 404)
}

func TestARunOfAScheduleIsStartedByHand(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow})
	to := d.post("/schedules/greet%20us/often/trigger", url.Values{"at": {"2026-03-29T02:30"}, "at.zone": {"UTC"}}, 303)
	run := d.settle(strings.TrimPrefix(to, "/runs/"))
	if run.Status != "succeeded" || run.Trigger != "often" || run.ScheduledAt.UTC().Format("2006-01-02T15:04") != "2026-03-29T02:30" {
		t.Errorf("%+v", run)
	}
	page := d.post("/schedules/greet%20us/often/trigger", url.Values{"at": {"soon"}}, 422)
	has(t, page, `value="soon"`, "No run was started")
}

func TestABackfillIsShownAndThenStarted(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow})
	path := "/schedules/greet%20us/often/backfill"
	asked := func(from, until, do string) url.Values {
		return url.Values{"from": {from}, "until": {until}, "from.zone": {"UTC"}, "until.zone": {"UTC"}, "at_once": {"2"}, "do": {do}}
	}
	has(t, d.post(path, asked("", "2026-01-05T01:00", "show"), 422), "is missing: the first slot", `value="2026-01-05T01:00"`)
	has(t, d.post(path, asked("2026-01-05T01:00", "2026-01-05T00:00", "show"), 422), "must lie after the begin")
	bad := asked("2026-01-05T00:00", "2026-01-05T01:00", "show")
	bad.Set("at_once", "lots")
	has(t, d.post(path, bad, 422), "runs at a time: 1 to 100", `value="lots"`)
	page := d.post(path, asked("2026-01-05T00:00", "2026-01-05T01:00", "show"), 200)
	has(t, page, "4 runs would start", "2026-01-05 00:00:00 UTC", "2026-01-05 00:45:00 UTC", "Start 4 runs", "--from 2026-01-05T00:00:00Z --until 2026-01-05T01:00:00Z")
	if runs, _, err := d.engine.List(t.Context(), runs.Filter{}); err != nil || len(runs) != 0 {
		t.Errorf("showing started %d runs (%v)", len(runs), err)
	}
	has(t, d.post(path, asked("2026-01-05T00:00", "2026-01-05T01:00", "start"), 200), "4 runs started")
}

func TestTheCatalogueOfActions(t *testing.T) {
	d := newDesk(t, nil)
	has(t, d.get("/plugins", 200), "core", "built in")
	has(t, d.get("/plugins/core", 200), "core.approve", "core.sleep", "flowrun plugins actions core")
	has(t, d.get("/plugins/core/approve", 200), "core.approve", "Inputs", "message", "required")
	has(t, d.get("/plugins?q=APPROV", 200), "core.approve")
	for _, path := range []string{"/plugins/none", "/plugins/core/none", "/plugins/none/none"} {
		d.get(path, 404)
	}
}

func TestTheSystemPageCountsAndBacksUp(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow})
	d.start("greet us", map[string]workspace.Input{"name": text("Ada")})
	has(t, d.get("/system", 200), "Runs kept", "succeeded", "90d", "flowrun.db", "None was made yet", "flowrun db backup")
	page := d.post("/system/backup", nil, 200)
	has(t, page, "The backup is written and checked", "backups/flowrun-", "SHA-256", "The last one is of")
	d.start("greet us", map[string]workspace.Input{"name": text("Bob")})
	if page = d.get("/system", 200); !strings.Contains(page, `<span class="num">1</span>`) {
		t.Error("the store is counted at every look")
	}
	if page = d.get("/system?count=now", 200); !strings.Contains(page, `<span class="num">2</span>`) {
		t.Error("it is not counted again when asked to")
	}
}

func TestListsArePaged(t *testing.T) {
	flows := map[string]string{}
	for i := range 60 {
		flows[fmt.Sprintf("w%02d.yaml", i)] = fmt.Sprintf("flowrun: v1\nname: w%02d\ntriggers:\n  t: {every: 15m}\nsteps:\n  - id: a\n    let: {x: 1}\n", i)
	}
	d := newDesk(t, flows)
	for _, list := range []string{"/workflows", "/schedules"} {
		page := d.get(list, 200)
		has(t, page, "60 ", "w00", "w17", "1 to 18 of 60", `href="`+list+`?page=2"`)
		lacks(t, mainOf(page), "w18")
		has(t, d.get(list+"?page=4", 200), "w54", "w59", "55 to 60 of 60")
		for _, odd := range []string{"0", "-1", "x", "99999999999999999999"} {
			has(t, d.get(list+"?page="+odd, 200), "w00")
		}
		has(t, d.get(list+"?page=77", 200), "55 to 60 of 60")
		has(t, d.get(list+"?q=w5&page=1", 200), "w50", "w59")
	}
}

// TestAChangeOfTheClockIsTold has the Sundays of March and October, of which one
// each has a change.
func TestAChangeOfTheClockIsTold(t *testing.T) {
	d := newDesk(t, map[string]string{"shift.yaml": "flowrun: v1\nname: shift\ntriggers:\n  early: {cron: \"30 2 * 3,10 0\", timezone: Europe/Berlin}\nsteps:\n  - id: a\n    let: {x: 1}\n"})
	for _, path := range []string{"/workflows/shift", "/schedules/shift/early"} {
		page := d.get(path, 200)
		if !strings.Contains(page, "02:30 does not exist") && !strings.Contains(page, "02:30 comes twice") {
			t.Errorf("%s says nothing of it: %.3000s", path, mainOf(page))
		}
	}
}

// A workflow that is disabled says so wherever it is shown, and its page puts it in force again.
func TestAWorkflowIsDisabledAndEnabledOnItsPage(t *testing.T) {
	d := newDesk(t, map[string]string{"greet.yaml": greetFlow, "asking.yaml": askingFlow})
	lacks(t, mainOf(d.get("/workflows", 200)), "disabled")
	page := d.get("/workflows/greet%20us", 200)
	has(t, page, `action="/workflows/greet%20us/disable"`, "flowrun workflows disable &#39;greet us&#39;")
	lacks(t, mainOf(d.get("/workflows/asking", 200)), "/disable") // nothing starts it but people
	d.post("/workflows/greet%20us/disable", url.Values{"reason": {strings.Repeat("x", 501)}}, 422)
	d.post("/workflows/none/disable", nil, 404)
	d.post("/workflows/greet%20us/disable", url.Values{"reason": {"moving <house>"}}, 303)
	page = d.get("/workflows/greet%20us", 200)
	has(t, page, `action="/workflows/greet%20us/enable"`, "Disabled: moving &lt;house&gt;", "flowrun workflows enable &#39;greet us&#39;", "Start a run")
	lacks(t, mainOf(page), "/disable")
	has(t, d.get("/workflows", 200), "1 disabled", "</svg>disabled<")
	has(t, d.get("/workflows?q=disabled", 200), "1 workflow ", "greet us")
	has(t, d.get("/schedules/greet%20us/nightly", 200), "paused")
	d.post("/workflows/greet%20us/enable", nil, 303)
	lacks(t, mainOf(d.get("/workflows", 200)), "disabled")
	lacks(t, mainOf(d.get("/schedules/greet%20us/nightly", 200)), "paused")
}
