package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// imageVariable names an image to try: `make image-check` gives the one that goes out.
// Without it one is made around a program that is built as tests build theirs.
const imageVariable = "FLOWRUN_IMAGE"

// minutely is a workflow that starts by the clock every minute.
const minutely = "flowrun: v1\nname: minutely\ntriggers:\n  minute: {cron: \"* * * * *\"}\nsteps:\n  - {uses: core.log, with: {text: alive}}\n"

// firesWithin is how long a run by the clock may take to come: a minute and some time more.
const firesWithin = 2 * time.Minute

// hasFired reports whether a run was started by the clock and has succeeded.
func (c *container) hasFired() bool {
	output, err := c.exec("runs", "list", "--workflow", "minutely")
	return err == nil && regexp.MustCompile(`minutely +succeeded +minute `).MatchString(output)
}

// projectFiles are what a user mounts.
var projectFiles = map[string]string{
	"flowrun.yaml":          "plugins: {orphans: {source: ./orphans}}\nworkflows: [workflows]\n",
	"workflows/leave.yaml":  "flowrun: v1\nname: leave\ninputs: {seconds: {type: integer}}\nsteps:\n  - {id: left, uses: orphans.leave, with: {seconds: \"${{ inputs.seconds }}\"}}\noutputs:\n  pid: ${{ steps.left.outputs.pid }}\n",
	"workflows/slow.yaml":   "flowrun: v1\nname: slow\nsteps:\n  - {id: first, uses: orphans.slow, with: {seconds: 2}}\n  - {id: then, needs: [first], uses: core.log, with: {text: then}}\noutputs:\n  calls: ${{ steps.first.outputs.calls }}\n",
	"workflows/minute.yaml": minutely,
	"workflows/night.yaml":  "flowrun: v1\nname: night\ntriggers:\n  night: {cron: \"30 2 * * *\", timezone: Europe/Berlin}\nsteps:\n  - {uses: core.log, with: {text: night}}\n",
}

// static builds a program of the repository that needs no libraries.
func static(t *testing.T, source, path string) {
	t.Helper()
	flags := "-s -w"
	if cgo, err := exec.Command("go", "env", "CGO_ENABLED").Output(); err == nil && strings.TrimSpace(string(cgo)) == "1" {
		flags += " -linkmode external -extldflags -static" // what the other tests compiled is linked anew
	}
	build := exec.Command("go", "build", "-buildvcs=false", "-ldflags", flags, "-o", path, source)
	build.Dir = "../.."
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", source, err, output)
	}
}

// triedImage is the image that is tried.
func triedImage(t *testing.T) *opened {
	t.Helper()
	var content []byte
	var err error
	if file := os.Getenv(imageVariable); file != "" {
		content, err = os.ReadFile(file)
	} else {
		binary := filepath.Join(t.TempDir(), "flowrun")
		static(t, program, binary)
		var text []byte
		text, err = os.ReadFile(binary)
		content = imageOf(t, text)
	}
	if err != nil {
		t.Fatal(err)
	}
	image, err := openImage(content)
	if err != nil {
		t.Fatal(err)
	}
	return image
}

