package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/internal/testbuild"
	"github.com/flowrun/flowrun/internal/testcommand"
)

// codesProject is a project in which the examples of project codes stand.
var codesProject = map[string]string{
	"flowrun.yaml":    "connections:\n  work: {plugin: tasks, config: {base_url: \"https://tasks.example\", token: \"${{ secrets.TOKEN }}\"}}\nnotify:\n  ops: {webhook: \"https://example.com/hook\"}\n",
	"workflow.yaml":   "flowrun: v1\nname: w\nsteps:\n  - uses: tasks.stats\n    connection: work\n",
	"lib/greet.yaml":  "flowrun: v1\nname: greet\nsteps:\n  - let: {x: 1}\n",
	"lib/broken.yaml": "flowrun: v1\nname: broken\nstep: []\n",
	"lib/deep9.yaml":  "flowrun: v1\nname: d9\nsteps:\n  - let: {x: 1}\n",
}

// TestEveryProjectCodeHasAGolden runs the wrong and the right example of each code
// that needs more than one file, and shows what a user sees. UPDATE=1 writes it.
func TestEveryProjectCodeHasAGolden(t *testing.T) {
	t.Parallel()
	var golden strings.Builder
	for _, page := range diag.Pages() {
		if page.Code < "FR4020" || page.Code >= "FR6" {
			continue
		}
		if page.Wrong == "" {
			t.Errorf("%s has no example", page.Code)
			continue
		}
		wrong := runExample(t, page.Code, page.Wrong, true)
		seen := page.Code
		if seen == "FR4023" {
			seen = "FR4024" // told of the file that is too deep, by the one that calls it
		}
		if found := reported(wrong); len(found) != 1 || found[0] != seen {
			t.Errorf("%s: the wrong example gives %v\n%s", page.Code, found, wrong)
		}
		if right := runExample(t, page.Code, page.Right, false); len(reported(right)) != 0 {
			t.Errorf("%s: the right example gives\n%s", page.Code, right)
		}
		golden.WriteString(wrong + "\n")
	}
	const file = "testdata/codes.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(file, []byte(golden.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), golden.String()); diff != "" {
		t.Errorf("%s is not current, UPDATE=1 writes it (-want +got)\n%s", file, diff)
	}
}

var reportedCode = regexp.MustCompile(`(?m)^(?:error|warning)\[(FR[0-9]{4})\]`)

func reported(output string) []string {
	var codes []string
	for _, match := range reportedCode.FindAllStringSubmatch(output, -1) {
		codes = append(codes, match[1])
	}
	return codes
}

// runExample puts an example into the project and returns what flowrun says.
func runExample(t *testing.T, code, text string, wrong bool) string {
	t.Helper()
	dir := t.TempDir()
	binary := experienced(t, dir)
	put := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for name, content := range codesProject {
		put(name, content)
	}
	for n := 1; n < 9; n++ {
		put("lib/deep"+string(rune('0'+n))+".yaml", "flowrun: v1\nname: d\nsteps:\n  - uses: ./deep"+string(rune('1'+n))+".yaml\n")
	}
	args := []string{"validate", "workflow.yaml"}
	switch {
	case code < "FR5":
		put("workflow.yaml", "flowrun: v1\nname: w\n"+text)
	default:
		put("flowrun.yaml", text)
		if !strings.Contains(text, "  work:") {
			put("workflow.yaml", codesProject["lib/greet.yaml"])
		}
	}
	if wrong && (code == "FR5016" || code == "FR5017") {
		args = []string{"run", "workflow.yaml"} // refused before it begins
	}
	if code == "FR5030" {
		buildThings(t, filepath.Join(dir, "things"))
		put("workflow.yaml", "flowrun: v1\nname: w\nsteps:\n  - uses: things.list\n    connection: work\n")
		if wrong {
			args = []string{"run", "--sandbox", "workflow.yaml"}
		}
	}
	environ := append(os.Environ(), "XDG_STATE_HOME="+dir, "NO_COLOR=1", "FLOWRUN_SECRET_TOKEN=a-token-for-tests")
	_, output, err := testcommand.Command{Dir: dir, Executable: binary, Environ: environ}.Combined(args...) // the exit code follows from the problems
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// buildThings builds a plugin of which flowrun has no simulator.
func buildThings(t *testing.T, path string) {
	t.Helper()
	if err := testbuild.Program(path, "../../test/sandbox/testdata/things"); err != nil {
		t.Fatal(err)
	}
}
