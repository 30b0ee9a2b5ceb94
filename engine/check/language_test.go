package check

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// changed is a copy of the table in which one map is another.
func changed(mapName string, change func(*spec.Map)) *spec.Language {
	language := &spec.Language{Maps: slices.Clone(spec.V1().Maps)}
	m := language.Map(mapName)
	m.Keys = slices.Clone(m.Keys)
	change(m)
	return language
}

func with(mapName string, key spec.Key) *spec.Language {
	return changed(mapName, func(m *spec.Map) { m.Keys = append(m.Keys, key) })
}

func checkBy(language *spec.Language, text string) diag.List {
	tree, problems := language.Parse("w.yaml", []byte(text))
	_, more := Check(context.Background(), tree, fake())
	return append(problems, more...)
}

// TestOneEditAddsAWord adds a key to a copy of the table and finds it in validate, in the schema for editors, in explain and on the page.
func TestOneEditAddsAWord(t *testing.T) {
	const head = "flowrun: v1\n"
	const step = "steps:\n  - {uses: net.whois, with: {domain: example.com}, "
	for name, c := range map[string]struct {
		in         string
		key        spec.Key
		good, bad  string
		code, hint string
		path, row  string
	}{
		"a word of a step": {
			in: "step", key: spec.Key{Name: "mood", Doc: "How the step goes about it.", Type: spec.Word, What: "a mood", Values: []string{"calm", "hasty"}, Default: "calm", Kinds: []string{"action"}},
			good: head + step + "mood: hasty}\n", bad: head + step + "mood: hasti}\n", code: CodeWord, hint: "did you mean `hasty`?",
			path: "steps.mood", row: "| `mood` | action | `calm` or `hasty` | `calm` | How the step goes about it. |",
		},
		"a number of retry": {
			in: "retry", key: spec.Key{Name: "budget", Doc: "How often all runs together try.", Type: spec.Integer, Least: 2, Most: 20},
			good: head + step + "retry: {budget: 20}}\n", bad: head + step + "retry: {budget: 21}}\n", code: CodeNumber, hint: "",
			path: "retry.budget", row: "| `budget` | an integer from 2 to 20 | | How often all runs together try. |",
		},
		"a map of the workflow": {
			in: "workflow", key: spec.Key{Name: "again", Doc: "As retry.", Map: "retry"},
			good: head + "again: {attempts: 2}\nsteps:\n  - let: {x: 1}\n", bad: head + "again: {atempts: 2}\nsteps:\n  - let: {x: 1}\n", code: CodeUnknownKey, hint: "did you mean `attempts`?",
			path: "again.attempts", row: "| `again` | a map: [`retry`](#retry) | | As retry. |",
		},
		"a duration of a trigger": {
			in: "trigger", key: spec.Key{Name: "grace", Doc: "How late it may be.", Type: spec.Duration, Kinds: []string{"cron", "every"}},
			good: head + "triggers: {t: {every: 1h, grace: 5m}}\nsteps:\n  - let: {x: 1}\n", bad: head + "triggers: {t: {every: 1h, grace: 5}}\nsteps:\n  - let: {x: 1}\n", code: CodeDuration, hint: "a bare number has no unit: write `5s` for seconds",
			path: "triggers.NAME.grace", row: "| `grace` | cron, every | a duration | | How late it may be. |",
		},
	} {
		t.Run(name, func(t *testing.T) {
			language := with(c.in, c.key)
			if problems := checkBy(spec.V1(), c.good); !problems.HasErrors() {
				t.Fatal("the word is in the language already")
			}
			if problems := checkBy(language, c.good); len(problems) > 0 {
				t.Errorf("validate does not know it: %v", problems)
			}
			if problems := checkBy(language, c.bad); len(problems) != 1 || problems[0].Code != c.code || problems[0].Hint.Text != c.hint {
				t.Errorf("validate says of a wrong value: %v", problems)
			}
			schema := editorOf(t, language, fake().actions, nil)
			for text, want := range map[string]bool{c.good: true, c.bad: false} {
				value, _ := asEditorsRead([]byte(text))
				if err := schema.Validate(value); (err == nil) != want {
					t.Errorf("the editor says %v of\n%s", err, text)
				}
			}
			if docs := language.Explain(c.path); len(docs) == 0 || spec.V1().Explain(c.path) != nil {
				t.Errorf("explain says %v", docs)
			}
			if !strings.Contains(language.Markdown(), c.row+"\n") || strings.Contains(spec.V1().Markdown(), c.row) {
				t.Errorf("the page has no row %s", c.row)
			}
		})
	}
}

// TestASpoiltTableIsNoticed spoils the table of the editor, or of the checker, in one place, and wants the comparison of each key to notice it.
func TestASpoiltTableIsNoticed(t *testing.T) {
	for mapName, change := range map[string]func(*spec.Map){
		"retry":    func(m *spec.Map) { m.Keys[0].Most++ },
		"dst":      func(m *spec.Map) { m.Keys[0].Values = []string{"run_after"} },
		"paginate": func(m *spec.Map) { m.Keys = m.Keys[:1] },
		"webhook":  func(m *spec.Map) { m.Keys[0].Map, m.Keys[0].Type = "", spec.Anything },
		"after":    func(m *spec.Map) { m.Keys[0].Needed = false },
		"schema":   func(m *spec.Map) { m.Key("pattern").Kinds = nil },
		"auth":     func(m *spec.Map) { m.One = false },
		"triggers": func(m *spec.Map) { m.Not = nil },
	} {
		of := []spec.Map{*spec.V1().Map(mapName)}
		spoilt := changed(mapName, change)
		if odd, _ := disagreements(t, 1, of, spec.V1(), spoilt); len(odd) == 0 {
			t.Errorf("%s is spoilt for the editor, and nobody notices", mapName)
		}
	}
	of := []spec.Map{*spec.V1().Map("retry")}
	if odd, _ := disagreements(t, 1, of, changed("retry", func(m *spec.Map) { m.Keys[0].Most = 1e9 }), spec.V1()); len(odd) == 0 {
		t.Error("a bound is spoilt for the checker, and nobody notices")
	}
}
