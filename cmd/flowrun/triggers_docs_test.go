package main_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/internal/testpage"
)

var shellBlock = regexp.MustCompile("(?ms)^```sh\n(.*?)^```$")

// TestTheSenderOfTheTriggersPageIsTaken runs the commands that docs/triggers.md shows
// for the sender of a signed request against the page's own workflow, twice: the
// second time is the same event. Another key is refused.
func TestTheSenderOfTheTriggersPageIsTaken(t *testing.T) {
	for _, program := range []string{"sh", "curl", "openssl", "sed", "date"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("the example needs %s: %v", program, err)
		}
	}
	page, err := os.ReadFile("../../docs/triggers.md")
	if err != nil {
		t.Fatal(err)
	}
	commands := shellBlock.FindStringSubmatch(string(page))
	blocks := slices.DeleteFunc(testpage.Read(page), func(b testpage.Block) bool { return !strings.HasPrefix(b.Text, "flowrun: v1\n") })
	if commands == nil || len(blocks) != 3 {
		t.Fatalf("docs/triggers.md has %d workflows and the commands %q", len(blocks), commands)
	}
	const key = "the key of the report"
	t.Setenv("FLOWRUN_SECRET_REPORT_HOOK", key)
	binary, dir := buildBinary(t), t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "workflows"), 0o755); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "flowrun.yaml", "workflows: [workflows]\n")
	write(t, dir, "workflows/report.yaml", blocks[0].Text)
	url := serveExamples(t, binary, dir)
	send := func(key string) string {
		t.Helper()
		command := exec.Command("sh", "-eu", "-c", commands[1])
		command.Env = append(os.Environ(), "URL="+url, "REPORT_HOOK="+key)
		out, err := command.Output()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	first := send(key)
	if !strings.HasPrefix(first, `{"run":"`) || strings.Contains(first, "repeated") {
		t.Fatalf("the first answer: %s", first)
	}
	if again := send(key); !strings.Contains(again, `"repeated":true`) || !strings.HasPrefix(again, first[:34]) {
		t.Errorf("the second answer: %s after %s", again, first)
	}
	if refused := send("another key"); !strings.Contains(refused, `"status":401`) {
		t.Errorf("with another key: %s", refused)
	}
}
