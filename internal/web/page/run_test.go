package page

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/guard"
)

func TestAFailedRunShowsItsFailureFirst(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	id := d.start("failing", nil)
	page := d.get(runURL(id), http.StatusOK)
	has(t, page, "<title>failed · failing", "<h1>", "failed</span>", "Resume", `<section class="alert t-bad"`, "/steps/broken", "no luck with 1", "unavailable",
		"<h2 id=\"h-steps\">Steps", "on_failure", "<h2 id=\"h-graph\">Graph")
	has(t, page, "flowrun runs resume "+id)
	has(t, page, `class="step action in t-bad" data-step="broken"`)
	has(t, page, `class="step action in t-ok" data-step="on_failure.alarm"`)
	has(t, page, `<svg class="bars"`, `<rect class="t-bad `)
	lacks(t, page, "data-live", "http-equiv") // nothing will change any more

	step := d.get(stepURL(id, "broken"), http.StatusOK)
	has(t, step, "failed · broken", "no luck with 1", "core.fail", "id</span>: broken", "flowrun runs show "+id+" broken")
	has(t, step, `rerun?from=broken"`)
}

func TestARunIsActedOnByForms(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow, "a.yaml": askingFlow})
	failed := d.start("failing", nil)

	if to := d.post(runURL(failed)+"/resume", url.Values{"back": {runURL(failed)}}, http.StatusSeeOther); to != runURL(failed) {
		t.Errorf("resume leads to %s", to)
	}
	if run := d.settle(failed); run.Attempt != 2 {
		t.Errorf("attempt %d after a resume", run.Attempt)
	}
	has(t, d.get(runURL(failed), http.StatusOK), "Attempt</dt><dd>2")

	again := d.post(runURL(failed)+"/rerun", nil, http.StatusSeeOther)
	has(t, d.get(again, http.StatusOK), "Rerun of", failed[len(failed)-8:])

	asking := d.start("asking", nil)
	page := d.get(runURL(asking), http.StatusOK)
	has(t, page, "Cancel this run", "flowrun runs cancel "+asking)
	d.post(runURL(asking)+"/cancel", url.Values{"back": {"//evil.example/"}}, http.StatusSeeOther)
	if run := d.settle(asking); run.Status != runs.RunCanceled {
		t.Errorf("canceled run is %s", run.Status)
	}
	page = d.post(runURL(asking)+"/cancel", nil, http.StatusConflict)
	has(t, page, "has ended already", "Go back")
	var by string
	history, err := d.engine.History(t.Context(), asking, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, mark := range history.Marks {
		by = mark.By
	}
	if by != "page of ann from 127.0.0.1" {
		t.Errorf("it was canceled by %q", by)
	}
}

func TestAnApprovalIsDecidedOnTheRunsPage(t *testing.T) {
	d := newDesk(t, map[string]string{"a.yaml": askingFlow})
	id := d.start("asking", map[string]workspace.Input{"target": text("beta")})
	page := d.get(runURL(id), http.StatusOK)
	has(t, page, "approve</a> asks", "Publish to beta?", `name="in.amount"`, "Approve", "Reject", "flowrun runs approve "+id+" approve")
	has(t, page, "data-live")

	t.Run("what is wrong stands beside its field and nothing is lost", func(t *testing.T) {
		page := d.post(stepURL(id, "approve")+"/approve", url.Values{"in.amount": {"none"}, "in.note": {"keep me"}, "comment": {"so <it> is"}}, http.StatusUnprocessableEntity)
		has(t, page, `value="none"`, `aria-invalid="true"`, "keep me", "so &lt;it&gt; is")
	})
	t.Run("an answer lets the run go on", func(t *testing.T) {
		back := stepURL(id, "approve")
		if to := d.post(back+"/approve", url.Values{"in.amount": {"3"}, "comment": {"fine"}}, http.StatusSeeOther); to != back {
			t.Errorf("it leads to %s", to)
		}
		d.settle(id)
		has(t, d.get(back, http.StatusOK), "approved</dt><dd>by page of ann", "fine", "Outputs", `"amount"`)
		has(t, d.get(runURL(id), http.StatusOK), "succeeded", `<h3>target`, "beta")
		has(t, d.get(runURL(id)+"/logs", http.StatusOK), "published 3")
	})
	t.Run("a second answer is refused", func(t *testing.T) {
		d.post(stepURL(id, "approve")+"/approve", url.Values{"in.amount": {"3"}}, http.StatusConflict)
	})
	t.Run("a rejection fails the step", func(t *testing.T) {
		other := d.start("asking", nil)
		d.post(stepURL(other, "approve")+"/reject", url.Values{"comment": {"not today"}}, http.StatusSeeOther)
		if run := d.settle(other); run.Status != runs.RunFailed {
			t.Errorf("it is %s", run.Status)
		}
		has(t, d.get(stepURL(other, "approve"), http.StatusOK), "not today")
	})
}

