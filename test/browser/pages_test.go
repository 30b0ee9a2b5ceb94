package browser

import (
	"fmt"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// maxPage bounds what a page loads when nothing is in the cache, in bytes.
const maxPage = 60_000

// looks are how each page is looked at, with the rules of axe that the look before it
// has not settled.
var looks = []struct {
	width         int64
	scheme, rules string
}{{1600, "light", allRules}, {1600, "dark", colourRules}, {375, "dark", allRules}, {375, "light", colourRules}}

// look opens a page and looks at it.
func (b *tab) look(path string) {
	b.t.Helper()
	b.goTo(path)
	b.lookHere(path)
}

// lookHere looks at the page that is shown: in light and dark, on a phone and on a
// desk, for what axe and our own checks find, for its width and its weight.
func (b *tab) lookHere(name string) {
	b.t.Helper()
	b.until(`document.readyState == "complete"`)
	b.until(`document.styleSheets.length > 0`)
	loaded := eval[float64](b, `[...performance.getEntriesByType("navigation"), ...performance.getEntriesByType("resource")].filter(e => !e.name.includes("/ui/")).reduce((sum, e) => sum + e.encodedBodySize, 0)`)
	if loaded > maxPage || loaded < 3000 {
		b.t.Errorf("%s loads %.0f bytes, not 3,000 to %d", name, loaded, maxPage)
	}
	for _, foreign := range eval[[]string](b, `performance.getEntriesByType("resource").map(e => e.name).filter(n => !n.startsWith(location.origin))`) {
		b.t.Errorf("%s loads %s", name, foreign)
	}
	seen := map[string]bool{}
	for _, look := range looks {
		b.size(look.width, look.scheme)
		for _, fault := range append(b.violations(look.rules), eval[[]string](b, checks)...) {
			if !seen[fault] {
				seen[fault] = true
				b.t.Errorf("%s, %s, %d wide: %s", name, look.scheme, look.width, fault)
			}
		}
		if wide := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			b.t.Errorf("%s, %s, %d wide: it scrolls sideways by %.0f", name, look.scheme, look.width, wide)
		}
	}
	if eval[bool](b, `!!window.broken`) {
		b.t.Errorf("%s: a text became a script", name)
	}
}

// lookAtAll shares pages out among tabs.
func lookAtAll(t *testing.T, s *server, pages []string) {
	t.Helper()
	const tabs = 2
	t.Run("pages", func(t *testing.T) {
		for first := range tabs {
			t.Run(strconv.Itoa(first), func(t *testing.T) {
				t.Parallel()
				own := &server{t: t, project: s.project, url: s.url}
				b := own.open()
				b.expect("400")
				b.expect("404") // what is not there
				b.expect("403")
				b.expect("405")
				b.noCache()
				for i := first; i < len(pages); i += tabs {
					b.look(pages[i])
				}
			})
		}
	})
}

// TestIssue12_26_EveryPageIsForEverybody looks at each page over a store as people
// have it.
func TestIssue12_26_EveryPageIsForEverybody(t *testing.T) {
	b, pages := prepared(t)
	lookAtAll(t, b.server, pages)
	b.refusals("/workflows/greet")
	b.logins()
}

// TestIssue12_26_EveryPageBearsHostileNames does the same where all that has a name has
// one that no page is made for.
func TestIssue12_26_EveryPageBearsHostileNames(t *testing.T) {
	s := serveProject(t, func(folder string) { hostile(t, folder) })
	b := s.open()
	b.expect("422")
	start := func(workflow, status string) string {
		b.goTo("/workflows/" + url.PathEscape(workflow))
		b.button("Run")
		b.status(status)
		return eval[string](b, `location.pathname`)
	}
	long, ask, other := start(longName, "failed"), start("a", "waiting"), start(otherName, "succeeded")
	b.goTo("/schedules/" + longName + "/" + longName)
	b.button("Pause")
	b.fill(`[name="reason"]`, bad)
	b.click(`details[open] form button`)
	b.sees("Paused: ")
	link := strings.ToLower(longWord[:63])
	pages := []string{
		"/", "/runs", "/runs?status=failed&label=" + url.QueryEscape(longName+"="+longWord), "/runs?workflow=" + url.QueryEscape(bad), "/runs?query=" + url.QueryEscape(hugeWord[:1900]),
		long, long + "?items=each", long + "/logs", long + "/logs?q=" + hugeWord[:190], long + "/data", long + "/events", long + "/source", long + "/rerun",
		long + "/steps/" + longID[:90], long + "/steps/each", long + "/steps/" + url.PathEscape("each[0]."+longID[:90]+"x"), long + "/steps/" + url.PathEscape("each[1].check"), long + "/steps/fails" + longID[:90],
		ask, ask + "/steps/b", "/approvals", "/approvals?done=approve&run=" + longWord + "&step=" + url.QueryEscape(bad), other,
		"/workflows", "/workflows?q=" + longWord, "/workflows/" + longName, "/workflows/a", "/workflows/" + url.PathEscape(otherName), "/workflows/" + longName[:99] + "b",
		"/schedules", "/schedules?q=" + longWord, "/schedules/" + longName + "/" + longName, "/schedules/" + url.PathEscape(otherName) + "/t",
		"/connections", "/connections/" + link, "/connections/x", "/plugins?q=" + longWord, "/system", "/" + longWord, "/runs/" + longWord, "/workflows/" + url.PathEscape(bad),
	}
	lookAtAll(t, s, pages)
	b.noCache()
	b.refusals("/workflows/" + longName)
	// Somebody of a long name, who may only look.
	token := regexp.MustCompile(`frt_[A-Za-z0-9_-]+`).FindString(s.flowrun("tokens", "create", longWord[:63], "--scope", "viewer"))
	viewer := s.visit()
	viewer.noCache()
	viewer.expect("401")
	viewer.expect("403")
	viewer.look("/login?next=" + url.QueryEscape("/runs?q="+longWord))
	viewer.fill(`input[name=token]`, token)
	viewer.clickAt(`[...document.querySelectorAll("button.main")]`)
	viewer.until(`location.pathname == "/runs"`)
	viewer.lookHere("/runs of somebody who may only look")
	viewer.look("/workflows/" + longName)
	viewer.look("/approvals")
	viewer.look(long + "/rerun") // 403
}

