package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// digest is the project of testdata/annotated, with the simulators behind its
// connections.
type digest struct {
	binary, dir string
}

// TestTheAnnotatedExample takes the example that stands at the top of the
// language's contract through two runs. In the first one a person approves the
// cleanup; the second one reads only what is new.
func TestTheAnnotatedExample(t *testing.T) {
	t.Parallel()
	d := newDigest(t)
	if output, code := d.flowrun(t, "validate"); code != 0 {
		t.Fatalf("validate exits with %d:\n%s", code, output)
	}
	d.lowerTheThreshold(t)

	first := d.result(t, 8, "run", "weekly-digest.yaml", "-i", "workspace_id=40317", "-i", "site=ABCDEFGH", "-o", "json")
	if first.Run.Status != "waiting" || first.Steps["approve"].Status != "waiting" || first.Steps["cleanup"].Status != "pending" {
		t.Fatalf("before the approval: %+v", first)
	}
	if output, code := d.flowrun(t, "runs", "approve", first.Run.ID, "approve", "--form", "label=wating"); code != 0 {
		t.Fatalf("approve exits with %d:\n%s", code, output)
	}
	first = d.result(t, 0, "runs", "resume", first.Run.ID, "-o", "json")
	if first.Run.Status != "succeeded" || first.Steps["cleanup"].Status != "succeeded" {
		t.Errorf("after the approval: %+v", first)
	}
	if first.Outputs.Total == 0 || len(first.Outputs.Domains) == 0 || !strings.Contains(first.Outputs.Table, "| host | registrar |") {
		t.Errorf("the digest is %+v", first.Outputs)
	}
	if kept, code := d.flowrun(t, "state", "get", "weekly-digest", "last_total"); code != 0 || strings.TrimSpace(kept) != strconv.Itoa(first.Outputs.Total) {
		t.Errorf("the next run's last_total is %q (exit code %d), want %d", kept, code, first.Outputs.Total)
	}
	if _, code := d.flowrun(t, "call", "tasks.label_remove", "--connection", "work", "--with", `{"body":{"name":"wating"}}`); code != 5 {
		t.Errorf("the label that was to be removed: exit code %d, want 5 (not found)", code)
	}

	second := d.result(t, 0, "run", "weekly-digest.yaml", "-i", "workspace_id=40317", "-i", "site=ABCDEFGH", "-i", "dry_run=true", "-o", "json")
	if before, after := len(first.Steps["ledger"].Outputs.Items), len(second.Steps["ledger"].Outputs.Items); before == 0 || after != 0 {
		t.Errorf("the first run read %d movements of the ledger, the second one %d", before, after)
	}
	if got := second.Steps["approve"].Status; got != "skipped" {
		t.Errorf("in a dry run the approval is %s", got)
	}
}

// newDigest copies the project and puts the simulators' addresses into it.
func newDigest(t *testing.T) digest {
	t.Helper()
	d := digest{binary: buildBinary(t), dir: t.TempDir()}
	if err := os.CopyFS(d.dir, os.DirFS("testdata/annotated")); err != nil {
		t.Fatal(err)
	}
	simulators, err := os.ReadFile(startSandbox(t, d.binary, t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	d.edit(t, "flowrun.yaml", func(text string) string {
		return strings.NewReplacer(
			"https://tasks.example", addressOf(t, string(simulators), "tasks"),
			"https://stats.example", addressOf(t, string(simulators), "analytics"),
			"https://ip.example", addressOf(t, string(simulators), "netinfo"),
		).Replace(text)
	})
	return d
}

// addressOf finds a plugin's base_url in what `flowrun sandbox` prints.
func addressOf(t *testing.T, config, plugin string) string {
	t.Helper()
	match := regexp.MustCompile(`plugin: ` + plugin + `\n.*"base_url":"([^"]+)"`).FindStringSubmatch(config)
	if match == nil {
		t.Fatalf("no base_url of %s in %s", plugin, config)
	}
	return match[1]
}

// lowerTheThreshold makes the cleanup worth asking for: in a week of the
// simulator fewer than 500 tasks are finished.
func (d digest) lowerTheThreshold(t *testing.T) {
	t.Helper()
	d.edit(t, "weekly-digest.yaml", func(text string) string {
		return strings.Replace(text, "if: len(steps.completed.outputs.items) > 500 ", "if: len(steps.completed.outputs.items) > 0 ", 1)
	})
}

func (d digest) edit(t *testing.T, name string, change func(string) string) {
	t.Helper()
	before, err := os.ReadFile(filepath.Join(d.dir, name))
	if err != nil {
		t.Fatal(err)
	}
	after := change(string(before))
	if after == string(before) {
		t.Fatalf("%s is as it was", name)
	}
	write(t, d.dir, name, after)
}

// digestResult is what the test reads of a run.
type digestResult struct {
	Run     struct{ ID, Status string }
	Outputs struct {
		Total   int
		Domains []any
		Table   string
	}
	Steps map[string]struct {
		Status  string
		Outputs struct{ Items []any }
	}
}

// result runs a command that prints a run's object.
func (d digest) result(t *testing.T, code int, args ...string) digestResult {
	t.Helper()
	output, got := d.flowrun(t, args...)
	var result digestResult
	if err := json.Unmarshal([]byte(output), &result); err != nil || got != code {
		t.Fatalf("flowrun %s exits with %d, want %d (%v):\n%s", strings.Join(args, " "), got, code, err, output)
	}
	return result
}

// flowrun returns a command's stdout and its exit code. What it prints on stderr
// is shown when the test fails.
func (d digest) flowrun(t *testing.T, args ...string) (output string, code int) {
	t.Helper()
	output, stderr, code := flowrunHere(t, d.binary, d.dir, []string{
		"FLOWRUN_SECRET_WORK_TOKEN=sandbox-tasks-token", "FLOWRUN_SECRET_SITE_TOKEN=sandbox-analytics-token",
		"FLOWRUN_SECRET_DIGEST_HOOK=of-the-hook", "FLOWRUN_SECRET_OPS_HOOK=http://127.0.0.1:9/hook",
	}, args...)
	t.Logf("flowrun %s: exit code %d\n%s", strings.Join(args, " "), code, stderr)
	if _, after, ended := strings.Cut(stderr, " weekly-digest: succeeded\n"); ended && after != "" {
		t.Errorf("this was told after the run's end:\n%s", after)
	}
	return output, code
}