func TestARerunTakesEditedInputs(t *testing.T) {
	d := newDesk(t, map[string]string{"a.yaml": askingFlow})
	id := d.start("asking", map[string]workspace.Input{"target": text("beta"), "count": rawJSON("5")})
	form := d.get(runURL(id)+"/rerun", http.StatusOK)
	has(t, form, `name="in.target"`, `value="beta"`, `name="in.count"`, `value="5"`, "<option>approve", "<option>publish")

	wrong := d.post(runURL(id)+"/rerun", url.Values{"edited": {"1"}, "in.target": {"gamma"}, "in.count": {"many"}}, http.StatusUnprocessableEntity)
	has(t, wrong, `value="gamma"`, `value="many"`, `aria-invalid`)

	to := d.post(runURL(id)+"/rerun", url.Values{"edited": {"1"}, "in.target": {"gamma"}, "in.count": {"5"}}, http.StatusSeeOther)
	again := strings.TrimPrefix(to, "/runs/")
	d.settle(again)
	has(t, d.get(to, http.StatusOK), "Publish to gamma?")
	has(t, d.get(to+"/data", http.StatusOK), "Inputs", "count", "5", "target", "gamma")

	twice := url.Values{"once": {"17"}}
	if first, again := d.post(runURL(id)+"/rerun", twice, http.StatusSeeOther), d.post(runURL(id)+"/rerun", twice, http.StatusSeeOther); first != again {
		t.Errorf("a double click on Rerun made %s and %s", first, again)
	}
	wrong = d.post(runURL(id)+"/rerun", url.Values{"edited": {"1"}, "from": {"publish"}, "in.target": {"gamma"}, "in.count": {"5"}}, http.StatusUnprocessableEntity)
	has(t, wrong, `role="alert"`)
}

func TestALoopIsShownByItsItems(t *testing.T) {
	d := newDesk(t, map[string]string{"l.yaml": loopFlow})
	t.Run("a short one is shown whole", func(t *testing.T) {
		id := d.start("looping", map[string]workspace.Input{"names": rawJSON(`["a/b","bad one","c].d"]`)})
		page := d.get(runURL(id), http.StatusOK)
		has(t, page, "3 items: 1 failed, 2 succeeded", "bad one", "bad one is bad", "a/b", "c].d")
		for _, path := range []string{"each[a/b].look", "each[bad one].check", "each[c%5D.d].look"} {
			has(t, page, strings.ReplaceAll(stepURL(id, path), "&", "&amp;"))
			has(t, d.get(stepURL(id, path), http.StatusOK), "<h1>"+path)
		}
		has(t, d.get(stepURL(id, "each"), http.StatusOK), "Items", "bad one", "a/b")
	})
	t.Run("a long one shows what failed, and pages", func(t *testing.T) {
		var names []string
		for i := range 230 {
			names = append(names, fmt.Sprintf("n%03d", i))
		}
		names[120] = "bad120"
		encoded, _ := json.Marshal(names) // texts
		id := d.start("looping", map[string]workspace.Input{"names": rawJSON(string(encoded))})
		page := d.get(runURL(id), http.StatusOK)
		has(t, page, "1 failed</a>", "all 230 items", "101–200", "bad120 is bad")
		lacks(t, page, "n007")
		page = d.get(runURL(id)+"?items=each", http.StatusOK)
		has(t, page, "show fewer", "1–100", "201–230", "bad120", "n000", "n098")
		lacks(t, page, ">n099<")
		page = d.get(runURL(id)+"?items=each&from=200", http.StatusOK)
		has(t, page, "101–200", "n200", "n229")
		d.get(runURL(id)+"?items=each&from=-5", http.StatusOK)
		d.get(runURL(id)+"?items=nope&from=99999999999999999999", http.StatusOK)
		if len(page) > 200<<10 {
			t.Errorf("the page of a hundred items has %d bytes", len(page))
		}
	})
}