// newSpec unpacks the image, and makes a project and an empty volume for it.
func newSpec(t *testing.T) (s spec, volume string) {
	t.Helper()
	image := triedImage(t)
	c := image.config.Config
	volume = t.TempDir()
	s = spec{Root: t.TempDir(), Project: t.TempDir(), Args: append(c.Entrypoint, c.Cmd...), Env: c.Env, Dir: c.WorkingDir, UID: 65532, GID: 65532, Mounts: map[string]string{}}
	for to := range c.Volumes {
		s.Mounts[to] = volume
	}
	unpackLayers(t, image, s.Root)
	for name, text := range projectFiles {
		path := filepath.Join(s.Project, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	static(t, "./cmd/flowrun/testdata/orphans", filepath.Join(s.Project, "orphans"))
	for _, dir := range []string{s.Root, s.Project, volume} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chown(volume, s.UID, s.GID); err != nil {
		t.Fatal(err)
	}
	return s, volume
}

// orphan runs the workflow that leaves a process behind, and finds that.
func orphan(t *testing.T, c *container, seconds string) process {
	t.Helper()
	output, err := c.exec("run", "workflows/leave.yaml", "-i", "seconds="+seconds, "-o", "json")
	var result struct{ Outputs struct{ PID int } }
	if _, document, ok := strings.Cut(output, "{"); err != nil || !ok || json.NewDecoder(strings.NewReader("{"+document)).Decode(&result) != nil {
		t.Fatalf("run: %v\n%s", err, output)
	}
	p, ok := c.inside(result.Outputs.PID)
	if !ok || p.parent != c.command.Process.Pid {
		t.Fatalf("process %d is %+v (%v), want a child of the first process, %d", result.Outputs.PID, p, ok, c.command.Process.Pid)
	}
	return p
}

// TestIssue15_TheImageServesAsTheFirstProcess runs the image in namespaces of its own,
// with a root file system that is read-only, as its own user: it serves, waits for every
// process that ends, drains on SIGTERM, and goes on with the volume.
func TestIssue15_TheImageServesAsTheFirstProcess(t *testing.T) {
	t.Parallel()
	if os.Getuid() != 0 {
		t.Skip("only root can make a container of an image")
	}
	if _, err := exec.LookPath("nsenter"); err != nil {
		t.Skip("there is no nsenter")
	}
	s, volume := newSpec(t)
	c := start(t, s)
	isReady := func() bool {
		output, err := c.exec("ready")
		return err == nil && strings.Contains(output, "process 1 takes requests")
	}
	until(t, "it takes requests", isReady)
	if output := c.must("schedules", "next", "night", "-n", "1"); !strings.Contains(output, "Europe/Berlin") {
		t.Errorf("time zones: %s", output)
	}
	if status, err := os.ReadFile("/proc/" + strconv.Itoa(c.command.Process.Pid) + "/status"); err != nil || !strings.Contains(string(status), "Uid:\t65532\t65532\t65532") || !strings.Contains(string(status), "CapEff:\t0000000000000000") {
		t.Errorf("the first process is\n%s", status)
	}

	killed := orphan(t, c, "60")
	if err := syscall.Kill(killed.pid, syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
	until(t, "a killed orphan is waited for", func() bool { _, there := c.inside(killed.inside); return !there })
	ended := orphan(t, c, "1")
	until(t, "an orphan that ends is waited for", func() bool { _, there := c.inside(ended.inside); return !there })
	for _, p := range c.processes() {
		if p.parent == c.command.Process.Pid {
			_ = syscall.Kill(p.pid, syscall.SIGKILL) // the plugin
		}
	}
	until(t, "a killed plugin is waited for", func() bool { return len(c.processes()) == 0 })
	orphan(t, c, "60") // the next call has a new one
	until(t, "nobody is left a zombie", func() bool { return len(c.zombies()) == 0 })

	id := strings.Fields(c.must("run", "--detach", "workflows/slow.yaml"))
	calls := filepath.Join(volume, "state", "plugins", "home", "orphans", "calls")
	until(t, "the call is in flight", func() bool { _, err := os.Stat(calls); return err == nil })
	if code := c.end(); code != 143 {
		t.Errorf("SIGTERM ends it with %d, want 143", code)
	}
	if left, err := os.ReadDir(s.Root); err != nil || len(left) > 9 {
		t.Errorf("in the root file system is %v (%v)", left, err)
	}

	c = start(t, s)
	until(t, "it takes requests again", isReady)
	until(t, "the run goes on: "+strings.Join(id, " "), func() bool {
		return strings.Contains(c.must("runs", "list", "--workflow", "slow"), "succeeded")
	})
	if made, err := os.ReadFile(calls); err != nil || string(made) != "." {
		t.Errorf("the call in flight was made %d times (%v)", len(made), err)
	}
	untilWithin(t, firesWithin, "the clock starts a run", c.hasFired)
	if code := c.end(); code != 143 {
		t.Errorf("the second SIGTERM ends it with %d, want 143", code)
	}
}
