package engine

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/services"
	"github.com/flowrun/flowrun/engine/workspace"
)

// openAt opens an engine over a state folder.
func openAt(t *testing.T, dir string) (*Engine, error) {
	t.Helper()
	project, err := LoadProject(t.Context(), workspace.Config{
		StateDir: dir, Dir: t.TempDir(), Executable: "none", Version: "test", Now: time.Now, Entropy: rand.Reader, Log: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := Open(t.Context(), project)
	if err != nil {
		project.Close()
	}
	return e, err
}

func TestALostKeyIsNotMadeAnew(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, services.KeyFile)
	reopen := func(prepare func(e *Engine)) {
		t.Helper()
		e, err := openAt(t, dir)
		if err != nil {
			t.Fatal(err)
		}
		prepare(e)
		if err := e.Close(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	reopen(func(*Engine) {})
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	// nothing was sealed: a new key costs nothing
	reopen(func(e *Engine) {
		if _, err := e.SetSecret(t.Context(), "API_KEY", "a value to seal"); err != nil {
			t.Fatal(err)
		}
	})
	kept, err := os.ReadFile(key)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Remove(key); err != nil {
		t.Fatal(err)
	}
	_, err = openAt(t, dir)
	var store *fault.StoreError
	if !errors.As(err, &store) || store.Fault != fault.StoreCorrupt || !strings.Contains(err.Error(), key+" is not there, and 1 sealed value") {
		t.Fatalf("open: %v", err)
	}
	if _, err := os.Stat(key); err == nil {
		t.Error("a new key was made all the same")
	}
	if err := os.WriteFile(key, kept, 0o600); err != nil {
		t.Fatal(err)
	}
	reopen(func(*Engine) {})
}