func TestThePartsOfARun(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	id := d.start("failing", nil)
	has(t, d.get(runURL(id)+"/logs", http.StatusOK), ">error</span>", "it failed")
	has(t, d.get(runURL(id)+"/logs?level=error&step=finally:alarm", http.StatusOK), "No line fits")
	has(t, d.get(runURL(id)+"/events", http.StatusOK), "started", "timer", "record</summary>")
	has(t, d.get(runURL(id)+"/events?from=999999", http.StatusOK), "First events")
	source := d.get(runURL(id)+"/source", http.StatusOK)
	has(t, source, `id="L1"`, "flowrun</span>: v1", `id="L8"`, "failed</span>", "broken")
	has(t, d.get(runURL(id)+"/data", http.StatusOK), "takes no inputs", "Outputs of the steps", "before")
}

func TestWhatDoesNotExistIsNotFound(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	id := d.start("failing", nil)
	for _, path := range []string{
		"/runs/nope", "/runs/..%2f..%2fetc", "/runs/01m81n8zzzzzzzzzzzzzzzzzzz", runURL(id) + "/steps/none", runURL(id) + "/steps/%3Cscript%3E",
		runURL(id) + "/outputs/none", "/runs/nope/logs", "/runs/nope/rerun",
	} {
		page := d.get(path, http.StatusNotFound)
		has(t, page, "there is no")
		lacks(t, page, "<script>")
	}
	d.post("/runs/nope/cancel", nil, http.StatusNotFound)
	d.post("/runs/01m81n8zzzzzzzzzzzzzzzzzzz/resume", nil, http.StatusNotFound)
}

func TestAViewerSeesNoFormsAndAFormNeedsItsToken(t *testing.T) {
	d := newDesk(t, map[string]string{"a.yaml": askingFlow})
	id := d.start("asking", nil)
	d.caller.Scope = guard.Viewer
	for _, path := range []string{runURL(id), stepURL(id, "approve")} {
		lacks(t, mainOf(d.get(path, http.StatusOK)), `method="post"`)
	}
	d.caller.Scope = guard.Admin
	for _, csrf := range []string{"", "wrong", deskCSRF + "x"} {
		values := url.Values{"csrf": {csrf}}
		r := httptest.NewRequest(http.MethodPost, runURL(id)+"/cancel", strings.NewReader(values.Encode()))
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		has(t, d.send(r, http.StatusForbidden), "not from this session")
	}
	d.caller.CSRF = "" // a session without one can't act at all
	r := httptest.NewRequest(http.MethodPost, runURL(id)+"/cancel", strings.NewReader("csrf="))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	d.send(r, http.StatusForbidden)
	if run := d.settle(id); run.Status.Ended() {
		t.Errorf("the run is %s", run.Status)
	}
}

func TestAnOutputIsSaved(t *testing.T) {
	d := newDesk(t, map[string]string{"o.yaml": `flowrun: v1
name: writing
steps:
  - id: one
    let: {n: 1}
outputs:
  digest: {value: "# Title\n\n<b>not html</b>\n", format: markdown}
  number: ${{ steps.one.outputs.n }}
`})
	id := d.start("writing", nil)
	if got := d.get(runURL(id)+"/outputs/digest", http.StatusOK); got != "# Title\n\n<b>not html</b>\n" {
		t.Errorf("%q", got)
	}
	if got := d.get(runURL(id)+"/outputs/number", http.StatusOK); got != "1\n" {
		t.Errorf("%q", got)
	}
	page := d.get(runURL(id), http.StatusOK)
	has(t, page, "digest", "# Title", "&lt;b&gt;not html&lt;/b&gt;")
}

func TestTheLoginFormHasItsHint(t *testing.T) {
	var out strings.Builder
	write := NewLogin()
	if err := write(&out, guard.LoginView{Error: "wrong <token>", Hint: "make one", Next: `/runs?x="y"`}); err != nil {
		t.Fatal(err)
	}
	page := out.String()
	has(t, page, "wrong &lt;token&gt;", "make one", `name="next" value="/runs?x=&#34;y&#34;"`, `<label class="f" for="token">`)
	lacks(t, page, "http-equiv", "style=")
	out.Reset()
	if err := write(&out, guard.LoginView{Again: true}); err != nil {
		t.Fatal(err)
	}
	has(t, out.String(), `http-equiv="refresh"`)
}
