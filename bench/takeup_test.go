package bench_test

import (
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// waitingRun calls a plugin and then waits for a person.
const waitingRun = `flowrun: v1
name: waiting
steps:
  - {id: read, uses: bench.read, with: {n: 1}}
  - {id: ask, uses: core.approve, with: {message: "is ${{ steps.read.outputs.n }} right?"}}
`

func openIn(b *testing.B, state, dir string) *engine.Engine {
	b.Helper()
	executable, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	project, err := engine.LoadProject(b.Context(), workspace.Config{
		StateDir: state, Dir: dir, Environ: os.Environ(), Executable: executable,
		Bundled: []string{"bench"}, Version: "bench", Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	e, err := engine.Open(b.Context(), project)
	if err != nil {
		b.Fatal(err)
	}
	return e
}

func shut(b *testing.B, e *engine.Engine) {
	b.Helper()
	if err := e.Close(context.Background()); err != nil {
		b.Fatal(err)
	}
}

// BenchmarkTakeUp1000Runs is the restart of a server: from the opening of the
// store until 1,000 open runs are driven again (S7).
func BenchmarkTakeUp1000Runs(b *testing.B) {
	const count = 1000
	state, dir := b.TempDir(), b.TempDir()
	e := openIn(b, state, dir)
	for range count {
		row, problems, err := e.Start(b.Context(), engine.StartRequest{File: "waiting.yaml", Source: []byte(waitingRun)})
		if err != nil || row == nil {
			b.Fatal(err, problems)
		}
	}
	for waiting := 0; waiting < count; {
		rows, _, err := e.List(b.Context(), runs.Filter{Status: runs.RunWaiting, Limit: count})
		if err != nil {
			b.Fatal(err)
		}
		if waiting = len(rows); waiting < count {
			time.Sleep(10 * time.Millisecond)
		}
	}
	shut(b, e)
	for b.Loop() {
		e := openIn(b, state, dir)
		if err := e.AlwaysOn(b.Context()); err != nil {
			b.Fatal(err)
		}
		for e.Active() < count {
			time.Sleep(time.Millisecond)
		}
		b.StopTimer()
		shut(b, e)
		b.StartTimer()
	}
}
