package browser

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The accessibility engine axe-core: rules that nobody here wrote.
//
//go:embed axe/axe.min.js
var axe string

// runAxe tells what breaks a rule, a line for each element.
const runAxe = `axe.run(document, {resultTypes: ["violations"], runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]}).then(r =>
	r.violations.flatMap(v => v.nodes.map(n => v.id + " (" + v.impact + "): " + n.html.slice(0, 160) + " at " + n.target.join(" "))))`

// violations are what axe finds on the page that is shown.
func (b *tab) violations() []string {
	b.t.Helper()
	eval[bool](b, `window.axe ? true : (() => {`+axe+`; return true})()`)
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](runAxe, chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail("axe: %v", err)
	}
	return found
}

// TestIssue12_26_AxeFindsNothing looks at each page, the login and pages of errors
// too, in light and dark, on a phone and on a desk.
func TestIssue12_26_AxeFindsNothing(t *testing.T) {
	b, pages := prepared(t)
	b.expect("404")
	seen := map[string]bool{}
	look := func(path string) {
		for _, scheme := range []string{"light", "dark"} {
			for _, width := range []int64{375, 1600} {
				b.size(width, scheme)
				b.goTo(path)
				b.until(`document.readyState == "complete"`)
				for _, fault := range b.violations() {
					if !seen[fault] {
						seen[fault] = true
						t.Errorf("%s, %s, %d wide: %s", path, scheme, width, fault)
					}
				}
				if wide := eval[float64](b, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
					t.Errorf("%s, %s, %d wide: it scrolls sideways by %.0f", path, scheme, width, wide)
				}
			}
		}
	}
	for _, path := range pages {
		look(path)
	}
	b.size(1600, "light")
	b.goTo("/")
	b.click(`form[action$="/logout"] button`)
	b.until(`location.pathname.startsWith("/login")`)
	look("/login")
}

// TestControlAxeFindsFaults breaks a page in ways that only axe looks for.
func TestControlAxeFindsFaults(t *testing.T) {
	b := serve(t).open()
	b.size(1600, "light")
	for rule, breaks := range map[string]string{
		"label-content-name-mismatch": `document.querySelector("main").insertAdjacentHTML("beforeend", "<button aria-label=other>shown</button>")`,
		"empty-table-header":          `document.querySelector("main").insertAdjacentHTML("beforeend", "<table><tr><th></th><td>x</td></tr></table>")`,
		"nested-interactive":          `document.querySelector("main").insertAdjacentHTML("beforeend", "<button>a <a href=/>b</a></button>")`,
		"landmark-unique":             `document.querySelector("main").insertAdjacentHTML("beforeend", "<section aria-label=x>a</section><section aria-label=x>b</section>")`,
	} {
		b.goTo("/plugins/netinfo") // not followed: a live update would mend what is broken
		b.until(`document.readyState == "complete"`)
		eval[bool](b, "("+breaks+", true)")
		if found := strings.Join(b.violations(), "\n"); !strings.Contains(found, rule) {
			t.Errorf("axe does not find %s; it finds:\n%s", rule, found)
		}
	}
}
