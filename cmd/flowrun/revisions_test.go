package main_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/internal/testbuild"
)

const greetOnce = `flowrun: v1
name: once
steps:
  - id: hello
    uses: greeter.greet
    with: {name: Ada}
outputs: {by: "${{ steps.hello.outputs.by }}"}
`

const greetTwice = `flowrun: v1
name: twice
steps:
  - id: before
    uses: greeter.greet
    with: {name: Ada}
  - id: ask
    uses: core.approve
    with: {message: "Once more?"}
  - id: after
    uses: greeter.greet
    with: {name: Ada}
outputs: {before: "${{ steps.before.outputs.by }}", after: "${{ steps.after.outputs.by }}"}
`

// revised is a project with one plugin of its own, which is rebuilt under its server.
type revised struct {
	t           *testing.T
	binary, dir string
	server      *exec.Cmd
	lines       chan string // of the server's log
	before      []string    // of its log, before the line that it serves
}

func newRevised(t *testing.T) *revised {
	t.Helper()
	r := &revised{t: t, binary: buildBinary(t), dir: t.TempDir()}
	write(t, r.dir, "flowrun.yaml", "plugins: {greeter: {source: ./bin/greeter}}\nserver: {listen: \"127.0.0.1:0\"}\nworkflows: [once.yaml, twice.yaml]\n")
	write(t, r.dir, "once.yaml", greetOnce)
	write(t, r.dir, "twice.yaml", greetTwice)
	if err := os.Mkdir(filepath.Join(r.dir, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	r.rebuild("1.0.0", "name")
	return r
}

// rebuild puts the plugin in its place, as a build does: whole, under its name.
func (r *revised) rebuild(version, field string) {
	r.t.Helper()
	place := filepath.Join(r.dir, "bin", "greeter")
	if err := testbuild.Program(place+".new", "./testdata/greeter", "-ldflags=-s -w -X main.version="+version+" -X main.field="+field); err != nil {
		r.t.Fatal(err)
	}
	if err := os.Rename(place+".new", place); err != nil {
		r.t.Fatal(err)
	}
}

// serve starts the server and waits until it answers.
func (r *revised) serve() {
	r.t.Helper()
	r.server = exec.Command(r.binary, "serve")
	r.server.Dir = r.dir
	r.server.Env = append(os.Environ(), "XDG_STATE_HOME="+r.dir)
	stderr, err := r.server.StderrPipe()
	if err == nil {
		err = r.server.Start()
	}
	if err != nil {
		r.t.Fatal(err)
	}
	server, lines := r.server, make(chan string, 10_000)
	r.lines = lines
	r.t.Cleanup(func() { _ = server.Process.Kill() }) // it may have ended
	go func() {
		defer close(lines)
		scanner := bufio.NewScanner(stderr)
		for scanner.Scan() {
			lines <- scanner.Text()
		}
	}()
	// What comes before it is kept: runs are taken up beside it.
	r.before = nil
	r.before = r.awaitAll(2*time.Minute, "log in, once")
}

// await returns the next line of the server's log that holds all the texts.
func (r *revised) await(texts ...string) string {
	r.t.Helper()
	return r.awaitFor(2*time.Minute, texts...)
}

// awaitFor is await for what a fault would keep from coming.
func (r *revised) awaitFor(most time.Duration, texts ...string) string {
	r.t.Helper()
	seen := r.awaitAll(most, texts...)
	return seen[len(seen)-1]
}

// awaitAll returns the lines up to the one that is awaited.
func (r *revised) awaitAll(most time.Duration, texts ...string) (seen []string) {
	r.t.Helper()
	holds := func(line string) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(line, text) })
	}
	for late := time.After(most); ; {
		if len(r.before) > 0 {
			line := r.before[0]
			r.before = r.before[1:]
			if seen = append(seen, line); holds(line) {
				return seen
			}
			continue
		}
		select {
		case line, more := <-r.lines:
			if !more {
				r.t.Fatalf("the server ended without a line with %q:\n%s", texts, strings.Join(seen, "\n"))
			}
			if seen = append(seen, line); holds(line) {
				return seen
			}
		case <-late:
			r.t.Fatalf("no line with %q:\n%s", texts, strings.Join(seen, "\n"))
		}
	}
}

