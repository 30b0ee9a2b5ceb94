package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// result is what one command gave.
type result struct {
	stdout, stderr string
	code           int
}

// runIn runs one command in a folder, with a home of its own.
func runIn(t *testing.T, dir string, environ []string, args ...string) result {
	t.Helper()
	return runOf(t, dir, "v0", environ, args...)
}

// runOf is runIn of a flowrun of a version.
func runOf(t *testing.T, dir, version string, environ []string, args ...string) result {
	t.Helper()
	var stdout, stderr bytes.Buffer
	code := Run(args, System{
		Stdout: &stdout, Stderr: &stderr, Stdin: strings.NewReader(""), Dir: dir, Executable: "/nonexistent/flowrun",
		Environ: append([]string{"HOME=" + filepath.Join(dir, "home")}, environ...),
		Host:    "here", PID: 1, Version: version, Now: time.Now, Entropy: rand.Reader, Location: time.UTC,
		Signals: func() (<-chan os.Signal, func()) { return nil, func() {} },
	})
	return result{stdout.String(), stderr.String(), code}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestUsageErrorsExitWithTwoAndSuggest(t *testing.T) {
	cases := map[string]struct {
		args []string
		hint string
	}{
		"a misspelt command":                {[]string{"rnu"}, "did you mean `run`?"},
		"a misspelt command of a group":     {[]string{"runs", "shwo"}, "did you mean `show`?"},
		"a misspelt shell":                  {[]string{"completion", "bsh"}, "did you mean `bash`?"},
		"a number that is none":             {[]string{"runs", "--limit", "x"}, "`flowrun runs --help`"},
		"a misspelt flag":                   {[]string{"run", "--sandbx", "x.yaml"}, "did you mean `--sandbox`?"},
		"a misspelt output":                 {[]string{"runs", "-o", "jsn"}, "did you mean `json`?"},
		"a misspelt status":                 {[]string{"runs", "list", "--status", "faild"}, "did you mean `failed`?"},
		"a misspelt colour mode":            {[]string{"version", "--color", "alway"}, "did you mean `always`?"},
		"a missing argument":                {[]string{"run"}, "usage: flowrun run WORKFLOW"},
		"an argument too many":              {[]string{"version", "x"}, "usage: flowrun version"},
		"a group without a command":         {[]string{"key"}, "check, rotate"},
		"a call without an action":          {[]string{"call", "netinfo"}, "`flowrun plugins actions` lists the actions"},
		"a call whose input is no JSON":     {[]string{"call", "a.b", "--with", "{"}, "such as --with"},
		"a limit out of range":              {[]string{"runs", "--limit", "0"}, "--limit takes 1 to 1000"},
		"a time that is none":               {[]string{"runs", "--since", "yesterday"}, "such as 2026-03-01T09:00:00Z"},
		"a workflow name that is none":      {[]string{"new", "workflow", "A b"}, "small letters"},
		"a graph format that is unknown":    {[]string{"graph", "-f", "mermaids", "x.yaml"}, "did you mean `mermaid`?"},
		"an input that names no value":      {[]string{"runs", "rerun", "x", "-i", "site"}, "such as -i site=A"},
		"two flags that exclude each other": {[]string{"run", "--detach", "--no-wait", "x.yaml"}, "exclude each other"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := runIn(t, t.TempDir(), nil, c.args...)
			if got.code != exitUsage {
				t.Errorf("exit code %d, want %d", got.code, exitUsage)
			}
			if got.stdout != "" || !strings.Contains(got.stderr, c.hint) {
				t.Errorf("stdout %q, stderr %q; want the hint %q", got.stdout, got.stderr, c.hint)
			}
		})
	}
}

