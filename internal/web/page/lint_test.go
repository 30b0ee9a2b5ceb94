package page

import (
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// element is one element of a page.
type element struct {
	name   string
	attrs  map[string]string
	inside []string // the names of those around it
	text   string   // of it and of what is in it
	label  bool     // a label is around it
	form   int      // the form that it stands in; 0 = none
	hidden bool     // from those who don't see
}

func (e *element) attr(name string) string { return e.attrs[name] }

func (e *element) has(name string) bool {
	_, found := e.attrs[name]
	return found
}

// readPage takes a page apart. Pages are written so that a forgiving XML reader
// understands them.
func readPage(t *testing.T, page string) []*element {
	t.Helper()
	decoder := xml.NewDecoder(strings.NewReader(page))
	decoder.Strict, decoder.AutoClose, decoder.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var all, open []*element
	forms, form := 0, 0
	for {
		token, err := decoder.Token()
		if err == io.EOF {
			break
		}
		if err != nil {
			t.Fatalf("the page can't be read: %v", err)
		}
		switch token := token.(type) {
		case xml.StartElement:
			e := &element{name: token.Name.Local, attrs: map[string]string{}}
			for _, a := range token.Attr {
				e.attrs[a.Name.Local] = a.Value
			}
			if e.name == "form" {
				forms++
				form = forms
			}
			e.form = form
			for _, around := range open {
				e.inside = append(e.inside, around.name)
				e.label = e.label || around.name == "label"
				e.hidden = e.hidden || around.attr("aria-hidden") == "true"
			}
			all, open = append(all, e), append(open, e)
		case xml.EndElement:
			if token.Name.Local == "form" {
				form = 0
			}
			if len(open) > 0 && open[len(open)-1].name != token.Name.Local {
				t.Fatalf("</%s> closes <%s>", token.Name.Local, open[len(open)-1].name)
			}
			open = open[:len(open)-1]
		case xml.CharData:
			for _, e := range open {
				e.text += string(token)
			}
		}
	}
	return all
}

// lint holds a page against the rules that all pages keep.
func lint(t *testing.T, path, page string) []*element {
	t.Helper()
	complain := func(format string, args ...any) {
		t.Helper()
		t.Errorf("%s: "+format, append([]any{path}, args...)...)
	}
	all := readPage(t, page)
	ids, labelled, tokens, posts := map[string]bool{}, map[string]bool{}, map[int]bool{}, map[int]bool{}
	for _, e := range all {
		if id := e.attr("id"); e.has("id") {
			if ids[id] || id == "" {
				complain("the id %q is there twice, or empty", id)
			}
			ids[id] = true
		}
		if e.name == "label" && e.has("for") {
			labelled[e.attr("for")] = true
		}
		if e.name == "form" && e.attr("method") == "post" {
			posts[e.form] = true
		}
		if e.name == "input" && e.attr("name") == "csrf" && e.attr("value") == deskCSRF {
			tokens[e.form] = true
		}
	}
	for form := range posts {
		if !tokens[form] {
			complain("form %d has no csrf field", form)
		}
	}
	level, heads := 0, 0
	for _, e := range all {
		lintElement(complain, e, ids, labelled)
		if len(e.name) == 2 && e.name[0] == 'h' && e.name[1] >= '1' && e.name[1] <= '6' {
			now := int(e.name[1] - '0')
			if now > level+1 {
				complain("<%s>%s follows an <h%d>", e.name, strings.TrimSpace(e.text), level)
			}
			if level = now; now == 1 {
				heads++
			}
		}
	}
	if heads != 1 {
		complain("it has %d <h1>", heads)
	}
	for _, want := range []string{`<html lang="en">`, `<main id="main"`, `<a class="skip" href="#main">`, `name="viewport"`} {
		if !strings.Contains(page, want) {
			complain("it lacks %s", want)
		}
	}
	return all
}

func lintElement(complain func(string, ...any), e *element, ids, labelled map[string]bool) {
	for name, value := range e.attrs {
		switch {
		case strings.HasPrefix(name, "on") || name == "style" || name == "srcdoc":
			complain("<%s %s=%q>", e.name, name, value)
		case name == "aria-labelledby" || name == "aria-describedby":
			for _, id := range strings.Fields(value) {
				if !ids[id] {
					complain("<%s %s=%q>: there is no such id", e.name, name, value)
				}
			}
		case name == "href" || name == "action" || name == "formaction" || name == "src":
			if !strings.HasPrefix(value, "/") && !strings.HasPrefix(value, "#") || strings.HasPrefix(value, "//") {
				complain("<%s %s=%q> leads away", e.name, name, value)
			}
		}
	}
	name := strings.TrimSpace(e.text) + e.attr("aria-label")
	switch e.name {
	case "style", "iframe", "object", "embed", "img", "base":
		complain("there is a <%s>", e.name)
	case "script":
		if !strings.HasPrefix(e.attr("src"), "/static/") || strings.TrimSpace(e.text) != "" {
			complain("there is an inline script")
		}
	case "a", "button", "summary", "th":
		if name == "" && e.name != "th" {
			complain("<%s %v> has no name", e.name, e.attrs)
		}
	case "input", "select", "textarea":
		if e.attr("type") != "hidden" && !e.label && !labelled[e.attr("id")] && !e.has("aria-label") {
			complain("<%s name=%q> has no label", e.name, e.attr("name"))
		}
	case "svg":
		drawn := e.attr("role") == "img" || e.attr("role") == "group"
		if !e.hidden && e.attr("aria-hidden") != "true" && !(drawn && (e.has("aria-label") || e.has("aria-labelledby"))) && !slices.Contains(e.inside, "svg") {
			complain("an <svg class=%q> says nothing to those who don't see it", e.attr("class"))
		}
	}
}

// hostile is what nobody should ever write, and some will.
const hostile = `<img src=x onerror=alert(1)>"'&amp;<script>alert(2)</script>`

const hostileFlow = `flowrun: v1
name: hostile
description: 'D <img src=x onerror=alert(1)>"''&amp;<script>alert(2)</script>'
labels: {area: '<img src=x onerror=alert(1)>"'}
inputs:
  word: {type: string, description: '<img src=x onerror=alert(1)>"''', default: '<img src=x onerror=alert(1)>"'''}
  list: {type: array, items: {type: string}, default: ['<img src=x onerror=alert(1)>', 'a"b]''/../..', '</script>']}
steps:
  - id: say
    name: '<img src=x onerror=alert(1)>"'''
    uses: core.log
    with: {text: "${{ inputs.word }}"}
  - id: each
    foreach: ${{ inputs.list }}
    as: one
    key: ${{ one }}
    steps:
      - {id: show, uses: core.log, with: {text: "${{ one }}", level: warn}}
      - {id: keep, let: {value: "${{ one }}"}}
  - id: ask
    if: ${{ inputs.word != "<script>" }}
    uses: core.approve
    with: {message: "${{ inputs.word }}", form: {word: {type: string, description: '<img src=x onerror=alert(1)>', enum: ['<b>', '"x"']}}}
  - id: broken
    needs: [each]
    uses: core.fail
    with: {message: "${{ inputs.word }}"}
outputs:
  word: ${{ inputs.word }}
  many: "${{ inputs.word }}\n${{ inputs.word }}"
`

// crowd is a desk with runs of every kind.
func crowd(t *testing.T) *desk {
	t.Helper()
	d := newDesk(t, map[string]string{
		"f.yaml": failingFlow, "a.yaml": askingFlow, "l.yaml": loopFlow, "h.yaml": hostileFlow, "broken.yaml": "flowrun: v1\nname: <b>\nsteps: 7\n",
		"s.yaml": "flowrun: v1\nname: timed\ntriggers:\n  daily: {cron: \"0 9 * * *\", timezone: Europe/Berlin}\nsteps:\n  - {id: one, let: {n: 1}}\n",
	})
	d.start("failing", nil)
	d.start("failing", nil)
	d.start("asking", nil)
	d.start("hostile", nil)
	d.start("looping", map[string]workspace.Input{"names": rawJSON(`["a","bad one","c"]`)})
	id := d.start("hostile", nil)
	for _, step := range []string{"ask"} {
		d.post(stepURL(id, step)+"/reject", url.Values{"comment": {hostile}}, http.StatusSeeOther)
	}
	d.settle(id)
	return d
}

// TestEveryPageKeepsTheRulesAndEveryLinkLeadsSomewhere walks over all pages that
// links lead to.
func TestEveryPageKeepsTheRulesAndEveryLinkLeadsSomewhere(t *testing.T) {
	d := crowd(t)
	assets := assetBytes(t)
	seen, queue := map[string]bool{"/": true}, []string{"/", "/runs?status=failed&label=area%3D%3Cimg&workflow=%3Cscript%3E", "/runs?since=9y"}
	heaviest := ""
	most := 0
	for len(queue) > 0 && len(seen) < 400 {
		path := queue[0]
		queue = queue[1:]
		r := httptest.NewRequest(http.MethodGet, path, nil)
		w := httptest.NewRecorder()
		d.handler.ServeHTTP(w, r)
		if w.Code != http.StatusOK && !strings.Contains(path, "since=9y") {
			t.Errorf("%s: %d", path, w.Code)
			continue
		}
		if !strings.HasPrefix(w.Header().Get("Content-Type"), "text/html") {
			continue
		}
		page := w.Body.String()
		all := lint(t, path, page)
		if size := len(page) + assets; size > most {
			most, heaviest = size, path
		}
		for _, e := range all {
			link := e.attr("href")
			link, _, _ = strings.Cut(link, "#")
			if e.name == "a" && strings.HasPrefix(link, "/") && !seen[link] && link != "/metrics" {
				seen[link] = true
				queue = append(queue, link)
			}
		}
	}
	t.Logf("%d pages; the heaviest is %s with %d bytes, of which %d are the assets", len(seen), heaviest, most, assets)
	if most > 60<<10 {
		t.Errorf("%s has %d bytes with its assets, more than 60 KiB", heaviest, most)
	}
	if len(seen) < 60 {
		t.Errorf("only %d pages were found", len(seen))
	}
}

// TestTheRulesFindWhatIsWrong is the control of lint.
func TestTheRulesFindWhatIsWrong(t *testing.T) {
	for name, part := range map[string]string{
		"a handler of its own":        `<a href="/" onclick="x()">a</a>`,
		"an inline style":             `<p style="color:red">a</p>`,
		"an inline script":            `<script>x()</script>`,
		"a picture":                   `<img src="/x"/>`,
		"a field without a label":     `<input name="q"/>`,
		"a button without a name":     `<button></button>`,
		"a drawing without a word":    `<svg class="x"></svg>`,
		"two elements with one id":    `<p id="a">a</p><p id="a">b</p>`,
		"a form without a token":      `<form method="post" action="/"><button>b</button></form>`,
		"a link that leads away":      `<a href="https://evil.example">a</a>`,
		"a heading that leaves out 2": `<h3>a</h3>`,
	} {
		found := 0
		complain := func(string, ...any) { found++ }
		ids, labelled := map[string]bool{}, map[string]bool{}
		page := `<html lang="en"><main id="main"><h1>x</h1>` + part + `</main></html>`
		probe := new(testing.T)
		for _, e := range readPage(probe, page) {
			lintElement(complain, e, ids, labelled)
		}
		if found == 0 && !wholeLintFails(page) {
			t.Errorf("%s is not found", name)
		}
	}
}

// wholeLintFails reports whether lint complains of more than what the short page
// lacks anyway.
func wholeLintFails(page string) bool {
	whole := strings.Replace(page, `<main id="main">`, `<a class="skip" href="#main">s</a><meta name="viewport"/><main id="main">`, 1)
	probe := new(testing.T)
	lint(probe, "/", whole)
	return probe.Failed()
}

func assetBytes(t *testing.T) int {
	t.Helper()
	total := 0
	for name, a := range readAssets() {
		if len(a.body) == 0 || a.hash == "" {
			t.Errorf("asset %s is empty", name)
		}
		total += len(a.body)
	}
	return total
}

func TestNothingHostileIsTakenForMarkup(t *testing.T) {
	d := crowd(t)
	runs, _, err := d.engine.List(t.Context(), runs.Filter{Workflow: "hostile"})
	if err != nil {
		t.Fatal(err)
	}
	for _, run := range runs {
		steps, err := d.engine.Steps(t.Context(), run.ID)
		if err != nil {
			t.Fatal(err)
		}
		paths := []string{"/", "/runs", "/approvals", "/workflows", "/workflows/hostile", runURL(run.ID), runURL(run.ID) + "/rerun"}
		for _, part := range []string{"/logs", "/data", "/events", "/source"} {
			paths = append(paths, runURL(run.ID)+part)
		}
		for _, step := range steps {
			paths = append(paths, stepURL(run.ID, step.Path))
		}
		for _, path := range paths {
			page := d.get(path, http.StatusOK)
			lacks(t, page, "<img", "<script>", "</script>alert", `alert(2)</script>`, "<b>\"")
			if strings.Count(page, "<script") != 1 {
				t.Errorf("%s has %d scripts", path, strings.Count(page, "<script"))
			}
		}
	}
	if len(runs) != 2 {
		t.Errorf("%d runs", len(runs))
	}
}

func TestQueriesOfAnyKindAreAnswered(t *testing.T) {
	d := newDesk(t, map[string]string{"f.yaml": failingFlow})
	id := d.start("failing", nil)
	values := []string{"", "x", "-1", "0", "9999999999999999999999", "%00", "%ff", "../..", url.QueryEscape(hostile), strings.Repeat("a", 4000), "01k8zq4c0vdx3y6t7k9m2n5p8r"}
	for _, path := range []string{"/runs?%s=%s", runURL(id) + "?%s=%s", runURL(id) + "/logs?%s=%s", runURL(id) + "/events?%s=%s", runURL(id) + "/rerun?%s=%s"} {
		for _, name := range []string{"workflow", "status", "label", "since", "cursor", "items", "from", "step", "level"} {
			for _, value := range values {
				target := fmt.Sprintf(path, name, value)
				w := httptest.NewRecorder()
				d.handler.ServeHTTP(w, httptest.NewRequest(http.MethodGet, target, nil))
				if w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
					t.Errorf("%.80s: %d", target, w.Code)
				}
				lacks(t, w.Body.String(), "<img")
			}
		}
	}
}
