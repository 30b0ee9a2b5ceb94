package commits

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/sdk"
)

// TestMain serves the plugin of the tests when the engine starts the test binary as
// `… plugins serve counted`.
func TestMain(m *testing.M) {
	if len(os.Args) == 4 && os.Args[1] == "plugins" {
		countedPlugin().Serve()
		return
	}
	os.Exit(m.Run())
}

type value struct {
	N int `json:"n" doc:"returned as it is"`
}

func echo(_ *sdk.Call[struct{}], in value) (value, error) { return in, nil }

func countedPlugin() *sdk.Plugin {
	return sdk.New("counted", "1.0.0", "Answers at once",
		sdk.Read("read", "Return n", echo),
		sdk.Keyed("write", "Return n; counts as a write", echo),
	)
}

// counted is an engine whose commits are watched.
type counted struct {
	*engine.Engine
	t     *testing.T
	watch *pageWatch
}

func open(t *testing.T) *counted {
	t.Helper()
	executable, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	ctx, state := context.Background(), t.TempDir()
	watch := &pageWatch{path: filepath.Join(state, workspace.StoreFile)}
	project, err := engine.LoadProject(ctx, workspace.Config{
		StateDir: state, Dir: t.TempDir(), Environ: os.Environ(), Executable: executable,
		Bundled: []string{"counted"}, Version: "test", Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler), OnCommit: watch.committed,
	})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.Open(ctx, project)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.Close(ctx); err != nil {
			t.Error(err)
		}
		watch.close()
	})
	return &counted{Engine: e, t: t, watch: watch}
}

func (c *counted) run(source string) {
	ctx := context.Background()
	row, problems, err := c.Start(ctx, engine.StartRequest{File: "counted.yaml", Source: []byte(source)})
	if err != nil || row == nil {
		c.t.Error(err, problems)
		return
	}
	result, err := c.Wait(ctx, row.ID)
	if err != nil || result.Run.Status != runs.RunSucceeded {
		c.t.Errorf("the run ended otherwise: %v, %+v", err, result)
	}
}

// atOnce runs a workflow n times, so many at a time.
func (c *counted) atOnce(source string, n, atATime int) {
	next := make(chan struct{}, n)
	for range n {
		next <- struct{}{}
	}
	close(next)
	var workers sync.WaitGroup
	for range atATime {
		workers.Go(func() {
			for range next {
				c.run(source)
			}
		})
	}
	workers.Wait()
}

// steps is a workflow of n steps: each after the one above it, or all at once.
func steps(n int, action string, atOnce bool) string {
	var text strings.Builder
	text.WriteString("flowrun: v1\nname: counted\nsteps:\n")
	needs := ""
	if atOnce {
		needs = "needs: [], "
	}
	for i := range n {
		fmt.Fprintf(&text, "  - {id: s%d, %suses: counted.%s, with: {n: %d}}\n", i, needs, action, i)
	}
	return text.String()
}
