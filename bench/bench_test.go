package bench_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/sdk"
)

// TestMain serves the benchmark plugin when the engine re-executes the test
// binary as `… plugins serve bench`.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" {
		switch os.Args[3] {
		case "bench":
			benchPlugin().Serve()
		case "teller":
			tellerPlugin().Serve()
		default:
			manyPlugin(os.Args[3]).Serve()
		}
		return
	}
	os.Exit(m.Run())
}

type echoIn struct {
	N int `json:"n" doc:"returned as it is"`
}

type echoOut struct {
	N int `json:"n"`
}

func echo(_ *sdk.Call[struct{}], in echoIn) (echoOut, error) { return echoOut(in), nil }

func benchPlugin() *sdk.Plugin {
	return sdk.New("bench", "1.0.0", "Answers at once",
		sdk.Read("read", "Return n", echo),
		sdk.Keyed("write", "Return n; counts as a write", echo),
		sdk.Read("fill", "Make a large value", makeLarge),
		sdk.Read("drain", "Read a large value", readLarge),
	)
}

func open(b testing.TB) *engine.Engine {
	b.Helper()
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	ctx := context.Background()
	project, err := engine.LoadProject(ctx, workspace.Config{
		StateDir: b.TempDir(), Dir: b.TempDir(), Environ: os.Environ(), Executable: executable,
		Bundled: []string{"bench"}, Version: "bench", Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(ctx, project)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := e.Close(ctx); err != nil {
			b.Error(err)
		}
	})
	return e
}

func run(b testing.TB, e *engine.Engine, source string) {
	b.Helper()
	ctx := context.Background()
	row, problems, err := e.Start(ctx, engine.StartRequest{File: "bench.yaml", Source: []byte(source)})
	if err != nil || row == nil {
		b.Fatal(err, problems)
	}
	result, err := e.Wait(ctx, row.ID)
	if err != nil {
		b.Fatal(err)
	}
	if result.Run.Status != runs.RunSucceeded {
		b.Fatalf("run ended as %s: %v", result.Run.Status, result.Error)
	}
}

// sequence is a workflow of n steps, each after the one above it.
func sequence(n int, action string) string {
	var text strings.Builder
	text.WriteString("flowrun: v1\nname: sequence\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {id: s%d, uses: bench.%s, with: {n: %d}}\n", i, action, i)
	}
	return text.String()
}

// fan is a workflow of n steps that start at once.
func fan(n int, action string) string {
	var text strings.Builder
	text.WriteString("flowrun: v1\nname: fan\nsteps:\n")
	for i := range n {
		fmt.Fprintf(&text, "  - {id: s%d, needs: [], uses: bench.%s, with: {n: %d}}\n", i, action, i)
	}
	return text.String()
}

// measure runs body b.N times and reports the commits and fsyncs of each unit
// of work.
func measure(b *testing.B, e *engine.Engine, units int, unit string, body func()) {
	b.Helper()
	before := e.StoreStats()
	b.ResetTimer()
	for b.Loop() {
		body()
	}
	b.StopTimer()
	after := e.StoreStats()
	total := float64(b.N * units)
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/total, "ns/"+unit)
	b.ReportMetric(float64(after.Commits-before.Commits)/total, "commits/"+unit)
	b.ReportMetric(float64(after.Fsyncs-before.Fsyncs)/total, "fsyncs/"+unit)
}

// BenchmarkPluginStartToFirstAnswer opens an engine outside of the measured
// time, so that each run starts its plugin's process.
func BenchmarkPluginStartToFirstAnswer(b *testing.B) {
	var commits, fsyncs uint64
	for b.Loop() {
		b.StopTimer()
		e := open(b)
		run(b, e, "flowrun: v1\nname: empty\nsteps: [{let: {a: 1}}]\n")
		before := e.StoreStats()
		b.StartTimer()
		run(b, e, sequence(1, "read"))
		after := e.StoreStats()
		commits, fsyncs = commits+after.Commits-before.Commits, fsyncs+after.Fsyncs-before.Fsyncs
	}
	b.ReportMetric(float64(commits)/float64(b.N), "commits/run")
	b.ReportMetric(float64(fsyncs)/float64(b.N), "fsyncs/run")
}

func BenchmarkWarmReadStep(b *testing.B) {
	e := open(b)
	run(b, e, sequence(1, "read"))
	source := sequence(1, "read")
	measure(b, e, 1, "run", func() { run(b, e, source) })
}

func BenchmarkSequential1000Writes(b *testing.B) { benchmarkSteps(b, sequence(1000, "write")) }
func BenchmarkSequential1000Reads(b *testing.B)  { benchmarkSteps(b, sequence(1000, "read")) }
func BenchmarkFanOut1000Writes(b *testing.B)     { benchmarkSteps(b, fan(1000, "write")) }
func BenchmarkFanOut1000Reads(b *testing.B)      { benchmarkSteps(b, fan(1000, "read")) }

func benchmarkSteps(b *testing.B, source string) {
	e := open(b)
	run(b, e, sequence(1, "read"))
	measure(b, e, 1000, "step", func() { run(b, e, source) })
}

func Benchmark64RunsAtATimeOf3Steps(b *testing.B) {
	e := open(b)
	source := sequence(3, "write")
	run(b, e, source)
	const runs, atATime = 640, 64
	measure(b, e, runs, "run", func() { atOnce(b, e, source, runs, atATime) })
}

// atOnce runs a workflow so many times, so many at a time.
func atOnce(b testing.TB, e *engine.Engine, source string, runs, atATime int) {
	b.Helper()
	var workers sync.WaitGroup
	next := make(chan struct{}, runs)
	for range runs {
		next <- struct{}{}
	}
	close(next)
	for range atATime {
		workers.Go(func() {
			for range next {
				run(b, e, source)
			}
		})
	}
	workers.Wait()
}
