package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestCheckTextReadsNoFile: a text that names other files hears that they are not
// known, whether they are there or not.
func TestCheckTextReadsNoFile(t *testing.T) {
	dir := t.TempDir()
	project, err := Load(t.Context(), Config{StateDir: filepath.Join(dir, "state"), Dir: dir, WorkDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	const canary = "canary-6b2c"
	if err := os.WriteFile(filepath.Join(dir, "there.yaml"), []byte(canary+": 1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"w.yaml", filepath.Join(dir, "w.yaml"), "/etc/w.yaml", ""} {
		for _, uses := range []string{"./there.yaml", "./gone.yaml"} {
			workflow, problems := project.CheckText(t.Context(), name, []byte("flowrun: v1\nname: w\nsteps:\n  - id: s\n    uses: "+uses+"\n"))
			if workflow != nil || len(problems) != 1 || !strings.Contains(problems[0].Message, "relative to a file that is not known here") || problems[0].File != name {
				t.Errorf("%q, %s: %v", name, uses, problems)
			}
		}
	}
	if workflow, problems := project.CheckText(t.Context(), "w.yaml", []byte("flowrun: v1\nname: w\nsteps:\n  - id: s\n    let: {a: 1}\n")); workflow == nil || workflow.Name != "w" {
		t.Errorf("a good one: %v", problems)
	}
}
