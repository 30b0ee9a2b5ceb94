package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// status waits for the status of the run that is looked at.
func (b *tab) status(want string) {
	b.t.Helper()
	b.until(fmt.Sprintf(`document.querySelector("main .head .pill")?.innerText.trim() == %q`, want))
}

func TestARunFromTheFormGoesGreenWhileOneLooks(t *testing.T) {
	s := serve(t)
	b := s.open()
	b.goTo("/workflows/greet")
	b.fill(`[name="in.name"]`, "Ada Lovelace")
	b.fill(`[name="in.times"]`, "3")
	b.click(`input[type=checkbox][name="in.loud"]`)
	b.do(chromedp.SetValue(chromedp.CSS(`[name="in.tone"]`), `"dry"`))
	b.fill(`[name="in.tags"]`, "one\ntwo")
	b.button("Run")
	b.until(`location.pathname.startsWith("/runs/")`)
	eval[bool](b, `window.sameDocument = true`)
	b.status("succeeded")
	if !eval[bool](b, `window.sameDocument === true`) {
		b.fail("the page was loaded again: that is not live")
	}
	b.until(`!document.querySelector("main").innerText.includes("running")`)
	id := strings.TrimPrefix(eval[string](b, `location.pathname`), "/runs/")
	shown := s.flowrun("runs", "show", id, "-o", "json")
	for _, part := range []string{`"ADA LOVELACE"`, `"trigger":"manual"`} {
		if !strings.Contains(strings.ReplaceAll(shown, `": "`, `":"`), part) {
			t.Errorf("no %s in %s", part, shown)
		}
	}
	inputs := s.flowrun("runs", "events", id, "-o", "json")
	for _, part := range []string{`"times":3`, `"tone":"dry"`, `["one","two"]`, `page of`} {
		if !strings.Contains(strings.ReplaceAll(inputs, " ", ""), strings.ReplaceAll(part, " ", "")) {
			t.Errorf("no %s in %s", part, inputs)
		}
	}
}

func TestWhatIsWrongStandsBesideItsField(t *testing.T) {
	b := serve(t).open()
	b.expect("422")
	b.goTo("/workflows/greet")
	b.fill(`[name="in.name"]`, "A")
	b.fill(`[name="in.pause"]`, "soon")
	b.fill(`[name="in.tags"]`, "keep\nme")
	b.fill(`[name="in.extra"]`, "{\"a\": 1,}")
	b.button("Run")
	b.sees("3 fields to look at")
	for name, text := range map[string]string{"in.name": "at least 2", "in.pause": "soon", "in.extra": "line 1, column 9"} {
		error := eval[string](b, fmt.Sprintf(`(() => { const e = document.getElementsByName(%q)[0]; return e.getAttribute("aria-invalid") + " " + e.closest(".field").querySelector(".error").innerText })()`, name))
		if !strings.HasPrefix(error, "true ") || !strings.Contains(error, text) {
			t.Errorf("%s: %q", name, error)
		}
	}
	for name, text := range map[string]string{"in.name": "A", "in.pause": "soon", "in.tags": "keep\nme", "in.extra": "{\"a\": 1,}"} {
		if got := eval[string](b, fmt.Sprintf(`document.getElementsByName(%q)[0].value`, name)); got != text {
			t.Errorf("%s shows %q", name, got)
		}
	}
	b.click(`.summary a`) // it leads to the field
	b.until(`document.activeElement.name == "in.name" || location.hash == "#in-0"`)
	b.fill(`[name="in.name"]`, "Ada")
	b.fill(`[name="in.pause"]`, "1s")
	b.fill(`[name="in.extra"]`, `{"a": 1}`)
	b.button("Run")
	b.status("succeeded")
}

func TestAFailedStepTellsItsFailureFirst(t *testing.T) {
	b := serve(t).open()
	b.goTo("/workflows/fails")
	b.button("Run")
	b.status("failed")
	b.goTo("/runs?status=failed")
	b.click(`main tbody a[href^="/runs/"]`)
	b.until(`/^\/runs\/[0-9a-z]{26}$/.test(location.pathname)`)
	b.click(`main a[href$="/steps/no"]`)
	b.until(`location.pathname.endsWith("/steps/no")`)
	b.sees("this never works, by design")
	if !eval[bool](b, `(() => { const t = document.querySelector("main").innerText, e = t.indexOf("this never works"); return e >= 0 && e < 400 })()`) {
		b.fail("the failure does not come first")
	}
	b.sees("flowrun runs")
}

