package browser

import (
	"context"
	_ "embed"
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
)

// The accessibility engine axe-core: rules that nobody here wrote.
//
//go:embed axe/axe.min.js
var axe string

// runAxe tells what breaks a rule, a line for each element.
const runAxe = `axe.run(document, {resultTypes: ["violations"], runOnly: %s}).then(r =>
	r.violations.flatMap(v => v.nodes.map(n => v.id + " (" + v.impact + "): " + n.html.slice(0, 160) + " at " + n.target.join(" "))))`

// allRules are the rules that a page must keep; colourRules are those of them that look
// at colours, which is all that differs between light and dark.
const (
	allRules    = `["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]`
	colourRules = `{type: "rule", values: ["color-contrast", "link-in-text-block"]}`
)

// violations are what axe finds on the page that is shown.
func (b *tab) violations(rules string) []string {
	b.t.Helper()
	eval[bool](b, `window.axe ? true : (() => {`+axe+`; return true})()`)
	ctx, cancel := context.WithTimeout(b.ctx, patience)
	defer cancel()
	found, err := chromedp.Run(ctx, chromedp.Evaluate[[]string](fmt.Sprintf(runAxe, rules), chromedp.EvalAwaitPromise))
	if err != nil {
		b.fail("axe: %v", err)
	}
	return found
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
		if found := strings.Join(b.violations(allRules), "\n"); !strings.Contains(found, rule) {
			t.Errorf("axe does not find %s; it finds:\n%s", rule, found)
		}
	}
}
