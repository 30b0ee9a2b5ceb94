package workflows_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/workspace"
)

// TestTheShippedWorkflowsKeepTheirTests runs `*.test.yaml` of this folder as
// `flowrun test workflows` does: each workflow has one, all cases pass, and together
// they run every step.
func TestTheShippedWorkflowsKeepTheirTests(t *testing.T) {
	t.Parallel()
	workflows, err := filepath.Glob("*.yaml")
	if err != nil || len(workflows) == 0 {
		t.Fatalf("no workflows: %v", err)
	}
	var files []workspace.TestFile
	for _, name := range workflows {
		if !strings.HasSuffix(name, ".test.yaml") {
			beside := strings.TrimSuffix(name, ".yaml") + ".test.yaml"
			if !slices.Contains(workflows, beside) {
				t.Errorf("%s has no test: write %s", name, beside)
			}
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, workspace.TestFile{Name: name, Source: source})
	}
	project := openProject(t)
	defer project.Close()
	for _, result := range project.Test(t.Context(), files, workspace.TestOptions{Read: os.ReadFile}) {
		for _, problem := range result.Problems {
			t.Errorf("%s", problem)
		}
		for _, c := range result.Cases {
			for _, failure := range c.Failures {
				t.Errorf("%s: %s: %s\n%s", failure.Pos, c.Name, failure.Message, strings.Join(failure.Lines, "\n"))
			}
		}
		if len(result.Coverage.Never) > 0 && result.Status == workspace.TestPassed {
			t.Errorf("%s: no case runs %s", result.File, strings.Join(result.Coverage.Never, ", "))
		}
	}
}

// TestIssue12_34TheShippedWorkflowsPassTheStrictCheck: the examples are what they tell
// others to write.
func TestIssue12_34TheShippedWorkflowsPassTheStrictCheck(t *testing.T) {
	t.Parallel()
	project := openProject(t)
	defer project.Close()
	files, err := filepath.Glob("*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, ".test.yaml") {
			continue
		}
		source, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, problem := range project.CheckStrict(t.Context(), name, source) {
			t.Errorf("%s", problem)
		}
	}
}

// TestTheTestOfTheDocumentationPasses runs the first test file of docs/testing.md.
func TestTheTestOfTheDocumentationPasses(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../docs/testing.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, found := strings.Cut(string(page), "```yaml\n")
	block, _, closed := strings.Cut(rest, "```")
	if !found || !closed || !strings.HasPrefix(block, "flowrun_test:") {
		t.Fatal("docs/testing.md has no test file")
	}
	project := openProject(t)
	defer project.Close()
	files := []workspace.TestFile{{Name: "testing.test.yaml", Source: []byte(block)}}
	result := project.Test(t.Context(), files, workspace.TestOptions{Read: os.ReadFile})[0]
	if result.Status != workspace.TestPassed || len(result.Cases) == 0 {
		t.Errorf("%s: %v", result.Status, result.Problems)
		for _, c := range result.Cases {
			for _, failure := range c.Failures {
				t.Errorf("%s: %s\n%s", failure.Pos, failure.Message, strings.Join(failure.Lines, "\n"))
			}
		}
	}
}