func (r *revised) kill() {
	r.t.Helper()
	if err := r.server.Process.Kill(); err != nil {
		r.t.Fatal(err)
	}
	_ = r.server.Wait() // killed
}

func (r *revised) flowrun(want int, args ...string) string {
	r.t.Helper()
	stdout, stderr, code := flowrunHere(r.t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, args...)
	if code != want {
		r.t.Fatalf("flowrun %v exits %d, want %d\n%s%s", args, code, want, stdout, stderr)
	}
	return stdout
}

// revisedRun is what the tests read of a run.
type revisedRun struct {
	Run struct {
		ID     string
		Status string
	}
	Outputs struct{ By, Before, After string }
	Plugins []struct{ Plugin, Version, Digest string }
}

func (r *revised) read(text string) (s revisedRun) {
	r.t.Helper()
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		r.t.Fatalf("%v in %s", err, text)
	}
	return s
}

// runOnce runs the workflow: the version that answered must be the one that the record
// names.
func (r *revised) runOnce(version string) {
	r.t.Helper()
	started := r.read(r.flowrun(0, "run", "once.yaml", "-o", "json"))
	record := r.read(r.flowrun(0, "runs", "show", started.Run.ID, "-o", "json"))
	if len(record.Plugins) != 1 || record.Plugins[0].Version != version || started.Outputs.By != version {
		r.t.Fatalf("version %q answered, the record names %+v, want %s", started.Outputs.By, record.Plugins, version)
	}
}

// begin starts the run that waits for an approval.
func (r *revised) begin() string {
	r.t.Helper()
	out := r.flowrun(0, "run", "twice.yaml", "--detach", "-o", "json")
	var started struct {
		Run struct{ ID string }
		ID  string
	}
	if err := json.Unmarshal([]byte(out), &started); err != nil {
		r.t.Fatalf("%v in %s", err, out)
	}
	id := started.ID + started.Run.ID
	for end := time.Now().Add(time.Minute); ; time.Sleep(20 * time.Millisecond) {
		if out = r.flowrun(0, "runs", "show", id, "-o", "json"); strings.Contains(out, "Once more?") {
			return id
		}
		if time.Now().After(end) {
			r.t.Fatalf("it does not wait: %s", out)
		}
	}
}

// finish approves a waiting run, whose revision must have made both calls.
func (r *revised) finish(id, version string) {
	r.t.Helper()
	r.flowrun(0, "runs", "approve", id, "ask")
	r.flowrun(0, "runs", "watch", id)
	s := r.read(r.flowrun(0, "runs", "show", id, "-o", "json"))
	if s.Outputs.Before != version || s.Outputs.After != version || len(s.Plugins) != 1 || s.Plugins[0].Version != version {
		r.t.Errorf("run %s: before the approval %q, after it %q, record %+v; want %s", id, s.Outputs.Before, s.Outputs.After, s.Plugins, version)
	}
}

type revisedPlugins struct {
	Items []struct {
		Name, Version, Digest string
		Waiting               *struct {
			Version, Digest, Reason string
			Problems                []struct {
				File         string
				Line, Column int
			}
		}
	}
}

// inForce asks `plugins list` for the version in force and what waits.
func (r *revised) inForce(version, waiting string) {
	r.t.Helper()
	var list revisedPlugins
	out := r.flowrun(0, "plugins", "list", "-o", "json")
	if err := json.Unmarshal([]byte(out), &list); err != nil {
		r.t.Fatal(err)
	}
	for _, plugin := range list.Items {
		if plugin.Name != "greeter" {
			continue
		}
		got := ""
		if w := plugin.Waiting; w != nil {
			got = w.Version
			if len(w.Problems) == 0 || w.Problems[0].File != "once.yaml" || w.Problems[0].Line != 6 || w.Digest == plugin.Digest || !strings.Contains(w.Reason, "2 workflows would break") {
				r.t.Errorf("waiting: %+v", w)
			}
		}
		if plugin.Version != version || got != waiting {
			r.t.Errorf("in force is %q, waiting %q; want %q and %q", plugin.Version, got, version, waiting)
		}
		return
	}
	r.t.Fatalf("the plugin is not listed: %s", out)
}

