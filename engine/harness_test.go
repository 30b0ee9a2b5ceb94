package engine

import (
	"crypto/rand"
	"log/slog"
	"path/filepath"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/workspace"
)

// withSecrets is an engine over the workflows of a folder, which has some secrets.
func withSecrets(t *testing.T, dir string, change func(*workspace.Config)) *Engine {
	t.Helper()
	config := workspace.Config{
		StateDir: filepath.Join(dir, "state"), Dir: dir, ProjectFile: filepath.Join(dir, "flowrun.yaml"), Executable: "none", Version: "test",
		Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
		Environ: []string{"FLOWRUN_SECRET_TOKEN=t0kent0ken", "FLOWRUN_SECRET_EMPTY="},
	}
	inMemory(&config)
	if change != nil {
		change(&config)
	}
	project, err := LoadProject(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeEngine(t, e) })
	return e
}
