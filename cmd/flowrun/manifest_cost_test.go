package main_test

import (
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

// A plugin of a thousand generated actions costs a command that uses one of them at most
// this much of the processor, plugin included, above a plugin that has that one alone. The
// schema for editors, which holds all actions, is made once for the same plugins.
const manifestCost = 50 * time.Millisecond

// costed are the commands, in one project.
var costed = [][]string{
	{"validate"}, {"run", "w.yaml"}, {"call", "generated.used", "--with", `{"n":1}`}, {"explain", "generated.used"}, {"runs", "list"}, {"plugins", "list"},
	{"plugins", "show", "generated"}, {"plugins", "actions", "generated"}, {"graph", "w.yaml"}, {"plan", "w.yaml"}, {"test"}, {"doctor"}, {"fmt", "w.yaml"},
	{"__complete", "call", "generated.us"}, {"connections", "list"}, {"plugins", "upgrade", "generated", "--check"}, {"schema"},
}

// TestIssue15_ALargeManifestCostsLittle measures the time of the processor that each command
// takes, with what it starts. Several processes at once share caches, so the least of some
// runs counts.
func TestIssue15_ALargeManifestCostsLittle(t *testing.T) {
	binary := buildBinary(t)
	small, large := generatedProject(t, "0"), generatedProject(t, "1000")
	for _, dir := range []string{small, large} {
		cpuOf(t, binary, dir, "validate") // describes the plugin
	}
	for _, args := range costed {
		name := strings.Join(args, " ")
		t.Run(name, func(t *testing.T) {
			var more []time.Duration
			for try := 0; try < 12; try++ {
				few, many := least(t, binary, small, args), least(t, binary, large, args)
				if more = append(more, many-few); many-few <= manifestCost {
					t.Logf("%s: %d ms more, of %d ms", name, (many - few).Milliseconds(), many.Milliseconds())
					return
				}
			}
			t.Errorf("%s takes %v more with a thousand actions, at most %v are allowed", name, slices.Min(more), manifestCost)
		})
	}
}

// TestIssue15_ALargeManifestCostsAServerLittle: from the start to the end of a server.
func TestIssue15_ALargeManifestCostsAServerLittle(t *testing.T) {
	binary := buildBinary(t)
	cost := func(count string) time.Duration {
		dir := generatedProject(t, count)
		write(t, dir, "flowrun.yaml", "plugins: {generated: {source: ./generated}}\nworkflows: [w.yaml]\nserver: {listen: \"127.0.0.1:0\"}\n")
		cpuOf(t, binary, dir, "validate")
		best := time.Hour
		for range 3 {
			r := &revised{t: t, binary: binary, dir: dir}
			r.serve()
			if err := r.server.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			_ = r.server.Wait() // 143
			usage := r.server.ProcessState.SysUsage().(*syscall.Rusage)
			best = min(best, time.Duration(usage.Utime.Nano()+usage.Stime.Nano()))
		}
		return best
	}
	few, many := cost("0"), cost("1000")
	t.Logf("serve: %d ms more, of %d ms", (many - few).Milliseconds(), many.Milliseconds())
	if many-few > manifestCost {
		t.Errorf("a server takes %v more with a thousand actions", many-few)
	}
}

// least is what the cheapest of three runs takes.
func least(t *testing.T, binary, dir string, args []string) time.Duration {
	t.Helper()
	return min(cpuOf(t, binary, dir, args...), cpuOf(t, binary, dir, args...), cpuOf(t, binary, dir, args...))
}

func generatedProject(t *testing.T, count string) string {
	t.Helper()
	dir := t.TempDir()
	if err := testbuild.Program(filepath.Join(dir, "generated"), "./testdata/generated", "-ldflags=-s -w -X main.count="+count); err != nil {
		t.Fatal(err)
	}
	write(t, dir, "flowrun.yaml", "plugins: {generated: {source: ./generated}}\nworkflows: [w.yaml]\n")
	write(t, dir, "w.yaml", "flowrun: v1\nname: w\nsteps:\n  - {id: s, uses: generated.used, with: {n: 1}}\noutputs: {n: \"${{ steps.s.outputs.n }}\"}\n")
	write(t, dir, "w.test.yaml", "flowrun_test: v1\nworkflow: w.yaml\ncases:\n  - name: c\n    answers: {s: {outputs: {n: 1}}}\n    expect: {outputs: {n: 1}}\n")
	return dir
}

// cpuOf runs a command and returns the processor's time that it took, with that of the
// plugins which it started and waited for.
func cpuOf(t *testing.T, binary, dir string, args ...string) time.Duration {
	t.Helper()
	command := exec.Command(binary, args...)
	command.Dir, command.Env = dir, append(os.Environ(), "XDG_STATE_HOME="+dir, "HOME="+dir)
	output, err := command.CombinedOutput()
	if err != nil {
		t.Fatalf("flowrun %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	usage := command.ProcessState.SysUsage().(*syscall.Rusage)
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
