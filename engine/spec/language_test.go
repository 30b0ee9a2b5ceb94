package spec_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/spec"
)

// TestTheTableIsSound holds the table against itself: what it names is there, and each key says what it is for.
func TestTheTableIsSound(t *testing.T) {
	language := spec.V1()
	names := map[string]bool{}
	for i := range language.Maps {
		m := &language.Maps[i]
		if names[m.Name] || m.What == "" {
			t.Errorf("the map %q is there twice, or has no name in messages", m.Name)
		}
		names[m.Name] = true
		if (m.Each == nil) == (m.Keys == nil) {
			t.Errorf("%s has either keys or names that authors choose", m.Name)
		}
		keys := m.Keys
		if m.Each != nil {
			keys = []spec.Key{*m.Each}
		}
		for j := range keys {
			soundKey(t, language, m, &keys[j])
		}
	}
}

func soundKey(t *testing.T, language *spec.Language, m *spec.Map, key *spec.Key) {
	t.Helper()
	for _, one := range []*spec.Key{key, key.Items} {
		if one == nil {
			continue
		}
		if one.Map != "" && language.Map(one.Map) == nil {
			t.Errorf("%s.%s is a map that is not there: %s", m.Name, key.Name, one.Map)
		}
		if (one.Type == spec.Word) != (one.Values != nil) || one.Type == spec.Word && one.What == "" && one.Values[0] != spec.Version {
			t.Errorf("%s.%s: a word has values and a name in messages", m.Name, key.Name)
		}
		if numeric := one.Type == spec.Integer || one.Type == spec.Number; numeric != (one.Most != 0) || one.Least > one.Most && numeric {
			t.Errorf("%s.%s: a number has bounds", m.Name, key.Name)
		}
		if one.Type == spec.Duration && one.Least != 0 && one.Least != 1 {
			t.Errorf("%s.%s: editors know the bound of a second alone", m.Name, key.Name)
		}
		if one.Shape() == 0 {
			t.Errorf("%s.%s can't be anything", m.Name, key.Name)
		}
	}
	switch {
	case m.Name == "reactions" || m.Each != nil:
	case key.Doc == "" || !strings.HasSuffix(key.Doc, "."):
		t.Errorf("%s.%s says nothing of what it is for, or not in a sentence", m.Name, key.Name)
	}
	if (key.Default != "" || key.Pattern != "" && key.Type == spec.Text) && key.Type == spec.Word && !slices.Contains(key.Values, key.Default) && key.Items == nil {
		t.Errorf("%s.%s: the default is none of the words", m.Name, key.Name)
	}
	if name, _, written := strings.Cut(key.Example, ": "); key.Example != "" && (!written || name != key.Name) {
		t.Errorf("%s.%s: the example is of another key: %s", m.Name, key.Name, key.Example)
	}
	if _, err := regexp.Compile(key.Pattern); err != nil {
		t.Errorf("%s.%s: %v", m.Name, key.Name, err)
	}
}

const pageFile = "../../docs/language.md"

// TestThePageIsTheTable compares the tables of keys of docs/language.md with the table; UPDATE=1 writes them.
func TestThePageIsTheTable(t *testing.T) {
	const begin, end = "<!-- The tables of keys are written by a test of engine/spec: UPDATE=1 go test ./engine/spec -->\n\n", "<!-- End of the tables of keys -->\n"
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, begins := strings.Cut(string(text), begin)
	written, after, ends := strings.Cut(rest, end)
	if !begins || !ends {
		t.Fatal("the page has no place for the tables of keys")
	}
	want := spec.V1().Markdown()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(pageFile, []byte(before+begin+want+end+after), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("%s is not current, UPDATE=1 writes it (-want +got)\n%s", pageFile, diff)
	}
}

// TestLinksOfTheTablesLead holds each link inside of the tables against the headings of the page.
func TestLinksOfTheTablesLead(t *testing.T) {
	text, err := os.ReadFile(pageFile)
	if err != nil {
		t.Fatal(err)
	}
	anchors := map[string]bool{}
	for _, heading := range regexp.MustCompile(`(?m)^#+ (.*)$`).FindAllStringSubmatch(string(text), -1) {
		anchor := strings.NewReplacer(" ", "-", "`", "", ".", "", ",", "").Replace(strings.ToLower(heading[1]))
		if anchors[anchor] {
			t.Errorf("two headings are #%s", anchor)
		}
		anchors[anchor] = true
	}
	for i := range spec.V1().Maps {
		m := &spec.V1().Maps[i]
		for _, name := range append(m.KeyNames(""), "x") {
			for _, doc := range slices.Concat(spec.V1().Explain(m.Name+"."+name), spec.V1().Explain(name)) {
				if _, anchor, _ := strings.Cut(doc.Page, "#"); !anchors[anchor] {
					t.Errorf("%s leads to #%s", doc.Path, anchor)
				}
			}
		}
	}
	links := regexp.MustCompile(`\]\(#([^)]*)\)`).FindAllStringSubmatch(string(text), -1)
	if len(links) < 20 {
		t.Errorf("only %d links", len(links))
	}
	for _, link := range links {
		if !anchors[link[1]] {
			t.Errorf("no heading is #%s", link[1])
		}
	}
}

func TestExplain(t *testing.T) {
	for path, want := range map[string][]string{
		"retry.attempts":              {"steps.retry.attempts"},
		"defaults.retry.attempts":     {"defaults.retry.attempts"},
		"triggers.schedule.jitter":    {"triggers.NAME.jitter"},
		"timeout":                     {"timeout", "defaults.timeout", "steps.timeout", "steps.on_error.timeout"},
		"steps.on_error":              {"steps.on_error", "steps.on_error"},
		"not_found":                   {"steps.on_error.not_found"},
		"on_failure.uses":             {"steps.uses"},
		"auth.hmac_sha256.header":     {"triggers.NAME.webhook.auth.hmac_sha256.header"},
		"inputs.site.items.minLength": {"inputs.NAME.minLength"},
		"inputs.site":                 {"inputs.NAME"},
		"core.approve.form":           {"core.approve.form"}, "core.wait.schema.items.type": {"inputs.NAME.type"}, "form.a": {"core.approve.form.NAME"},
		"on_error.not_found":        {"steps.on_error.not_found"},
		"retry.nonsense":            nil,
		"nonsense":                  nil,
		"":                          nil,
		"retry.attempts.more":       nil,
		"steps.steps.steps.foreach": {"steps.foreach"},
		"triggers.a.webhook.body.properties.x.type": {"inputs.NAME.type"},
	} {
		var got []string
		for _, doc := range spec.V1().Explain(path) {
			got = append(got, doc.Path)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
	}
	docs := spec.V1().Explain("retry.attempts")
	least, most := 1.0, 1000.0
	want := spec.KeyDoc{
		Path: "steps.retry.attempts", Also: []string{"defaults.retry.attempts"}, Value: "an integer from 1 to 1000", Least: &least, Most: &most, Default: "4",
		Doc: "How often the call is sent, the first time counted.", Example: "attempts: 6", Page: "docs/language.md#retry",
	}
	slices.Sort(docs[0].Also)
	if diff := cmp.Diff(want, docs[0]); diff != "" {
		t.Errorf("retry.attempts (-want +got)\n%s", diff)
	}
	for path, want := range map[string]string{"retry.atempts": "retry.attempts", "tiggers": "triggers", "steps.retyr.on": "steps.retry.on", "qqqqqqqq": ""} {
		if got := spec.V1().Near(path); got != want {
			t.Errorf("near %s is %q, want %q", path, got, want)
		}
	}
}
