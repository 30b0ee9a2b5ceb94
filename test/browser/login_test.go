package browser

import (
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestIssue12_20TheLoginPageHasItsWidth measures the column of the login page: the
// whole of a phone but its margins, 400 pixels in the middle of anything wider.
func TestIssue12_20TheLoginPageHasItsWidth(t *testing.T) {
	s := serve(t)
	b := s.visit()
	b.expect("401") // the page in the place of another, and what a wrong link leads to
	b.expect("429") // what the eleventh wrong link does
	for _, path := range []string{"/login", "/runs", "/login?code=old", strings.TrimPrefix(s.loginLink(), s.url)} {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{320, 375, 600, 768, 900, 901, 1024, 1280, 1600} {
				b.size(width, scheme)
				b.goTo(path)
				b.until(`document.readyState == "complete"`)
				column := eval[[]float64](b, `(() => {const r = document.querySelector("main").getBoundingClientRect(); return [r.left, r.width, document.documentElement.clientWidth, document.documentElement.scrollWidth]})()`)
				left, wide, window, scrolls := column[0], column[1], column[2], column[3]
				if want := math.Min(400, window-32); math.Abs(wide-want) > 1 {
					t.Errorf("%s, %s, %d wide: the column is %.0f pixels, want %.0f", path, scheme, width, wide, want)
				}
				if math.Abs(left-(window-wide)/2) > 1 || scrolls > window {
					t.Errorf("%s, %s, %d wide: it begins at %.0f, and the page is %.0f of %.0f", path, scheme, width, left, scrolls, window)
				}
			}
		}
	}
}

// visit starts a browser with one tab that is logged in to nothing.
func (s *server) visit() *tab {
	s.t.Helper()
	b := &tab{t: s.t, ctx: newBrowser(s.t), server: s}
	b.do(chromedp.EmulateViewport(1280, 900))
	b.watch()
	return b
}

// TestIssue12_20AFormOutlivesItsSession: what was typed is there again after the login,
// and is sent once, when the person says so.
func TestIssue12_20AFormOutlivesItsSession(t *testing.T) {
	s := serve(t)
	b := s.visit()
	b.expect("401") // of the form without a session
	token := regexp.MustCompile(`frt_[A-Za-z0-9_-]+`).FindString(s.flowrun("tokens", "create", "short", "--scope", "operator"))
	b.goTo("/workflows/greet")
	b.fill(`input[name=token]`, token)
	b.clickAt(`[...document.querySelectorAll("button.main")]`)
	b.until(`document.querySelector("[name='in.name']")`)
	b.fill(`[name="in.name"]`, `Ada & "Bob" <x>`)
	s.flowrun("tokens", "rm", "short")
	b.button("Run")
	b.sees("The form that you have sent is kept")
	if address := eval[string](b, `location.href`); strings.Contains(address, "Ada") {
		t.Errorf("the form stands in the address: %s", address)
	}
	b.fill(`input[name=token]`, s.loginLink()) // a link does as well as a token
	b.clickAt(`[...document.querySelectorAll("button.main")]`)
	b.sees(`Ada & "Bob" <x>`)
	b.button("Send it now")
	b.status("succeeded")
	b.goTo("/runs")
	b.until(`document.readyState == "complete"`)
	if runs := eval[float64](b, `new Set([...document.querySelectorAll("main a[href^='/runs/0']")].map(a => a.pathname)).size`); runs != 1 {
		t.Errorf("there are %.0f runs", runs)
	}
}
