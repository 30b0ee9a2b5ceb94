package importer_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/format"
	"github.com/flowrun/flowrun/engine/importer"
	"github.com/flowrun/flowrun/engine/spec"
)

// files are those of other products, whose names begin with the product's.
func files(t testing.TB) []string {
	t.Helper()
	found, err := filepath.Glob("testdata/*.y*ml")
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 14 {
		t.Fatalf("only %d files", len(found))
	}
	return found
}

func imported(t *testing.T, file string) importer.Result {
	t.Helper()
	src, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	result, problems, err := importer.Import(filepath.Base(file), src, "")
	if err != nil || problems.HasErrors() {
		t.Fatalf("%s: %v %v", file, err, problems)
	}
	return result
}

// Each file gives what its golden file has: the workflow, its scripts, and what was not
// taken over. UPDATE=1 writes them.
func TestEachFileGivesItsWorkflow(t *testing.T) {
	for _, file := range files(t) {
		t.Run(filepath.Base(file), func(t *testing.T) {
			result := imported(t, file)
			if product, _, _ := strings.Cut(filepath.Base(file), "-"); !strings.HasPrefix(string(result.Product), product) {
				t.Errorf("it was taken for %s", result.Product)
			}
			var b strings.Builder
			for _, w := range result.Workflows {
				fmt.Fprintf(&b, "=== %s: %d taken over\n%s", w.Name, w.Taken, w.Alone())
				for _, note := range w.Notes {
					fmt.Fprintf(&b, "--- line %d: %s\n", note.Line, note.Text)
				}
			}
			golden := strings.TrimSuffix(file, filepath.Ext(file)) + ".golden"
			if os.Getenv("UPDATE") != "" {
				if err := os.WriteFile(golden, []byte(b.String()), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), b.String()); diff != "" {
				t.Errorf("UPDATE=1 writes it: (-want +got)\n%s", diff)
			}
		})
	}
}

// Whatever is noted stands as a comment in the workflow, and what is written is in form.
func TestEachNoteStandsInTheWorkflow(t *testing.T) {
	for _, file := range files(t) {
		for _, w := range imported(t, file).Workflows {
			flat := strings.Join(strings.Fields(strings.ReplaceAll(w.Text, "\n", " ")), " ")
			flat = strings.ReplaceAll(flat, " # ", " ")
			for _, note := range w.Notes {
				if !strings.Contains(flat, "import: line "+fmt.Sprint(note.Line)+": "+strings.ReplaceAll(note.Text, " # ", " ")) && !strings.Contains(flat, "import: "+note.Text) {
					t.Errorf("%s: no comment says %q", file, note.Text)
				}
			}
			again, problems, err := format.Source("x.yaml", []byte(w.Text))
			if err != nil || len(problems) > 0 {
				t.Errorf("%s: %v %v", file, err, problems)
			}
			if diff := cmp.Diff(w.Text, string(again)); diff != "" {
				t.Errorf("%s is not in form:\n%s", file, diff)
			}
		}
	}
}

func TestWhoseFileItIs(t *testing.T) {
	for src, want := range map[string]importer.Product{
		"on: push\njobs: {a: {runs-on: x, steps: [{run: ls}]}}":                     importer.GitHubActions,
		"jobs: {a: {uses: ./.github/workflows/x.yml}}":                              importer.GitHubActions,
		"steps:\n  - echo hello":                                                    importer.Dagu,
		"steps: [{name: a, command: ls, depends: b}]":                               importer.Dagu,
		"apiVersion: argoproj.io/v1alpha1\nkind: Workflow\nspec: {}":                importer.Argo,
		"id: a\nnamespace: b\ntasks: [{id: c, type: io.kestra.core.tasks.log.Log}]": importer.Kestra,
	} {
		result, problems, err := importer.Import("x.yaml", []byte(src), "")
		if err != nil || len(problems) > 0 || result.Product != want {
			t.Errorf("%q is %q, not %s: %v %v", src, result.Product, want, err, problems)
		}
	}
	for src, ours := range map[string]bool{"flowrun: v1\nsteps: [{uses: core.log}]": true, "name: x": false, "- a": false, "services: {web: {image: x}}": false} {
		var unknown *importer.UnknownError
		if _, _, err := importer.Import("x.yaml", []byte(src), ""); !errors.As(err, &unknown) || unknown.Ours != ours {
			t.Errorf("%q: %v", src, err)
		}
	}
}

// TestWhatTheCheckSendsHereIsTaken: a file of which `validate` says whose it is, and that
// import writes its workflow, is that product's here too.
func TestWhatTheCheckSendsHereIsTaken(t *testing.T) {
	sent := 0
	for _, file := range files(t) {
		src, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		_, problems := spec.Parse(file, src)
		for _, p := range problems {
			if p.Code != spec.CodeOtherProduct {
				continue
			}
			sent++
			if product := imported(t, file).Product; !strings.HasSuffix(p.Message, "docs/coming-from/"+string(product)+".md") {
				t.Errorf("%s: %s, and import takes it for %s", file, p.Message, product)
			}
		}
	}
	if sent < 10 {
		t.Errorf("%d files are said to be another product's", sent)
	}
}

