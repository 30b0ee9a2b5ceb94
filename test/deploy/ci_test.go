package deploy

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rhysd/actionlint"
	"sigs.k8s.io/yaml"
)

// TestTheWorkflowOfActionsIsOne lets a linter of GitHub Actions read it.
func TestTheWorkflowOfActionsIsOne(t *testing.T) {
	t.Parallel()
	text := read(t, "contrib/ci/github-actions.yml")
	lint := func(text string) []*actionlint.Error {
		linter, err := actionlint.NewLinter(io.Discard, &actionlint.LinterOptions{})
		if err != nil {
			t.Fatal(err)
		}
		found, err := linter.Lint("flowrun.yml", []byte(text), nil)
		if err != nil {
			t.Fatal(err)
		}
		return found
	}
	for _, found := range lint(string(text)) {
		t.Error(found)
	}
	for old, wrong := range map[string]string{"runs-on": "run-on", "github.token": "github.tokens", "pull-requests: write": "pull-requests: all"} {
		if len(lint(strings.Replace(string(text), old, wrong, 1))) == 0 {
			t.Errorf("%s is taken", wrong)
		}
	}
}

// job is what GitLab knows of a job, as far as the file has it.
type job struct {
	Stage        string              `json:"stage"`
	Extends      string              `json:"extends"`
	Image        string              `json:"image"`
	BeforeScript []string            `json:"before_script"`
	Script       []string            `json:"script"`
	Rules        []map[string]string `json:"rules"`
	Artifacts    struct {
		When    string            `json:"when"`
		Reports map[string]string `json:"reports"`
	} `json:"artifacts"`
}

type pipeline struct {
	Stages    []string          `json:"stages"`
	Variables map[string]string `json:"variables"`
	Flowrun   job               `json:".flowrun"`
	Check     job               `json:"check"`
	Plan      job               `json:"plan"`
}

func gitlab(t *testing.T) pipeline {
	t.Helper()
	var p pipeline
	if err := yaml.UnmarshalStrict(read(t, "contrib/ci/gitlab-ci.yml"), &p); err != nil {
		t.Fatal(err)
	}
	for _, j := range []job{p.Check, p.Plan} {
		if j.Extends != ".flowrun" || len(j.Rules) == 0 || len(j.Script) == 0 || p.Flowrun.Stage != p.Stages[0] {
			t.Errorf("the job %+v", j)
		}
	}
	return p
}

// actions are the commands of the file for GitHub Actions, by the names of the steps.
func actions(t *testing.T) map[string]string {
	t.Helper()
	var workflow struct {
		Jobs map[string]struct {
			Steps []struct{ Name, Run string }
		}
	}
	if err := yaml.Unmarshal(read(t, "contrib/ci/github-actions.yml"), &workflow); err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for _, s := range workflow.Jobs["check"].Steps {
		commands[s.Name] = s.Run
	}
	return commands
}

// TestTheCommandsOfCIRun runs them in a repository with a change of a workflow.
func TestTheCommandsOfCIRun(t *testing.T) {
	t.Parallel()
	bin, dir := t.TempDir(), t.TempDir()
	build := exec.Command("go", "build", "-C", root, "-o", filepath.Join(bin, "flowrun"), "./cmd/flowrun")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, output)
	}
	environ := append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "HOME="+dir, "FLOWRUN_LOCKED=false", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=ann", "GIT_AUTHOR_EMAIL=ann@example.com", "GIT_COMMITTER_NAME=ann", "GIT_COMMITTER_EMAIL=ann@example.com",
		"GITHUB_BASE_REF=main", "CI_MERGE_REQUEST_DIFF_BASE_SHA=origin/main")
	run := func(script string, more ...string) (string, bool) {
		command := exec.Command("sh", "-euc", script)
		command.Dir, command.Env = dir, append(environ, more...)
		output, err := command.CombinedOutput()
		return string(output), err == nil
	}
	must := func(script string, more ...string) string {
		t.Helper()
		output, ok := run(script, more...)
		if !ok {
			t.Fatalf("%s:\n%s", script, output)
		}
		return output
	}
	plans, err := filepath.Abs(filepath.Join(root, "contrib/ci/plans.sh"))
	if err != nil {
		t.Fatal(err)
	}
	must("git init -q -b main . && flowrun init < /dev/null && flowrun plugins lock && mkdir ci && cp '" + plans + "' ci/ && git add . && git commit -qm first && git update-ref refs/remotes/origin/main HEAD")
	locked := "FLOWRUN_LOCKED=true"
	github, lab := actions(t), gitlab(t)
	if out := must(github["Plan"]+"\ncat plans.md", locked); !strings.Contains(out, "No workflow has changed.") {
		t.Errorf("the plans of no change:\n%s", out)
	}
	must("sed 's/name: hello/name: other/' workflows/hello.yaml > workflows/other.yaml && git add . && git commit -qm second")
	for _, script := range []string{github["Plan"], lab.Plan.Script[0]} {
		out := must(script+"\ncat plans.md; rm plans.md", locked)
		if !strings.Contains(out, "<code>workflows/other.yaml</code>") || !strings.Contains(out, "\n    order\n") || strings.Contains(out, "hello.yaml") || strings.Contains(out, "test.yaml") {
			t.Errorf("%s writes:\n%s", script, out)
		}
	}
	checks := append([]string{github["Validate"], github["Test"]}, lab.Check.Script...)
	for _, script := range checks {
		if out := must(script, locked); strings.Contains(out, "::error") {
			t.Errorf("%s:\n%s", script, out)
		}
	}
	if _, err := os.Stat(filepath.Join(dir, lab.Check.Artifacts.Reports["junit"])); err != nil {
		t.Error(err)
	}
	must("sed -i 's/netinfo.whois/netinfo.whoi/' workflows/other.yaml && sed -i 's/Open Harbor\\|Harbor Names/Nobody/' workflows/hello.test.yaml && sed -i '0,/registrar: Nobody/s//registrar: Somebody/' workflows/hello.test.yaml")
	if out, ok := run(github["Validate"], locked); ok || !strings.Contains(out, "::error file=workflows/other.yaml") {
		t.Errorf("a broken workflow passes:\n%s", out)
	}
	if out, ok := run(github["Test"], locked); ok {
		t.Errorf("a test that fails passes:\n%s", out)
	}
}
