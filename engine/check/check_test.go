package check

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

func checkText(catalog Catalog, file, text string) (*plan.Workflow, diag.List) {
	tree, problems := spec.Parse(file, []byte(text))
	workflow, more := Check(context.Background(), tree, catalog)
	problems = append(problems, more...)
	problems.Sort()
	if problems.HasErrors() {
		workflow = nil
	}
	return workflow, problems
}

// places is what a file expects: "FR2004 3:5, ...".
func places(problems diag.List) string {
	var all []string
	for _, p := range problems {
		all = append(all, fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column))
	}
	return strings.Join(all, ", ")
}

func files(t *testing.T, pattern string, least int) []string {
	t.Helper()
	found, err := filepath.Glob(pattern)
	if err != nil || len(found) < least {
		t.Fatalf("%s: %d files, want at least %d (%v)", pattern, len(found), least, err)
	}
	return found
}

// catalogFor is the fake; a file that says `# connections: a=net b=task` has a
// project file with those.
func catalogFor(text string) *fakeCatalog {
	f := fake()
	for _, line := range strings.Split(text, "\n") {
		names, ok := strings.CutPrefix(line, "# connections:")
		if !ok {
			continue
		}
		f.connections = map[string]string{}
		for _, pair := range strings.Fields(names) {
			name, plugin, _ := strings.Cut(pair, "=")
			f.connections[name] = plugin
		}
	}
	return f
}

// Each file says in its first line which problems it has, and has no others.
func TestMistakes(t *testing.T) {
	for _, file := range files(t, "testdata/mistakes/*.yaml", 200) {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			first, _, _ := strings.Cut(string(text), "\n")
			workflow, problems := checkText(catalogFor(string(text)), filepath.Base(file), string(text))
			if os.Getenv("UPDATE") != "" {
				_, rest, _ := strings.Cut(string(text), "\n")
				if err := os.WriteFile(file, []byte("# "+places(problems)+"\n"+rest), 0o644); err != nil {
					t.Fatal(err)
				}
				t.Logf("%v", problems)
				return
			}
			if diff := cmp.Diff(strings.TrimPrefix(first, "# "), places(problems)); diff != "" {
				t.Errorf("problems (-want +got)\n%s\n%v", diff, problems)
			}
			if problems.HasErrors() == (workflow != nil) {
				t.Errorf("plan %v with problems %v", workflow != nil, problems)
			}
			for _, p := range problems {
				if _, ok := diag.Explain(p.Code); !ok {
					t.Errorf("code %s has no page", p.Code)
				}
				if p.Message == "" || strings.HasSuffix(p.Message, ".") {
					t.Errorf("message %q", p.Message)
				}
			}
		})
	}
}

func TestValid(t *testing.T) {
	paths := files(t, "testdata/valid/*.yaml", 60)
	for _, file := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".yaml"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			workflow, problems := checkText(catalogFor(string(text)), filepath.Base(file), string(text))
			if len(problems) > 0 || workflow == nil {
				t.Fatalf("%v", problems)
			}
			encoded, err := workflow.Encode()
			if err != nil {
				t.Fatal(err)
			}
			decoded, err := plan.Decode(encoded)
			if err != nil {
				t.Fatal(err)
			}
			again, err := decoded.Encode()
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(encoded), string(again)); diff != "" {
				t.Errorf("round trip (-made +read)\n%s", diff)
			}
		})
	}
}

// TestRule15ThePlanKeepsTheConnectionsThatExpressionsRead has them only where
// they are read: else a plan would change with its environment.
func TestRule15ThePlanKeepsTheConnectionsThatExpressionsRead(t *testing.T) {
	catalog := fake()
	catalog.connections = map[string]string{"work": "net", "home": "net"}
	for text, want := range map[string]map[string]string{
		"${{ connections.work.plugin }}":  catalog.connections,
		"on ${{ connections.home.name }}": catalog.connections,
		"${{ run.id }}":                   nil,
	} {
		workflow, problems := checkText(catalog, "x.yaml", "flowrun: v1\nsteps:\n  - uses: core.log\n    with: {text: \""+text+"\"}\n")
		if workflow == nil {
			t.Fatalf("%v", problems)
		}
		if diff := cmp.Diff(want, workflow.Connections); diff != "" {
			t.Errorf("%s (-want +got)\n%s", text, diff)
		}
	}
}

func TestRule12APageNeedsOneListOfItems(t *testing.T) {
	text, list := `{"type":"string"}`, `{"type":"array","items":{"type":"integer"}}`
	for output, want := range map[string]string{
		`{"type":"object","properties":{"rows":` + list + `,"n":` + text + `}}`:     "list of integers",
		`{"type":"object","properties":{"items":` + list + `,"rows":` + list + `}}`: "",
		`{"type":"object","properties":{"n":` + text + `}}`:                         "",
		list: "list of integers",
	} {
		catalog := fake()
		catalog.add("task.pages", plan.EffectRead, `{"type":"object"}`, output).Paging = &plan.Paging{CursorField: "cursor", NextField: "next"}
		_, problems := checkText(catalog, "x.yaml", "flowrun: v1\nsteps:\n  - id: a\n    uses: task.pages\n    paginate: {}\n  - let: {x: \"${{ upper(steps.a.outputs.items) }}\"}\n")
		if want == "" {
			if got := places(problems); !strings.HasPrefix(got, CodeNotForAction+" 5:5") {
				t.Errorf("%s: %s", output, got)
			}
			continue
		}
		if len(problems) != 1 || !strings.HasSuffix(problems[0].Message, "got a "+want) {
			t.Errorf("%s: %v", output, problems)
		}
	}
}
