package cli

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// longApp is an app whose signals a test sends.
func longApp(signals chan os.Signal) (a *app, stopped *bool) {
	stopped = new(bool)
	return &app{sys: System{
		Stderr: new(bytes.Buffer), Now: time.Now, Dir: filepath.FromSlash("/srv/here"),
		Signals: func() (<-chan os.Signal, func()) { return signals, func() { *stopped = true } },
	}}, stopped
}

func TestALongCommandEndsInGoodOrderAtAnInterrupt(t *testing.T) {
	signals := make(chan os.Signal, 1)
	a, stopped := longApp(signals)
	cleaned := false
	_, err := long(t.Context(), a, "checking x", func(ctx context.Context) (any, error) {
		signals <- os.Interrupt
		<-ctx.Done()
		cleaned = true
		return nil, ctx.Err()
	})
	if exitCode(err) != exitInterrupted || err.Error() != "interrupted while checking x" || !cleaned || !*stopped {
		t.Errorf("%v, exit %d, cleaned %v, signals given back %v", err, exitCode(err), cleaned, *stopped)
	}
	wrong := errors.New("wrong")
	if _, err := long(t.Context(), a, "checking x", func(context.Context) (any, error) { return nil, wrong }); !errors.Is(err, wrong) {
		t.Errorf("an error becomes %v", err)
	}
	if _, err := long(t.Context(), a, "checking x", func(context.Context) (any, error) { return nil, nil }); err != nil {
		t.Errorf("success becomes %v", err)
	}
}

func TestPathsAreShownFromTheWorkingDirectory(t *testing.T) {
	a, _ := longApp(nil)
	for path, want := range map[string]string{
		"/srv/here/state/flowrun.db": "state/flowrun.db", "/srv/there/x.db": "/srv/there/x.db", "/srv/here": ".", "/srv/hereafter": "/srv/hereafter",
	} {
		if got := a.shown(path); got != want {
			t.Errorf("%s is shown as %s, want %s", path, got, want)
		}
	}
}