// Conditions and values of the four products, and what they are in flowrun.
func TestExpressions(t *testing.T) {
	github := func(cond string) string {
		return "on: {workflow_dispatch: {inputs: {name: {default: a}, dry: {type: boolean}, n: {type: number}}}}\njobs:\n  a:\n    runs-on: x\n    steps:\n      - id: s\n        if: " + cond + "\n        run: echo x\n"
	}
	for cond, want := range map[string]string{
		"inputs.dry":                         "if: inputs.dry",
		"${{ !inputs.dry }}":                 "if: not (inputs.dry)",
		"inputs.dry == 'true'":               "if: inputs.dry",
		"inputs.dry != true":                 "if: not (inputs.dry)",
		"inputs.name":                        `if: inputs.name != ""`,
		"inputs.n > 3 && inputs.name == 'a'": `if: inputs.n > 3 && inputs.name == "a"`,
		"inputs.n == '3'":                    "if: inputs.n == 3",
		"contains(inputs.name, 'x')":         `if: inputs.name contains "x"`,
		"contains(fromJSON('[\"a\", \"b\"]'), inputs.name)":  `if: inputs.name in ["a", "b"]`,
		"startsWith(github.event.inputs.name, 'it''s')":      `if: inputs.name startsWith "it's"`,
		"github.event_name == 'schedule'":                    `if: trigger.kind == "cron"`,
		"github.event_name == 'push'":                        "if: false",
		"always()":                                           "run_if: any",
		"failure() && inputs.dry":                            "if: inputs.dry\n    run_if: failed",
		"success() || failure()":                             "run_if: any",
		"(inputs.dry || inputs.n > 1) && inputs.name == 'b'": `if: (inputs.dry || inputs.n > 1) && inputs.name == "b"`,
		"(inputs.dry && 'a' || 'b') == 'a'":                  `(inputs.dry ? "a" : "b") == "a"`,
		"github.sha != '' && inputs.dry":                     "if: false",
		"github.ref == 'refs/heads/main'":                    "import: line 7: if: github.ref == 'refs/heads/main': nothing is known of a repository",
	} {
		wantText(t, github(cond), cond, want)
	}
	kestra := func(message string) string {
		return "id: a\nnamespace: b\ninputs: [{id: name, type: STRING}, {id: n, type: INT}]\nvariables: {v: \"x {{ inputs.name }}\"}\ntasks:\n  - id: r\n    type: io.kestra.plugin.core.debug.Return\n    format: hi\n  - id: l\n    type: io.kestra.plugin.core.log.Log\n    message: >-\n      " + message + "\n"
	}
	for message, want := range map[string]string{
		"{{ inputs.name | upper }}":               "${{ upper(inputs.name) }}",
		"{{ outputs.r.value ?? 'x' }}":            "${{ steps.r.outputs.value }}",
		"{{ inputs.n > 3 ? 'a' : 'b' }}":          `${{ inputs.n > 3 ? "a" : "b" }}`,
		"{{ vars.v }}!":                           "x ${{ inputs.name }}!",
		"{{ execution.id }} of {{ flow.id }}":     "${{ run.id }} of ${{ run.workflow }}",
		"{{ now() | date('yyyy-MM-dd') }}":        `${{ formatTime(now(), "2006-01-02") }}`,
		"{{ kv('last') }}":                        `${{ state.last ?? "" }}`,
		"{{ inputs.name is empty }}":              `${{ string(not (inputs.name != "")) }}`,
		"{{ inputs.name ~ '-' ~ inputs.n }}":      `${{ inputs.name + "-" + string(inputs.n) }}`,
		"{{ nobody.knows }}":                      "`{{ nobody.knows }}`: nobody.knows has no counterpart",
		"{{ inputs.name | replace({'a': 'b'}) }}": "import: line",
	} {
		wantText(t, kestra(message), message, want)
	}
}

func wantText(t *testing.T, src, what, want string) {
	t.Helper()
	result, problems, err := importer.Import("x.yaml", []byte(src), "")
	if err != nil || len(problems) > 0 {
		t.Errorf("%s: %v %v", what, err, problems)
		return
	}
	flat := func(s string) string { return strings.Join(strings.Fields(strings.ReplaceAll(s, "# ", "")), " ") }
	if got := result.Workflows[0].Text; !strings.Contains(flat(got), flat(want)) {
		t.Errorf("%s: no %q in\n%s", what, want, got)
	}
}

// FuzzImport holds that nothing is written that a workflow file may not hold, whatever is
// read, and that nothing panics.
func FuzzImport(f *testing.F) {
	for _, file := range files(f) {
		src, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(src, "")
	}
	for _, product := range importer.Products() {
		f.Add([]byte("steps: [{a: {b: [c]}}, [d]]\njobs: {x: y}\ntasks: [1]\nspec: {templates: [2]}"), string(product))
	}
	f.Add([]byte("a: &a [*a]"), "dagu")
	f.Add([]byte("a: &a {b: c}\nsteps: [{<<: *a, command: 'echo \"${A.b}\"'}]"), "dagu")
	f.Fuzz(func(t *testing.T, src []byte, from string) {
		result, problems, err := importer.Import("x.yaml", src, importer.Product(from))
		if err != nil || problems.HasErrors() {
			var unknown *importer.UnknownError
			if err != nil && !errors.As(err, &unknown) && len(src) < 4096 {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, w := range result.Workflows {
			if root, problems := spec.ParseNode("x.yaml", []byte(w.Alone()), spec.LargestLimits()); root == nil || problems.HasErrors() {
				t.Fatalf("%v\n%s", problems, w.Alone())
			}
		}
	})
}