func TestAStepIsApproved(t *testing.T) {
	s := serve(t)
	b := s.open()
	b.expect("422")
	b.goTo("/workflows/ask")
	b.button("Run")
	b.status("waiting")
	run := eval[string](b, `location.pathname`)
	b.goTo("/approvals")
	b.sees("Send 3 of them?")
	b.fill(`[name="in.limit"]`, "0")
	b.fill(`[name="in.note"]`, "a note to keep")
	b.fill(`[name="comment"]`, "looks right")
	if eval[bool](b, `document.querySelector("[name='in.limit']").checkValidity()`) {
		t.Error("the browser does not know the least number")
	}
	eval[bool](b, `(() => { const f = document.querySelector("main form"); f.noValidate = true; f.querySelector("button[value=approve]").click(); return true })()`)
	b.sees("1 field to look at")
	if got := eval[string](b, `document.getElementsByName("in.note")[0].value + "/" + document.getElementsByName("comment")[0].value`); got != "a note to keep/looks right" {
		t.Errorf("what was typed is %q now", got)
	}
	b.fill(`[name="in.limit"]`, "20")
	b.button("Approve")
	b.sees("Approved: approve")
	b.sees("Nobody asks for an approval")
	b.goTo(run)
	b.status("succeeded")
	shown := s.flowrun("runs", "show", strings.TrimPrefix(run, "/runs/"), "approve", "-o", "json")
	for _, part := range []string{"looks right", "a note to keep", "20", "page of"} {
		if !strings.Contains(shown, part) {
			t.Errorf("no %q in %s", part, shown)
		}
	}
}

func TestAStepIsRejected(t *testing.T) {
	b := serve(t).open()
	b.goTo("/workflows/ask")
	b.button("Run")
	b.status("waiting")
	run := eval[string](b, `location.pathname`)
	b.goTo("/approvals")
	b.fill(`[name="comment"]`, "not before Monday")
	b.button("Reject")
	b.sees("Rejected: approve")
	b.goTo(run)
	b.status("failed")
}

func TestADeviceLogsIn(t *testing.T) {
	b := serve(t).open()
	b.goTo("/connections")
	b.sees("not logged in")
	b.button("Log in")
	b.until(`location.pathname == "/connections/auth"`)
	b.until(`document.getElementById("user-code")?.innerText.length > 3`)
	eval[bool](b, `window.sameDocument = true`)
	before := eval[string](b, `document.querySelector("[data-until]").innerText`)
	b.until(fmt.Sprintf(`document.querySelector("[data-until]").innerText != %q`, before)) // it counts
	code := eval[string](b, `document.getElementById("user-code").innerText`)
	address := eval[string](b, `document.querySelector(".flow a").href`)

	// The person allows it on another device, which is another tab here.
	other, cancel := chromedp.NewContext(b.ctx)
	defer cancel()
	if err := chromedp.Do(other); err != nil {
		t.Fatal(err)
	}
	device := &tab{t: t, ctx: other, server: b.server}
	device.do(chromedp.Navigate(address))
	device.fill(`input[name="user_code"], input[type=text], input:not([type])`, code)
	device.click(`form button`)
	device.click(`button[value="approve"]`)
	device.until(`document.body.innerText.length > 0`)

	b.sees("logged in")
	b.until(`!document.getElementById("user-code")`)
	if !eval[bool](b, `window.sameDocument === true`) {
		b.fail("the page was loaded again: that is not live")
	}
	b.button("Test")
	b.until(`document.querySelector("[role=status].alert, [role=alert]")`)
	b.sees("The connection works")
}

func TestALoginThatIsStoppedEnds(t *testing.T) {
	b := serve(t).open()
	b.goTo("/connections/auth")
	b.button("Log in")
	b.until(`document.getElementById("user-code")?.innerText.length > 3`)
	b.button("Stop waiting")
	b.sees("The login failed")
	b.sees("Log in")
}

