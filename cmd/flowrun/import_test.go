package main_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var callsWorkflow = regexp.MustCompile(`uses: \./(\S+)\.yaml`)

// fragmentOf is what an imported workflow wants of flowrun.yaml, out of its comments.
func fragmentOf(text string) string {
	_, comments, _ := strings.Cut(text, "# import: for flowrun.yaml\n")
	var b strings.Builder
	for line := range strings.Lines(comments) {
		b.WriteString(strings.TrimPrefix(strings.TrimPrefix(line, "#"), "   "))
	}
	return b.String()
}

// Each file of another product becomes a workflow that is valid as soon as flowrun.yaml has
// what the workflow's comments say, and the workflows that it calls are there.
func TestImportedWorkflowsAreValid(t *testing.T) {
	t.Parallel()
	binary := buildBinary(t)
	files, err := filepath.Glob("../../engine/importer/testdata/*.y*ml")
	if err != nil || len(files) < 14 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			source, err := filepath.Abs(file)
			if err != nil {
				t.Fatal(err)
			}
			if output, code := flowrunIn(t, binary, dir, "import", source, "--write", "workflows/"); code != 0 {
				t.Fatalf("exit code %d\n%s", code, output)
			}
			written, err := filepath.Glob(filepath.Join(dir, "workflows", "*.yaml"))
			if err != nil || len(written) == 0 {
				t.Fatalf("nothing was written: %v", err)
			}
			for _, workflow := range written {
				importedIsValid(t, binary, dir, workflow)
			}
		})
	}
}

func importedIsValid(t *testing.T, binary, dir, workflow string) {
	t.Helper()
	text, err := os.ReadFile(workflow)
	if err != nil {
		t.Fatal(err)
	}
	write(t, dir, "flowrun.yaml", "secrets: [env]\nworkflows: [workflows]\n"+fragmentOf(string(text)))
	for _, called := range callsWorkflow.FindAllStringSubmatch(string(text), -1) {
		if _, err := os.Stat(filepath.Join(dir, "workflows", called[1]+".yaml")); err != nil {
			write(t, dir, "workflows/"+called[1]+".yaml", "flowrun: v1\ninputs: {who: {default: a}, age: {default: b}}\nsteps: [{uses: core.log, with: {text: x}}]\n")
		}
	}
	if strings.Contains(string(text), "workflow: usage_ledger") { // whose end is followed
		write(t, dir, "workflows/usage_ledger.yaml", "flowrun: v1\nsteps: [{uses: core.log, with: {text: x}}]\n")
	}
	output, code := flowrunIn(t, binary, dir, "validate", workflow)
	if code != 0 && !strings.Contains(output, "declares no command `registration`") { // a command of the workflow that it calls
		t.Errorf("exit code %d\n%s\n%s", code, output, text)
	}
}
