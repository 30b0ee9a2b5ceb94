package browser

import (
	_ "embed"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

//go:embed checks.js
var checks string

// prepared is a server in which every page has something to show.
func prepared(t *testing.T) (*tab, []string) {
	t.Helper()
	s := serve(t, "weekly-review.yaml", "traffic-drop-triage.yaml", "onboard-from-directory.yaml")
	b := s.open()
	start := func(workflow, status string) string {
		b.goTo("/workflows/" + workflow)
		if workflow == "greet" {
			b.fill(`[name="in.name"]`, "Ada")
		}
		b.button("Run")
		b.status(status)
		return eval[string](b, `location.pathname`)
	}
	greet, fails, ask := start("greet", "succeeded"), start("fails", "failed"), start("ask", "waiting")
	review := start("weekly-review", "succeeded")
	now := time.Now().UTC()
	for _, schedule := range []string{"shaky/hourly", "often/quarterly"} {
		s.flowrun("schedules", "backfill", schedule, "--from", now.Add(-11*time.Hour).Format(time.RFC3339), "--until", now.Format(time.RFC3339), "--max-parallel", "20")
	}
	b.goTo("/schedules/often/minutely")
	b.button("Pause")
	b.fill(`[name="reason"]`, "the service moves house")
	b.click(`details[open] form button`)
	b.sees("Paused: the service moves house")
	b.goTo("/connections/auth")
	b.button("Log in")
	b.until(`document.getElementById("user-code")?.innerText.length > 3`)
	return b, []string{
		"/", "/runs", "/runs?status=failed", "/runs?workflow=nothing", greet, fails, ask, fails + "/steps/no", ask + "/steps/approve",
		greet + "/logs", greet + "/data", greet + "/events", greet + "/source",
		review, review + "/data", review + "/events", review + "/source", review + "/steps/completed",
		"/approvals", "/workflows", "/workflows/traffic-drop-triage", "/workflows/onboard-from-directory", "/workflows/greet", "/workflows/broken", "/workflows/" + url.PathEscape("Wäsche - Übung 2.1"), "/schedules/" + url.PathEscape("Wäsche - Übung 2.1") + "/abends",
		"/schedules", "/schedules/often/minutely", "/schedules/greet/nightly",
		"/connections", "/connections/auth", "/connections/tasks", "/plugins", "/plugins?q=domain", "/plugins/netinfo", "/plugins/tasks", "/plugins/auth", "/plugins/core", "/plugins/tasks/users_invite", "/plugins/netinfo/whois", "/system",
		"/nothing/here",
	}
}

// TestControlTheChecksFindFaults breaks a page in each way that they look for.
func TestControlTheChecksFindFaults(t *testing.T) {
	b, _ := prepared(t)
	b.size(1600, "light")
	for fault, breaks := range map[string]string{
		"a control without a label":        `document.querySelector("main").insertAdjacentHTML("beforeend", "<input>")`,
		"no name":                          `document.querySelector("main").insertAdjacentHTML("beforeend", "<a href=/></a>")`,
		"the id stands twice":              `document.querySelector("main").insertAdjacentHTML("beforeend", "<p id=main></p>")`,
		"headings of the first level":      `document.querySelector("main").insertAdjacentHTML("beforeend", "<h1>two</h1>")`,
		"a heading skips a level":          `document.querySelector("main").insertAdjacentHTML("beforeend", "<h5>deep</h5>")`,
		"aria-describedby names nothing":   `document.querySelector("main input").setAttribute("aria-describedby", "gone")`,
		"contrast":                         `document.styleSheets[0].insertRule("main p, main td, main .help {color: #999 !important}")`,
		"the edge has a contrast":          `document.styleSheets[0].insertRule("main input {border-color: #eee !important}")`,
		"of the placeholder":               `document.querySelector("main input[type=text]").placeholder = "x", document.styleSheets[0].insertRule("::placeholder {opacity: .3 !important}", document.styleSheets[0].cssRules.length)`,
		"the focus is not seen":            `document.styleSheets[0].insertRule("*:focus {outline: none !important}")`,
		"the page scrolls sideways":        `document.querySelector("main").insertAdjacentHTML("beforeend", "<p id=wide>" + "x".repeat(400) + "</p>"), document.styleSheets[0].insertRule("#wide {white-space: nowrap; overflow-wrap: normal}")`,
		"a form without its token":         `document.querySelector("main [name=csrf]").remove()`,
		"a script in the page":             `document.querySelector("main").append(document.createElement("script"))`,
		"not an item of a list":            `document.querySelector("main ul").insertAdjacentHTML("beforeend", "<div>x</div>")`,
		"it is only":                       `document.styleSheets[0].insertRule("main button {height: 12px !important; padding: 0 !important}")`,
		"it scrolls, and the keyboard can": `document.querySelector("main").insertAdjacentHTML("beforeend", "<pre id=long>" + "x".repeat(900) + "</pre>"), document.styleSheets[0].insertRule("#long {white-space: pre; overflow-wrap: normal}")`,
	} {
		b.goTo("/workflows/greet")
		b.until(`document.readyState == "complete"`)
		broken := "(() => {" + breaks + "; return eval(" + strconv.Quote(checks) + ")})()" // at once: a live update would mend it
		if found := strings.Join(eval[[]string](b, broken), "\n"); !strings.Contains(found, fault) {
			t.Errorf("nobody found %q; found:\n%s", fault, found)
		}
	}
}

// TestTheKeyboardIsEnough starts a run and approves its step without a mouse.
func TestTheKeyboardIsEnough(t *testing.T) {
	b := serve(t).open()
	b.goTo("/")
	b.do(chromedp.KeyEvent(kb.Tab))
	if first := eval[string](b, `document.activeElement.className`); first != "skip" {
		t.Errorf("the first stop is %q, not the link that skips the navigation", first)
	}
	b.tabTo(`document.activeElement.innerText == "Workflows"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname == "/workflows"`)
	b.tabTo(`document.activeElement.innerText == "ask"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.until(`location.pathname == "/workflows/ask"`)
	b.tabTo(`document.activeElement.innerText == "Run" && document.activeElement.tagName == "BUTTON"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.status("waiting")
	b.goTo("/approvals")
	b.tabTo(`document.activeElement.name == "in.limit"`)
	b.do(chromedp.KeyEvent("7"))
	b.tabTo(`document.activeElement.innerText == "Approve"`)
	b.do(chromedp.KeyEvent(kb.Enter))
	b.sees("Approved: approve")
}

// tabTo presses the tab key until an expression is true.
func (b *tab) tabTo(expression string) {
	b.t.Helper()
	b.until(`document.readyState == "complete"`)
	for range 200 {
		if eval[bool](b, "!!("+expression+")") {
			return
		}
		b.do(chromedp.KeyEvent(kb.Tab))
	}
	b.fail("the keyboard does not reach it: %s", expression)
}

// TestTheServersTextIsNeverMarkup puts markup wherever a person can put a text.
func TestTheServersTextIsNeverMarkup(t *testing.T) {
	b := serve(t).open()
	const bad = `"><img src=x onerror="window.broken=1"><script>window.broken=1</script>`
	b.goTo("/workflows/greet")
	b.fill(`[name="in.name"]`, bad)
	b.button("Run")
	b.status("succeeded")
	run := eval[string](b, `location.pathname`)
	b.goTo("/schedules/often/minutely")
	b.button("Pause")
	b.fill(`[name="reason"]`, bad)
	b.click(`details[open] form button`)
	b.sees("Paused: " + bad)
	for _, path := range []string{run, run + "/logs", run + "/data", run + "/events", "/schedules?q=%22%3E%3Cscript%3Ewindow.broken%3D1%3C/script%3E", "/workflows?q=%3Cimg%20src=x%20onerror=window.broken=1%3E", "/runs?workflow=%22%3E%3Cscript%3Ewindow.broken%3D1%3C/script%3E", "/approvals?done=approve&run=%3Cscript%3E&step=%3Cimg%20src=x%3E", "/"} {
		b.goTo(path)
		b.until(`document.readyState == "complete"`)
		if eval[bool](b, `!!window.broken || document.querySelectorAll("main img, main script").length > 0`) {
			t.Errorf("%s: the text became markup", path)
		}
	}
}