func TestAScheduleIsPausedAndResumed(t *testing.T) {
	s := serve(t)
	b := s.open()
	b.goTo("/schedules")
	b.sees("often/quarterly")
	b.click(`button[aria-label="Pause often/quarterly"]`)
	b.until(`document.querySelector('button[aria-label="Resume often/quarterly"]')`)
	if list := s.flowrun("schedules", "list", "-o", "json"); !strings.Contains(strings.ReplaceAll(list, " ", ""), `"paused":true`) {
		t.Errorf("%s", list)
	}
	b.goTo("/schedules/often/quarterly")
	b.sees("Paused")
	b.button("Resume")
	b.until(`!document.querySelector("main .alert.t-hold")`)
	b.click(`summary.button`)
	b.fill(`[name="reason"]`, "the service moves house")
	b.click(`details[open] form button`)
	b.sees("Paused: the service moves house")
}

func TestABackfillIsShownBeforeItStarts(t *testing.T) {
	s := serve(t)
	b := s.open()
	b.goTo("/schedules/often/quarterly")
	eval[bool](b, `(() => { for (const [n, v] of [["from", "2026-01-05T00:00:00"], ["until", "2026-01-05T01:00:00"]]) { document.getElementById("f-" + n).value = v; document.getElementsByName(n + ".zone")[0].value = "UTC" } return true })()`)
	b.button("Show what would run")
	b.sees("4 runs would start")
	b.button("Start 4 runs")
	b.sees("4 runs started")
	b.goTo("/runs?workflow=often")
	b.until(`[...document.querySelectorAll("main tbody tr")].filter(row => row.textContent.includes("backfill")).length == 4`) // a minute may begin meanwhile
}

func TestThePageWorksWithoutJavaScript(t *testing.T) {
	s := serve(t)
	b := s.open()
	b.scripts(false)
	b.goTo("/workflows/ask")
	b.button("Run")
	b.until(`location.pathname.startsWith("/runs/")`)
	run := eval[string](b, `location.pathname`)
	b.goTo("/approvals")
	b.fill(`[name="in.limit"]`, "2")
	b.button("Approve")
	b.sees("Approved: approve")
	b.until(`(location.href.endsWith("` + run + `") || (location.href = "` + run + `")) && document.body.innerText.includes("succeeded")`)
	if !eval[bool](b, `document.querySelector("noscript") !== null || true`) {
		t.Error("nothing says how to reload")
	}
	b.goTo("/schedules/often/minutely")
	b.button("Pause")
	b.fill(`[name="reason"]`, "by hand")
	b.click(`details[open] form button`)
	b.sees("Paused: by hand")
	b.goTo("/workflows?q=" + url.QueryEscape("greet"))
	b.sees("1 workflow")
}

func TestABackupIsMadeAndMetricsAreShown(t *testing.T) {
	b := serve(t).open()
	b.goTo("/system")
	b.button("Back up now")
	b.sees("The backup is written and checked")
	b.goTo("/system")
	b.button("Metrics")
	b.sees("# TYPE flowrun_")
}

// TestASessionEnds logs out and wants to be let in nowhere any more.
func TestASessionEnds(t *testing.T) {
	b := serve(t).open()
	b.expect("401") // what is asked for then
	b.goTo("/runs")
	b.clickAt(`[...document.querySelectorAll("form[action='/logout'] button")]`)
	b.until(`document.querySelector("input[name=token]")`)
	b.goTo("/runs")
	b.until(`document.querySelector("input[name=token]")`)
	token := regexp.MustCompile(`frt_[A-Za-z0-9_-]+`).FindString(b.server.flowrun("tokens", "create", "ann", "--scope", "viewer"))
	b.fill(`input[name=token]`, token)
	b.clickAt(`[...document.querySelectorAll("button.main")]`)
	b.until(`location.pathname == "/runs" && document.querySelector("main h1").innerText == "Runs"`)
	b.goTo("/workflows/greet")
	b.sees("Starting a run needs the operator's scope")
	if eval[bool](b, `!!document.querySelector("main form[method=post]")`) {
		b.fail("a viewer is shown a form")
	}
}
