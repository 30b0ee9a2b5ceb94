package killloop

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// engineDriver is the real engine.
type engineDriver struct {
	engine *engine.Engine
	dir    string
}

// openEngine opens the engine on the project's folder. reached is called around
// each transaction.
func openEngine(ctx context.Context, r role, reached func()) (*engineDriver, error) {
	config := engineConfig(r.Dir, reached)
	if r.Rate > 0 { // a long load may fail in the middle of the night
		config.Log = slog.New(slog.NewTextHandler(os.Stderr, nil))
	}
	project, err := engine.LoadProject(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("load project: %w", err)
	}
	opened, err := engine.Open(ctx, project)
	if err != nil {
		return nil, fmt.Errorf("open: %w", err)
	}
	go func() {
		if err, failed := <-opened.Failed(); failed {
			fmt.Fprintln(os.Stderr, "the store failed:", err)
			os.Exit(4)
		}
	}()
	return &engineDriver{engine: opened, dir: r.Dir}, nil
}

func engineConfig(dir string, reached func()) workspace.Config {
	return workspace.Config{
		StateDir: filepath.Join(dir, "state"), ProjectFile: filepath.Join(dir, "flowrun.yaml"), Dir: dir, Environ: os.Environ(),
		Executable: program(), Bundled: []string{"counter"}, Version: "test", Now: time.Now, Entropy: rand.Reader,
		Log: slog.New(slog.DiscardHandler), OnCommit: func(string) { reached() },
	}
}

// open lists the runs that have not closed, the oldest first; sub-workflows' runs
// are their parents' business.
func (d *engineDriver) open(ctx context.Context) ([]runs.Run, error) {
	var open []runs.Run
	for cursor := ""; ; {
		rows, next, err := d.engine.List(ctx, runs.Filter{Limit: 500, Cursor: cursor})
		if err != nil {
			return nil, fmt.Errorf("list runs: %w", err)
		}
		for _, row := range rows {
			if !row.Closed && row.Parent == nil {
				open = append([]runs.Run{row}, open...)
			}
		}
		if cursor = next; next == "" {
			return open, nil
		}
	}
}

func (d *engineDriver) start(ctx context.Context, r request) (string, error) {
	source, err := os.ReadFile(filepath.Join(d.dir, r.Flow+".yaml"))
	if err != nil {
		return "", err
	}
	run, problems, err := d.engine.Start(ctx, engine.StartRequest{
		File: r.Flow + ".yaml", Dir: d.dir, Source: source, RequestID: r.ID, Inputs: map[string]workspace.Input{"tag": {Text: r.ID}},
	})
	if err == nil && run == nil {
		err = problems.Err()
	}
	if err != nil {
		return "", err
	}
	return run.ID, nil
}

func (d *engineDriver) watch(ctx context.Context, id string) (<-chan local.Update, error) {
	return d.engine.Watch(ctx, id, 0)
}

func (d *engineDriver) get(ctx context.Context, id string) (*runs.Result, error) {
	return d.engine.Get(ctx, id)
}

func (d *engineDriver) resume(ctx context.Context, id string, discard bool) error {
	_, err := d.engine.Resume(ctx, id, engine.ResumeRequest{By: "test", DiscardWrites: discard})
	return err
}

func (d *engineDriver) decide(ctx context.Context, id, step string, act engine.Act, request engine.DecideRequest) error {
	_, err := d.engine.Decide(ctx, id, step, act, request)
	return err
}

func (d *engineDriver) backup(ctx context.Context, path string) (string, error) {
	report, err := d.engine.Backup(ctx, upkeep.BackupRequest{Path: path})
	if err != nil {
		return "", err
	}
	return report.Path, nil
}

func (d *engineDriver) close(ctx context.Context) error { return d.engine.Close(ctx) }

func isConflict(err error) bool {
	var conflict *fault.ConflictError
	return errors.As(err, &conflict)
}

func isUnknown(err error) bool {
	var unknown *fault.UnknownError
	return errors.As(err, &unknown)
}
