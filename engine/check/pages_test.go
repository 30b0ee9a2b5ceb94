package check

import (
	"context"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

// docCatalog has the actions of the examples under their real names.
func docCatalog(text string) *fakeCatalog {
	f := catalogFor(text)
	for name, action := range f.actions {
		plugin, short, _ := strings.Cut(name, ".")
		if real := map[string]string{"net": "netinfo", "task": "tasks"}[plugin]; real != "" {
			alias := *action
			alias.Plugin = real
			f.actions[real+"."+short] = &alias
			delete(f.actions, name)
		}
	}
	history := *f.actions["tasks.list"]
	history.Name, history.Incremental = "usage_history", true
	f.actions["tasks.usage_history"] = &history
	old := *f.actions["tasks.list"]
	old.Name, old.Deprecated = "list_old", "use tasks.list"
	f.actions["tasks.list_old"] = &old
	return f
}

// example makes a workflow of an example, which may leave out what does not
// matter.
func example(text string) string {
	if strings.HasPrefix(text, "# nothing") || strings.HasPrefix(text, "# another") || strings.Contains(text, "flowrun: ") {
		return text
	}
	text = "flowrun: v1\n" + text
	if !strings.Contains(text, "\nsteps:") {
		text += "steps:\n  - let: {x: 1}\n"
	}
	return text
}

// codesOf are the first digits of the codes of each package.
var codesOf = map[string][]string{
	"spec": {"FR1"}, "check": {"FR2", "FR4"}, "eval": {"FR3"}, "project": {"FR5"}, "testrun": {"FR6"},
}

// TestRule7EveryCodeHasAPage holds every code of the product against the table,
// and every example against the checker: the wrong one has this problem and no
// other, the right one none.
func TestRule7EveryCodeHasAPage(t *testing.T) {
	pages := map[string]diag.Page{}
	for _, page := range diag.Pages() {
		if _, twice := pages[page.Code]; twice || page.Title == "" {
			t.Errorf("%s has two pages or no title", page.Code)
		}
		pages[page.Code] = page
	}
	inSource := codesInSource(t)
	for code, files := range inSource {
		if pages[code].Code == "" {
			t.Errorf("%s has no page", code)
		}
		if folder := filepath.Base(filepath.Dir(files[0])); len(files) > 1 || !slices.Contains(codesOf[folder], code[:len("FR1")]) {
			t.Errorf("%s is a code in %v", code, files)
		}
	}
	for code := range pages {
		if len(inSource[code]) == 0 {
			t.Errorf("%s has a page and is no code", code)
		}
	}
	for code, page := range pages {
		if page.Wrong == "" || needsProject(code) {
			continue
		}
		t.Run(code, func(t *testing.T) {
			_, problems := checkText(docCatalog(page.Wrong), "x.yaml", example(page.Wrong))
			if code == eval.CodeAny {
				problems = strictly(page.Wrong)
			}
			if advised(code) {
				problems = append(problems, adviceFor(page.Wrong)...)
			}
			if len(problems) != 1 || problems[0].Code != code {
				t.Errorf("wrong example: %v", problems)
			}
			if _, problems = checkText(docCatalog(page.Right), "x.yaml", example(page.Right)); len(problems) > 0 {
				t.Errorf("right example: %v", problems)
			}
			if advice := adviceFor(page.Right); advised(code) && len(advice) > 0 {
				t.Errorf("right example: %v", advice)
			}
			if code == eval.CodeAny && len(strictly(page.Right)) > 0 {
				t.Errorf("right example: %v", strictly(page.Right))
			}
		})
	}
}

// needsProject reports a code whose example needs other files: those are run from
// outside, in cmd/flowrun.
func needsProject(code string) bool { return code >= "FR4020" }

// advised reports a code that Advise tells, not Check.
func advised(code string) bool {
	return slices.Contains([]string{CodeUnusedInput, CodeUnusedState, CodeConstantIf}, code)
}

func adviceFor(text string) diag.List {
	tree, _ := spec.Parse("w.yaml", []byte(example(text)))
	return Advise(tree)
}

func strictly(text string) diag.List {
	tree, problems := spec.Parse("x.yaml", []byte(example(text)))
	if len(problems) > 0 {
		return problems
	}
	return Strict(context.Background(), tree, docCatalog(text))
}

// codesInSource gives every code that the product's source names, with the files
// that do.
func codesInSource(t *testing.T) map[string][]string {
	t.Helper()
	code := regexp.MustCompile(`"(FR[0-9]{4})"`)
	codes := map[string][]string{}
	for _, root := range []string{"..", "../../internal"} {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			text, err := os.ReadFile(path)
			for _, match := range code.FindAllStringSubmatch(string(text), -1) {
				codes[match[1]] = append(codes[match[1]], path)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return codes
}

// TestCodesPageIsCurrent compares docs/codes.md with the table; UPDATE=1 writes
// it.
func TestCodesPageIsCurrent(t *testing.T) {
	current(t, "../../docs/codes.md", diag.Markdown(diag.Pages()))
}

func current(t *testing.T, file, want string) {
	t.Helper()
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("%s is not current, UPDATE=1 writes it (-want +got)\n%s", file, diff)
	}
}
