package workspace

import (
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// load loads a project of these files.
func load(t *testing.T, files map[string]string) *Workspace {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		putFile(t, dir, name, text)
	}
	p, err := Load(t.Context(), Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, Executable: "none", Version: "test", Now: time.Now,
		Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func putFile(t *testing.T, dir, name, text string) {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