// refusals are forms that fail, with what each of the statuses shows.
func (b *tab) refusals(workflow string) {
	b.t.Helper()
	for _, status := range []string{"400", "403", "404", "405", "409", "413", "422", "429"} {
		b.expect(status)
	}
	b.noCache()
	b.goTo("/")
	token := eval[string](b, `document.querySelector("[name=csrf]").value`)
	ended := strings.TrimSpace(regexp.MustCompile(`[0-9a-z]{26}`).FindString(b.server.flowrun("runs", "list", "-o", "json")))
	for _, one := range []struct {
		status, path string
		fields       map[string]string
	}{
		{"400", "/approvals", map[string]string{"csrf": token}},
		{"403", workflow + "/runs", map[string]string{"csrf": "of another session"}},
		{"404", "/workflows/" + longWord + "/runs", map[string]string{"csrf": token}},
		{"405", "/system", map[string]string{"csrf": token}},
		{"409", "/approvals", map[string]string{"csrf": token, "act": "approve", "run": ended, "step": longWord}},
		{"413", workflow + "/runs", map[string]string{"csrf": token, "in.x": strings.Repeat("x", 3<<20)}},
		{"422", workflow + "/runs", map[string]string{"csrf": token, "in.name": "A", "in.x": "{" + longWord, "in.extra": longWord, "in.pick": longWord}},
	} {
		b.goTo("/nothing/here")
		eval[bool](b, fmt.Sprintf(`(() => {
			const form = document.createElement("form");
			form.method = "post"; form.action = %q;
			for (const [name, value] of Object.entries(%s)) { const e = document.createElement("textarea"); e.name = name; e.value = value; form.append(e); }
			document.body.append(form); window.sent = true; setTimeout(() => form.submit()); return true })()`, one.path, quoted(one.fields)))
		b.until(`!window.sent && document.readyState == "complete" && document.title`)
		if got := eval[string](b, `String(performance.getEntriesByType("navigation")[0].responseStatus)`); got != one.status {
			b.t.Errorf("the form of %s is answered with %s, not %s", one.path, got, one.status)
		}
		b.lookHere(one.status + " of " + one.path)
	}
}

// logins are the states of the login: none, a wrong credential, too many of them, a
// link that is good, one that is not, a form that outlives its session.
func (b *tab) logins() {
	b.t.Helper()
	v := b.server.visit()
	v.noCache()
	v.expect("401")
	v.expect("429")
	v.look("/login")
	v.look("/runs")
	v.look("/login?code=old")
	v.look(strings.TrimPrefix(b.server.loginLink(), b.server.url))
	for wrong := range 12 {
		v.goTo("/login")
		v.fill(`input[name=token]`, "frt_wrong")
		v.clickAt(`[...document.querySelectorAll("button.main")]`)
		v.until(`document.querySelector("[role=alert]")`)
		if wrong == 0 || wrong == 11 {
			v.lookHere("a wrong token")
		}
	}
	b.goTo("/workflows/greet")
	b.fill(`[name="in.name"]`, bad)
	b.expect("401")
	b.do(chromedp.EmulateViewport(1600, 900))
	eval[bool](b, `fetch("/logout", {method: "POST", body: new URLSearchParams({csrf: document.querySelector("[name=csrf]").value})}).then(() => { window.out = true }), true`)
	b.until(`window.out`)
	b.button("Run")
	b.sees("The form that you have sent is kept")
	b.lookHere("a form that is kept")
	b.fill(`input[name=token]`, b.server.loginLink())
	b.clickAt(`[...document.querySelectorAll("button.main")]`)
	b.sees("Send it now")
	b.lookHere("a form that can be sent again")
}

// TestControlOfTheLook breaks a page by a name that is too wide and a control without a
// label: the look at it finds both.
func TestControlOfTheLook(t *testing.T) {
	b := serve(t).open()
	b.size(375, "light")
	for want, breaks := range map[string]string{
		"label":         `document.querySelector("main").insertAdjacentHTML("beforeend", "<input>")`,
		"image-alt":     `document.querySelector("main").insertAdjacentHTML("beforeend", "<img src=/static/icon.svg>")`,
		"empty-heading": `document.querySelector("main").insertAdjacentHTML("beforeend", "<h2></h2>")`,
	} {
		b.goTo("/plugins/netinfo")
		b.until(`document.readyState == "complete"`)
		eval[bool](b, "("+breaks+", true)")
		if found := strings.Join(b.violations(allRules), "\n"); !strings.Contains(found, want) {
			t.Errorf("nobody finds %s; found:\n%s", want, found)
		}
	}
	b.goTo("/plugins/netinfo")
	b.until(`document.readyState == "complete"`)
	eval[bool](b, `(document.querySelector("main").insertAdjacentHTML("beforeend", "<p class=nowrap>`+longWord+`</p>"), true)`)
	if wide := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide <= 0 {
		t.Error("a name that is too wide is not seen")
	}
}