func TestWhatIsNotThereExitsWithNine(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "report.yaml"), "flowrun: v1\n")
	for _, args := range [][]string{
		{"run", "reprot.yaml"}, {"graph", "reprot.yaml"}, {"validate", "reprot.yaml"},
	} {
		got := runIn(t, dir, nil, args...)
		if got.code != exitNotFound || !strings.Contains(got.stderr, "did you mean `report.yaml`?") {
			t.Errorf("%v: exit %d, %q", args, got.code, got.stderr)
		}
	}
	for _, args := range [][]string{{"runs", "show", "nope"}, {"runs", "logs", "nope"}, {"runs", "events", "nope"}, {"runs", "watch", "nope"}, {"runs", "cancel", "nope"}, {"runs", "resume", "nope"}} {
		got := runIn(t, dir, nil, append(args, "--state", filepath.Join(dir, "state"))...)
		if got.code != exitNotFound || !strings.Contains(got.stderr, "there is no run") {
			t.Errorf("%v: exit %d, %q", args, got.code, got.stderr)
		}
	}
	if got := runIn(t, dir, nil, "runs", "--config", "other.yaml"); got.code != exitNotFound || !strings.Contains(got.stderr, "other.yaml") {
		t.Errorf("a project file that is not there: exit %d, %q", got.code, got.stderr)
	}
}

func TestDetachWithoutAnOwnerExitsWithTwelve(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "w.yaml"), "flowrun: v1\n")
	if got := runIn(t, dir, nil, "run", "--detach", "w.yaml"); got.code != exitNoServer {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
}

func TestInitMakesWhatIsMissingAndChangesNothing(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "p", "flowrun.yaml"), "workflows: [mine]\n")
	got := runIn(t, dir, nil, "init", "p")
	want := "kept     p/flowrun.yaml\ncreated  p/workflows/hello.yaml\ncreated  p/workflows/hello.test.yaml\ncreated  p/.gitignore\ncreated  p/.flowrun/workflow.schema.json\n"
	if got.code != exitOK || got.stdout != want {
		t.Errorf("exit %d, %s", got.code, got.stdout)
	}
	if !strings.Contains(got.stderr, "cd p && flowrun run --sandbox workflows/hello.yaml") {
		t.Errorf("it suggests %q", got.stderr)
	}
	if data, err := os.ReadFile(filepath.Join(dir, "p", "flowrun.yaml")); err != nil || string(data) != "workflows: [mine]\n" {
		t.Errorf("flowrun.yaml is %q now (%v)", data, err)
	}
}

func TestNewWorkflowGoesBesideTheProjectFile(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "flowrun.yaml"), "")
	below := filepath.Join(dir, "a", "b")
	if err := os.MkdirAll(below, 0o755); err != nil {
		t.Fatal(err)
	}
	if got := runIn(t, below, nil, "new", "workflow", "report"); got.code != exitOK {
		t.Fatalf("exit %d, %q", got.code, got.stderr)
	}
	data, err := os.ReadFile(filepath.Join(dir, "workflows", "report.yaml"))
	if err != nil || !strings.Contains(string(data), "\nname: report\n") {
		t.Errorf("it wrote %q (%v)", data, err)
	}
	if got := runIn(t, dir, nil, "new", "workflow", "report"); got.code != exitConflict {
		t.Errorf("a second one: exit %d", got.code)
	}
}

func TestVersionIsOneJSONObject(t *testing.T) {
	got := runIn(t, t.TempDir(), nil, "version", "-o", "json")
	var object map[string]string
	if err := json.Unmarshal([]byte(got.stdout), &object); err != nil || object["version"] != "v0" {
		t.Errorf("%q: %v", got.stdout, err)
	}
}

func TestAnEmptyStoreHasNoRuns(t *testing.T) {
	dir := t.TempDir()
	got := runIn(t, dir, nil, "runs", "-o", "json", "--state", filepath.Join(dir, "s"))
	if got.code != exitOK || got.stdout != `{"items":[],"next_cursor":null}`+"\n" {
		t.Errorf("exit %d, %q, %q", got.code, got.stdout, got.stderr)
	}
}

func TestPluginsServeRefusesUnknownNames(t *testing.T) {
	got := runIn(t, t.TempDir(), nil, "plugins", "serve", "netinf")
	if got.code != exitNotFound || !strings.Contains(got.stderr, "did you mean `netinfo`?") {
		t.Errorf("exit %d, %q", got.code, got.stderr)
	}
}
