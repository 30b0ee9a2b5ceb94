// Command dbos measures DBOS Transact for Go with its system database in one SQLite file:
// workflow, steps and store are in one process. -full syncs each commit, which is not its
// default.
package main

import (
	"context"
	"flag"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite"

	"github.com/flowrun/flowrun/bench/peers/peer"
)

func step(n int) dbos.Step[int] {
	return func(context.Context) (int, error) { return n, nil }
}

func sequence(ctx dbos.Context, n int) (int, error) {
	for i := range n {
		if _, err := dbos.RunAsStep(ctx, step(i)); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func fan(ctx dbos.Context, n int) (int, error) {
	var results []<-chan dbos.StepOutcome[int]
	for i := range n {
		result, err := dbos.Go(ctx, step(i))
		if err != nil {
			return 0, err
		}
		results = append(results, result)
	}
	for _, r := range results {
		if outcome := <-r; outcome.Err != nil {
			return 0, outcome.Err
		}
	}
	return n, nil
}

func main() {
	full := flag.Bool("full", false, "sync each commit")
	peer.Main(func(ctx context.Context, dir string) (*peer.Engine, error) {
		name, durability, pragma := "DBOS Go 1.8.0 (SQLite)", "SQLite's WAL, not synced at a commit (synchronous NORMAL, its default)", ""
		if *full {
			name, durability, pragma = "DBOS Go 1.8.0 (SQLite, FULL)", "SQLite's WAL, synced at each commit (synchronous FULL)", "?_pragma=synchronous(FULL)"
		}
		d, err := dbos.NewContext(ctx, dbos.Config{AppName: "bench", DatabaseURL: "sqlite:file:" + filepath.Join(dir, "store.sqlite") + pragma, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			return nil, err
		}
		dbos.RegisterWorkflow(d, sequence)
		dbos.RegisterWorkflow(d, fan)
		if err := dbos.Launch(d); err != nil {
			return nil, err
		}
		run := func(f dbos.Workflow[int, int]) func(ctx context.Context, n int) error {
			return func(_ context.Context, n int) error {
				handle, err := dbos.RunWorkflow(d, f, n)
				if err != nil {
					return err
				}
				_, err = handle.GetResult()
				return err
			}
		}
		return &peer.Engine{Program: name, Durability: durability, Sequence: run(sequence), Fan: run(fan), Close: func() error {
			dbos.Shutdown(d, 5*time.Second)
			return nil
		}}, nil
	})
}