// TestIssue15_Revisions rebuilds a plugin under a server: a fit revision is what the next
// run uses and records, one that breaks workflows is not in force, and a run that waits
// over all of it ends on its own.
func TestIssue15_Revisions(t *testing.T) {
	t.Parallel()
	r := newRevised(t)
	r.serve()
	r.runOnce("1.0.0")
	waiting := r.begin()

	r.rebuild("2.0.0", "name")
	r.await("plugin changed", "greeter", "2.0.0")
	r.runOnce("2.0.0")
	r.inForce("2.0.0", "")

	r.rebuild("3.0.0", "who")
	if line := r.await("plugin", "greeter", "3.0.0"); !strings.Contains(line, "plugin is not in force") || !strings.Contains(line, "WARN") || !strings.Contains(line, "once.yaml:6:12") {
		t.Fatalf("the revision that breaks workflows: %s", line)
	}
	r.await("plugin is not in force", "twice.yaml:6:12")
	r.runOnce("2.0.0")
	r.inForce("2.0.0", "3.0.0")
	if err := r.server.Process.Signal(syscall.SIGHUP); err != nil {
		t.Fatal(err)
	}
	r.await("workflows read again")
	r.runOnce("2.0.0")
	r.inForce("2.0.0", "3.0.0")
	r.finish(waiting, "1.0.0")

	// The workflows learn the new input: both come into force together.
	write(t, r.dir, "once.yaml", strings.ReplaceAll(greetOnce, "name: Ada", "who: Ada"))
	write(t, r.dir, "twice.yaml", strings.ReplaceAll(greetTwice, "name: Ada", "who: Ada"))
	r.await("plugin changed", "greeter", "3.0.0")
	r.runOnce("3.0.0")
	r.inForce("3.0.0", "")
}

// TestIssue15_RevisionsOutliveAKilledServer: after kill -9 the revision that was in force
// is so again, the one that would break workflows waits again, and a run that was waiting
// ends on its own revision, from its copy. One whose copy is gone says so.
func TestIssue15_RevisionsOutliveAKilledServer(t *testing.T) {
	t.Parallel()
	r := newRevised(t)
	r.serve()
	first, second := r.begin(), r.begin()
	digest := r.read(r.flowrun(0, "runs", "show", first, "-o", "json")).Plugins[0].Digest
	r.rebuild("2.0.0", "name")
	r.await("plugin changed", "2.0.0")
	r.rebuild("3.0.0", "who")
	r.await("plugin is not in force", "once.yaml:6:12")
	r.kill()

	r.serve()
	r.inForce("2.0.0", "3.0.0")
	r.runOnce("2.0.0")
	r.finish(first, "1.0.0")
	r.kill()

	if err := os.RemoveAll(filepath.Join(r.dir, ".flowrun", "state", "plugins", digest)); err != nil {
		t.Fatal(err)
	}
	r.serve()
	r.await("open run not taken up", second, "its revision "+digest[:12]+" is gone")
	_, stderr, code := flowrunHere(t, r.binary, r.dir, []string{"XDG_STATE_HOME=" + r.dir}, "runs", "resume", second)
	if code != 11 || !strings.Contains(stderr, "was accepted with version 1.0.0") || !strings.Contains(stderr, "--with-latest") {
		t.Errorf("resume without a copy exits %d: %s", code, stderr)
	}
	r.runOnce("2.0.0")

	// A server that begins with a fit file takes it at once, before the first run.
	r.kill()
	r.rebuild("4.0.0", "name")
	r.serve()
	r.runOnce("4.0.0")
}
