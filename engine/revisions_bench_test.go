package engine

import (
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"time"

	"crypto/rand"

	"github.com/flowrun/flowrun/engine/inforce"
	"github.com/flowrun/flowrun/engine/workspace"
)

// BenchmarkRevisions loads a project of 1,000 workflows with a schedule each, and
// asks for what a page of them shows. heap-B is what they keep in memory.
func BenchmarkRevisions(b *testing.B) {
	const files = 1000
	dir := b.TempDir()
	write := func(name, text string) {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			b.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "flows"), 0o755); err != nil {
		b.Fatal(err)
	}
	write("flowrun.yaml", "workflows: [flows]\n")
	for i := range files {
		write(fmt.Sprintf("flows/w%04d.yaml", i), fmt.Sprintf(`flowrun: v1
name: workflow %d
inputs: {site: {type: string, default: A}}
triggers:
  night: {cron: "%d 2 * * *", timezone: Europe/Berlin}
steps:
  - {id: one, let: {x: "${{ inputs.site + 'x' }}"}}
  - {id: two, uses: core.log, with: {text: "${{ steps.one.outputs.x }}"}}
  - {id: three, foreach: [1, 2, 3], steps: [{uses: core.log, with: {text: "${{ string(item) }}"}}]}
outputs: {x: "${{ steps.one.outputs.x }}"}
`, i, i%60))
	}
	project, err := LoadProject(b.Context(), workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Executable: "none", Version: "test",
		Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	heap := func() uint64 {
		var stats runtime.MemStats
		runtime.GC()
		runtime.GC()
		runtime.ReadMemStats(&stats)
		return stats.HeapAlloc
	}
	b.Run("load", func(b *testing.B) {
		before := heap()
		var kept *inforce.Revisions
		for b.Loop() {
			kept = inforce.New(project)
			if _, err := kept.Refresh(b.Context(), false); err != nil {
				b.Fatal(err)
			}
		}
		b.ReportMetric(float64(heap()-before), "heap-B")
		runtime.KeepAlive(kept)
	})
	loaded := inforce.New(project)
	if _, err := loaded.Refresh(b.Context(), false); err != nil {
		b.Fatal(err)
	}
	b.Run("look", func(b *testing.B) { // what following costs every two seconds
		for b.Loop() {
			loaded.Glance()
		}
	})
	b.Run("refresh", func(b *testing.B) { // what a question costs while nobody follows
		for b.Loop() {
			if _, err := loaded.Refresh(b.Context(), false); err != nil {
				b.Fatal(err)
			}
		}
	})
}
