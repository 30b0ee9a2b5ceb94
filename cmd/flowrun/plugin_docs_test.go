package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// servicesDocs is where the pages of the bundled plugins are.
const servicesDocs = "../../docs/services"

// pluginReference is what `plugins docs -o json` says of one plugin, as far as a page must
// name it.
type pluginReference struct {
	Name    string
	Config  []struct{ Name string }
	Actions []struct {
		Action          string
		Inputs, Outputs []struct{ Name string }
		Faults          []struct{ Kind, Reason string }
		Examples        []struct{ Name string }
	}
}

// names lists all that a page has to have.
func (r pluginReference) names() []string {
	all := []string{"# " + r.Name + " "}
	for _, setting := range r.Config {
		all = append(all, "| `"+setting.Name+"` |")
	}
	for _, action := range r.Actions {
		all = append(all, "### "+action.Action+"\n")
	}
	return all
}

// section is the part of a page on one action.
func section(page, action string) string {
	_, text, _ := strings.Cut(page, "\n### "+action+"\n")
	text, _, _ = strings.Cut(text, "\n### ")
	return text
}

// missing are the names of the description that the page lacks.
func (r pluginReference) missing(page string) (lacks []string) {
	need := func(text, name string) {
		if !strings.Contains(text, name) {
			lacks = append(lacks, name)
		}
	}
	for _, name := range r.names() {
		need(page, name)
	}
	for _, action := range r.Actions {
		text := section(page, action.Action)
		inputs, outputs, _ := strings.Cut(text, "\n| Output |")
		for _, field := range action.Inputs {
			need(inputs, "| `"+field.Name+"` |")
		}
		for _, field := range action.Outputs {
			need(outputs, "| `"+field.Name+"` |")
		}
		for _, fault := range action.Faults {
			need(text, "| `"+fault.Kind+"` | "+fault.Reason)
		}
		for _, example := range action.Examples {
			need(text, "Example, "+example.Name+":")
		}
	}
	return lacks
}

// TestIssue15_TheReferencesOfServicesAreMadeOfTheirDescriptions compares the committed pages
// with what `plugins docs` writes (UPDATE=1 writes them), holds them against the description,
// and the pages in prose against its actions.
func TestIssue15_TheReferencesOfServicesAreMadeOfTheirDescriptions(t *testing.T) {
	t.Parallel()
	binary, dir := buildBinary(t), t.TempDir()
	for _, name := range []string{"analytics", "auth", "dictionary", "exec", "files", "http", "mail", "netinfo", "tasks"} {
		page, code := flowrunIn(t, binary, dir, "plugins", "docs", name)
		if code != 0 {
			t.Fatalf("plugins docs %s exits with %d:\n%s", name, code, page)
		}
		page = "<!-- `UPDATE=1 go test ./cmd/flowrun -run TestIssue15_TheReferences` writes this page. " + name + ".md says more. -->\n" + page
		file := filepath.Join(servicesDocs, name+"-reference.md")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(file, []byte(page), 0o644); err != nil { //nolint:gosec // a page that all read
				t.Fatal(err)
			}
		}
		committed, err := os.ReadFile(file)
		if err != nil || string(committed) != page {
			t.Errorf("%s is not what the plugin says of itself: UPDATE=1 writes it (%v)", file, err)
		}
		reference := referenceOf(t, binary, dir, name)
		for _, lack := range reference.missing(page) {
			t.Errorf("the reference of %s lacks %q", name, lack)
		}
		prose, err := os.ReadFile(filepath.Join(servicesDocs, name+".md"))
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(prose), "]("+name+"-reference.md)") {
			t.Errorf("%s.md does not lead to its reference", name)
		}
		for _, action := range reference.Actions {
			if !strings.Contains(string(prose), strings.TrimPrefix(action.Action, name+".")) {
				t.Errorf("%s.md has no word about %s", name, action.Action)
			}
		}
	}
}

func referenceOf(t *testing.T, binary, dir, name string) pluginReference {
	t.Helper()
	text, _ := flowrunIn(t, binary, dir, "plugins", "docs", name, "-o", "json")
	var all struct{ Items []pluginReference }
	if err := json.Unmarshal([]byte(text), &all); err != nil || len(all.Items) != 1 || len(all.Items[0].Actions) == 0 {
		t.Fatalf("plugins docs %s -o json: %v\n%s", name, err, text)
	}
	return all.Items[0]
}

// TestIssue15_APageThatLacksANameIsFound is the control of the test above.
func TestIssue15_APageThatLacksANameIsFound(t *testing.T) {
	t.Parallel()
	var r pluginReference
	text := `{"name":"kv","config":[{"name":"base_url"}],"actions":[{"action":"kv.put","inputs":[{"name":"key"}],"outputs":[{"name":"key"}],
		"faults":[{"kind":"conflict","reason":"taken"}],"examples":[{"name":"one"}]}]}`
	if err := json.Unmarshal([]byte(text), &r); err != nil {
		t.Fatal(err)
	}
	page := "# kv 1.0.0\n| `base_url` |\n\n### kv.put\n| `key` | in |\n\n| Output | Type | |\n| `key` | out |\n| `conflict` | taken |\nExample, one:\n"
	if lacks := r.missing(page); len(lacks) != 0 {
		t.Errorf("a whole page lacks %q", lacks)
	}
	for _, part := range []string{"# kv 1.0.0", "| `base_url` |", "### kv.put", "| `key` | in |", "| `key` | out |", "| `conflict` | taken |", "Example, one:"} {
		if lacks := r.missing(strings.Replace(page, part, "", 1)); len(lacks) == 0 {
			t.Errorf("nothing is missed without %q", part)
		}
	}
}
