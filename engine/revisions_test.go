package engine

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/runs"
)

// saying is a workflow that logs a text.
func saying(name, text string) string {
	return "flowrun: v1\nname: " + name + "\nsteps:\n  - {id: say, uses: core.log, with: {text: " + text + "}}\n"
}

// writeFile writes a file of a project, by a name that may have folders. Its time
// moves on, so that it never depends on the clock of the file system.
func writeFile(t *testing.T, e *Engine, name, text string) {
	t.Helper()
	path := filepath.Join(e.project.Root(), name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	modified := time.Now()
	if info, err := os.Stat(path); err == nil {
		modified = info.ModTime().Add(time.Second)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, modified, modified); err != nil {
		t.Fatal(err)
	}
}

func removeFile(t *testing.T, e *Engine, name string) {
	t.Helper()
	if err := os.Remove(filepath.Join(e.project.Root(), name)); err != nil {
		t.Fatal(err)
	}
}

// flows is an engine over workflow files in its project's folder.
func flows(t *testing.T, files map[string]string) *Engine {
	t.Helper()
	e := stateProject(t, time.Now, map[string]string{"flowrun.yaml": "workflows: [flows]\n"})
	if err := os.MkdirAll(filepath.Join(e.project.Root(), "flows"), 0o755); err != nil {
		t.Fatal(err)
	}
	for name, text := range files {
		writeFile(t, e, filepath.Join("flows", name), text)
	}
	return e
}

func listOf(t *testing.T, e *Engine) []WorkflowInfo {
	t.Helper()
	list, err := e.WorkflowList(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// force says what is in force: "name=file", with ! behind a broken file; "!file"
// where nothing is.
func force(t *testing.T, e *Engine) string {
	t.Helper()
	var words []string
	for _, info := range listOf(t, e) {
		word := info.Name + "=" + filepath.Base(info.File)
		switch {
		case info.Hash == "":
			word = "!" + filepath.Base(info.File)
		case info.Stale:
			word += "!"
		}
		if info.Stale != (info.Hash != "" && info.Problems.HasErrors()) {
			word += " (wrong: problems do not fit)"
		}
		words = append(words, word)
	}
	slices.Sort(words)
	return strings.Join(words, " ")
}

func wantForce(t *testing.T, e *Engine, want string) {
	t.Helper()
	if got := force(t, e); got != want {
		t.Errorf("in force: %s, want %s", got, want)
	}
}

func TestWorkflowsAreListedByTheirNames(t *testing.T) {
	e := flows(t, map[string]string{
		"b.yaml": saying("alpha", "one"),
		"a.yaml": `flowrun: v1
name: beta
description: What it does.
labels: {team: web}
inputs: {site: {type: string, default: A}}
triggers:
  night: {cron: "0 2 * * *", timezone: Europe/Berlin}
  often: {every: 15m}
  hook: {webhook: {auth: {token: "${{ secrets.HOOK }}"}}}
  then: {after: {workflow: alpha, status: [succeeded, failed]}}
steps:
  - {uses: core.log, with: {text: two}}
  - foreach: [1, 2]
    steps: [{uses: core.log, with: {text: x}}]
outputs: {n: 1}
`,
		"notes.txt":    "no workflow",
		"a.test.yaml":  "no workflow",
		"nameless.yml": strings.Replace(saying("x", "three"), "name: x\n", "", 1),
	})
	wantForce(t, e, "alpha=b.yaml beta=a.yaml nameless=nameless.yml")
	list := listOf(t, e)
	beta := list[1]
	if beta.Description == "" || beta.Labels["team"] != "web" || beta.Steps != 3 || beta.LoadedAt.IsZero() || beta.Problems == nil || beta.LastRun != nil {
		t.Errorf("%+v", beta)
	}
	var texts []string
	for _, trigger := range beta.Triggers {
		texts = append(texts, trigger.ID+": "+trigger.Text)
	}
	want := "beta/night: 0 2 * * * Europe/Berlin|beta/often: every 15m|beta/hook: POST /hooks/beta/hook|beta/then: after alpha: succeeded, failed"
	if got := strings.Join(texts, "|"); got != want {
		t.Errorf("triggers: %s", got)
	}
	detail, err := e.Workflow(t.Context(), "beta")
	if err != nil || detail.Workflow == nil || !strings.Contains(detail.Source, "What it does") ||
		!strings.Contains(string(detail.Inputs), `"site"`) || !strings.Contains(string(detail.Outputs), `"n"`) {
		t.Errorf("%+v %v", detail, err)
	}
	run, problems, err := e.StartNamed(t.Context(), "alpha", NamedStart{})
	if err != nil || run == nil || run.Workflow != "alpha" || run.Trigger != "manual" {
		t.Fatalf("%+v %v %v", run, problems, err)
	}
	if _, err := e.Wait(t.Context(), run.ID); err != nil {
		t.Fatal(err)
	}
	if last := listOf(t, e)[0].LastRun; last == nil || last.ID != run.ID || last.Status != runs.RunSucceeded {
		t.Errorf("last run: %+v", last)
	}
}

func TestABrokenFileKeepsItsLastGoodRevision(t *testing.T) {
	e := flows(t, map[string]string{"a.yaml": saying("alpha", "one"), "z.yaml": "flowrun: v1\nname: zeta\nsteps: []\n"})
	wantForce(t, e, "!z.yaml alpha=a.yaml")
	first := listOf(t, e)[0].Hash

	writeFile(t, e, "flows/a.yaml", saying("renamed", "two")+"  - {uses: nope.nope}\n")
	wantForce(t, e, "!z.yaml alpha=a.yaml!")
	if now := listOf(t, e)[0]; now.Hash != first || now.Name != "alpha" || len(now.Problems) == 0 {
		t.Errorf("%+v", now)
	}
	run, _, err := e.StartNamed(t.Context(), "alpha", NamedStart{})
	if err != nil || run.PlanHash != first {
		t.Fatalf("the last good revision must run: %+v %v", run, err)
	}
	if detail, err := e.Workflow(t.Context(), "alpha"); err != nil || !strings.Contains(detail.Source, "one") || len(detail.Problems) == 0 {
		t.Errorf("%+v %v", detail, err)
	}

	writeFile(t, e, "flows/a.yaml", saying("renamed", "two"))
	wantForce(t, e, "!z.yaml renamed=a.yaml")
	var unknown *fault.UnknownError
	if _, _, err := e.StartNamed(t.Context(), "alpha", NamedStart{}); !errors.As(err, &unknown) {
		t.Errorf("a name that is gone: %v", err)
	}
	if _, err := e.Workflow(t.Context(), "renamd"); !errors.As(err, &unknown) || !strings.Contains(unknown.Hint.Text, "renamed") {
		t.Errorf("a misspelt name: %v", err)
	}
	var problems diag.List
	if _, _, err := e.StartNamed(t.Context(), "zeta", NamedStart{}); !errors.As(err, &problems) || !problems.HasErrors() {
		t.Errorf("one that never was good: %v", err)
	}
	if detail, err := e.Workflow(t.Context(), "zeta"); err != nil || detail.Workflow != nil || !strings.Contains(detail.Source, "zeta") {
		t.Errorf("%+v %v", detail, err)
	}

	removeFile(t, e, "flows/a.yaml")
	wantForce(t, e, "!z.yaml")
}

func TestTwoFilesOfOneName(t *testing.T) {
	e := flows(t, map[string]string{"nightly.yaml": saying("nightly", "one"), "copy.yaml": saying("nightly", "two"), "other.yaml": saying("other", "x")})
	wantForce(t, e, "!copy.yaml nightly=nightly.yaml other=other.yaml") // the file that is called like it
	clash := listOf(t, e)[0]
	if clash.File != "flows/copy.yaml" {
		clash = listOf(t, e)[1]
	}
	if problem := clash.Problems[0]; problem.Code != "FR2008" || problem.Line != 2 || !strings.Contains(problem.Message, "flows/nightly.yaml") {
		t.Errorf("%+v", problem)
	}
	removeFile(t, e, "flows/nightly.yaml")
	wantForce(t, e, "nightly=copy.yaml other=other.yaml")
	writeFile(t, e, "flows/nightly.yaml", saying("nightly", "one"))
	wantForce(t, e, "!nightly.yaml nightly=copy.yaml other=other.yaml") // who has it keeps it
	writeFile(t, e, "flows/other.yaml", saying("nightly", "x"))
	wantForce(t, e, "!nightly.yaml nightly=copy.yaml other=other.yaml!") // and the last good one stays
	writeFile(t, e, "flows/copy.yaml", "broken")
	wantForce(t, e, "!nightly.yaml nightly=copy.yaml! other=other.yaml!") // a broken file keeps its name
	writeFile(t, e, "flows/copy.yaml", saying("other", "two"))
	writeFile(t, e, "flows/other.yaml", saying("copied", "x"))
	wantForce(t, e, "copied=other.yaml nightly=nightly.yaml other=copy.yaml")
	writeFile(t, e, "flows/copy.yaml", saying("nightly", "1"))
	writeFile(t, e, "flows/nightly.yaml", saying("other", "2"))
	wantForce(t, e, "copied=other.yaml nightly=copy.yaml other=nightly.yaml") // two that change their names
}

func TestWorkflowsThatDependOnOthersAreCheckedAgain(t *testing.T) {
	calling := "flowrun: v1\nname: caller\nsteps:\n  - {id: call, uses: ../lib/part.yaml}\noutputs: {n: \"${{ steps.call.outputs.n }}\"}\n"
	part := func(output string) string {
		return "flowrun: v1\nsteps:\n  - {uses: core.log, with: {text: x}}\noutputs: {" + output + "}\n"
	}
	following := "flowrun: v1\nname: follower\ninputs: {n: {type: integer}}\ntriggers:\n  then: {after: {workflow: caller}, inputs: {n: \"${{ trigger.outputs.n }}\"}}\nsteps:\n  - {uses: core.log, with: {text: x}}\n"
	e := flows(t, map[string]string{"caller.yaml": calling, "follower.yaml": following})
	wantForce(t, e, "!caller.yaml follower=follower.yaml") // outputs of a broken workflow may be anything
	writeFile(t, e, "lib/part.yaml", part("n: 1"))         // not among the project's workflows
	wantForce(t, e, "caller=caller.yaml follower=follower.yaml")
	hash := listOf(t, e)[0].Hash
	writeFile(t, e, "lib/part.yaml", part("n: 2"))
	if now := listOf(t, e)[0]; now.Hash == hash {
		t.Error("a changed sub-workflow is a new revision")
	}
	writeFile(t, e, "lib/part.yaml", part("n: text"))
	wantForce(t, e, "caller=caller.yaml follower=follower.yaml!")
	writeFile(t, e, "lib/part.yaml", part("m: 3"))
	wantForce(t, e, "caller=caller.yaml! follower=follower.yaml")
	writeFile(t, e, "lib/part.yaml", part("n: 3"))
	wantForce(t, e, "caller=caller.yaml follower=follower.yaml")
	removeFile(t, e, "flows/caller.yaml")
	wantForce(t, e, "follower=follower.yaml!")
}

func TestAChangeThatTheClockOfTheFileSystemHidesIsFound(t *testing.T) {
	e := flows(t, map[string]string{"a.yaml": saying("alpha", "one")})
	path := filepath.Join(e.project.Root(), "flows", "a.yaml")
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	first := listOf(t, e)[0].Hash
	if err := os.WriteFile(path, []byte(saying("alpha", "two")), 0o600); err != nil { // of the same size
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if now := listOf(t, e)[0]; now.Hash == first {
		t.Error("the second text is not in force")
	}
}

func TestReloadSaysWhatItFound(t *testing.T) {
	e := flows(t, map[string]string{"a.yaml": saying("alpha", "one"), "b.yaml": saying("beta", "x"), "c.yaml": saying("gamma", "x")})
	if first, err := e.Reload(t.Context()); err != nil || len(first.Changed) != 3 {
		t.Fatalf("%+v %v", first, err)
	}
	writeFile(t, e, "flows/a.yaml", saying("alpha", "two"))
	writeFile(t, e, "flows/b.yaml", "broken")
	removeFile(t, e, "flows/c.yaml")
	found, err := e.Reload(t.Context())
	if err != nil || !slices.Equal(found.Changed, []string{"flows/a.yaml"}) || !slices.Equal(found.Broken, []string{"flows/b.yaml"}) ||
		!slices.Equal(found.Removed, []string{"flows/c.yaml"}) || len(found.Workflows) != 2 || found.At.IsZero() {
		t.Errorf("%+v %v", found, err)
	}
}

// stepper is a clock for loops: each wait is told, and ends when the test says so.
type stepper struct {
	asked chan time.Duration
	tick  chan time.Time
}

func newStepper() *stepper {
	return &stepper{asked: make(chan time.Duration), tick: make(chan time.Time)}
}

func (s *stepper) after(ctx context.Context) func(time.Duration) <-chan time.Time {
	return func(d time.Duration) <-chan time.Time {
		select {
		case s.asked <- d:
		case <-ctx.Done():
		}
		return s.tick
	}
}

// step ends the wait at hand and returns how long the next one is.
func (s *stepper) step() time.Duration {
	s.tick <- time.Time{}
	return <-s.asked
}

func TestAFollowedFileIsReadWhenItStandsStill(t *testing.T) {
	e := flows(t, map[string]string{"a.yaml": saying("alpha", "one")})
	ctx, cancel := context.WithCancel(t.Context())
	clock, ended := newStepper(), make(chan struct{})
	ticks, stop := e.revisions.Changed()
	defer stop()
	go func() { defer close(ended); e.revisions.Follow(ctx, clock.after(ctx)) }()
	defer func() { cancel(); <-ended }()
	if wait := <-clock.asked; wait != inforce.FollowEvery {
		t.Errorf("waits %s", wait)
	}
	<-ticks
	first := listOf(t, e)[0].Hash
	clock.step() // once more, since it was just read
	writeFile(t, e, "flows/a.yaml", saying("alpha", "tw")[:40])
	writeFile(t, e, "flows/new.yaml", saying("new", "x"))
	if now := listOf(t, e); now[0].Hash != first || len(now) != 1 {
		t.Errorf("a followed file is in force before it was looked at: %+v", now)
	}
	if wait := clock.step(); wait != inforce.SettleAfter {
		t.Errorf("a change is looked at again after %s", wait)
	}
	writeFile(t, e, "flows/a.yaml", saying("alpha", "two"))
	if wait := clock.step(); wait != inforce.SettleAfter {
		t.Errorf("a file that still changes is looked at again after %s", wait)
	}
	wantForce(t, e, "alpha=a.yaml")
	if wait := clock.step(); wait != inforce.FollowEvery {
		t.Errorf("then it waits %s", wait)
	}
	select {
	case <-ticks:
	default:
		t.Error("nobody was told")
	}
	wantForce(t, e, "alpha=a.yaml new=new.yaml")
	if now := listOf(t, e)[0]; now.Hash == first {
		t.Error("the new text is not in force")
	}
	writeFile(t, e, "flows/more.yaml", saying("more", "x"))
	if _, _, err := e.StartNamed(ctx, "more", NamedStart{}); err != nil {
		t.Errorf("a name that is not known is looked for at once: %v", err)
	}
}

// writePlain writes a file of a folder.
func writePlain(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestAServerSaysWhatTriggersLack(t *testing.T) {
	dir := t.TempDir()
	writePlain(t, dir, "flowrun.yaml", "workflows: [flow.yaml]\n")
	writePlain(t, dir, "flow.yaml", `flowrun: v1
name: site report
triggers:
  good: {webhook: {auth: {token: "${{ secrets.TOKEN }}"}}}
  unset: {webhook: {auth: {token: "${{ secrets.MISSING }}"}}}
  hollow: {webhook: {auth: {hmac_sha256: {secret: "${{ secrets.EMPTY }}", header: X-Signature}}}}
steps:
  - {id: say, uses: core.log, with: {text: x}}
`)
	e := withSecrets(t, dir, nil)
	var problems []string
	rev, err := e.revisions.Named(t.Context(), "site report")
	if err != nil {
		t.Fatal(err)
	}
	for _, problem := range e.project.TriggersLack(t.Context(), rev.Workflow()) {
		problems = append(problems, problem.Message)
	}
	want := []string{
		"webhook `unset` needs the secret MISSING, which is not set: it takes no request",
		"webhook `hollow` needs the secret EMPTY, which is not set: it takes no request",
	}
	if !slices.Equal(problems, want) {
		t.Errorf("%q", problems)
	}
}

func TestAReloadAsksAPluginAgain(t *testing.T) {
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	plugin := filepath.Join(dir, "feed")
	writePlain(t, dir, "feed", "#!/bin/sh\nexit 3\n")
	if err := os.Chmod(plugin, 0o755); err != nil {
		t.Fatal(err)
	}
	writePlain(t, dir, "flowrun.yaml", "workflows: [a.yaml]\nplugins: {feed: {source: ./feed, grants: {commands: ["+program+"]}}}\nconnections: {feed: {plugin: feed, config: {file: x, token: \"${{ secrets.TOKEN }}\"}}}\n")
	writePlain(t, dir, "a.yaml", "flowrun: v1\nname: a\nsteps:\n  - {uses: feed.list}\n")
	e := withSecrets(t, dir, nil)
	wantForce(t, e, "!a.yaml")
	writePlain(t, dir, "feed", "#!/bin/sh\nexec "+program+" plugins serve feed\n")
	wantForce(t, e, "!a.yaml") // it is not asked at every look
	if _, err := e.Reload(t.Context()); err != nil {
		t.Fatal(err)
	}
	wantForce(t, e, "a=a.yaml")
}
