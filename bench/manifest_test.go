package bench_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/sdk"
)

// manyPlugin has as many actions as its name says, as generated from a service's
// description: "many1000".
func manyPlugin(name string) *sdk.Plugin {
	count, err := strconv.Atoi(strings.TrimPrefix(name, "many"))
	if err != nil {
		panic(err) // the benchmarks name it
	}
	const defs = `"$defs":{"owner":{"type":"object","properties":{"login":{"type":"string"},"team":{"$ref":"#/$defs/team"}}},` +
		`"team":{"type":"object","properties":{"name":{"type":"string"},"lead":{"$ref":"#/$defs/owner"}}}}`
	echo := func(_ *sdk.Call[struct{}], in sdk.Value) (sdk.Value, error) { return in, nil }
	parts := make([]sdk.Part, count)
	for i := range parts {
		parts[i] = sdk.Read(fmt.Sprintf("action_%05d", i), "One of many", echo,
			sdk.Input(fmt.Appendf(nil, `{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"},"owner":{"$ref":"#/$defs/owner"}},%s}`, defs)),
			sdk.Output(fmt.Appendf(nil, `{"type":"object","properties":{"n":{"type":"integer"},"owner":{"$ref":"#/$defs/owner"},"team":{"$ref":"#/$defs/team"}},%s}`, defs)))
	}
	return sdk.New(name, "1.0.0", "Many actions", parts...)
}

// openMany opens an engine on a state folder, with a plugin of many actions.
func openMany(b *testing.B, state, dir, plugin string) (*engine.Engine, *workspace.Workspace) {
	b.Helper()
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	project, err := engine.LoadProject(context.Background(), workspace.Config{
		StateDir: state, Dir: dir, Environ: os.Environ(), Executable: executable,
		Bundled: []string{plugin}, Version: "bench", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(context.Background(), project)
	if err != nil {
		b.Fatal(err)
	}
	return e, project
}

// cpu is what this process has used of its processors, without plugins.
func cpu(b *testing.B) time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		b.Fatal(err)
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// BenchmarkManifest describes plugins of 10 to 10,000 actions and checks a workflow
// that uses one of them: `new` is a plugin that nobody knows, whose schemas are all
// checked; `known` is every time after that, and grows by the list of names alone;
// `used` checks a workflow of as many steps as the plugin has actions, at most 1,000.
func BenchmarkManifest(b *testing.B) {
	for _, count := range []int{10, 100, 1000, 10_000} {
		plugin := fmt.Sprintf("many%d", count)
		b.Run(fmt.Sprintf("new/%d", count), func(b *testing.B) {
			manifest(b, func() string { return b.TempDir() }, plugin, 1)
		})
		state := b.TempDir()
		b.Run(fmt.Sprintf("known/%d", count), func(b *testing.B) {
			manifest(b, func() string { return state }, plugin, 1)
		})
		b.Run(fmt.Sprintf("used/%d", count), func(b *testing.B) {
			manifest(b, func() string { return state }, plugin, min(count, 1000))
		})
	}
}

func manifest(b *testing.B, state func() string, plugin string, used int) {
	dir := b.TempDir()
	source := strings.Builder{}
	source.WriteString("flowrun: v1\nname: many\nsteps:\n")
	for i := range used {
		fmt.Fprintf(&source, "  - {id: s%d, uses: %s.action_%05d, with: {n: 1}}\n", i, plugin, i)
	}
	var total time.Duration
	look := func(state string) {
		e, project := openMany(b, state, dir, plugin)
		before := cpu(b)
		if _, problems := project.CheckText(context.Background(), "many.yaml", []byte(source.String())); problems.HasErrors() {
			b.Fatal(problems)
		}
		total += cpu(b) - before
		if err := e.Close(context.Background()); err != nil {
			b.Fatal(err)
		}
	}
	if first := state(); first == state() {
		look(first) // what is known later
	}
	total = 0
	for b.Loop() {
		look(state())
	}
	b.ReportMetric(float64(total.Microseconds())/1000/float64(b.N), "cpu-ms/check")
}
