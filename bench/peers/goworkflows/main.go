// Command goworkflows measures go-workflows with its store in one SQLite file: workflow,
// steps and store are in one process.
package main

import (
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/backend/sqlite"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/cschleiden/go-workflows/workflow"

	"github.com/flowrun/flowrun/bench/peers/peer"
)

func echo(_ context.Context, n int) (int, error) { return n, nil }

func sequence(ctx workflow.Context, n int) (int, error) {
	for i := range n {
		if _, err := workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, echo, i).Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func fan(ctx workflow.Context, n int) (int, error) {
	var results []workflow.Future[int]
	for i := range n {
		results = append(results, workflow.ExecuteActivity[int](ctx, workflow.DefaultActivityOptions, echo, i))
	}
	for _, r := range results {
		if _, err := r.Get(ctx); err != nil {
			return 0, err
		}
	}
	return n, nil
}

func main() {
	peer.Main(func(ctx context.Context, dir string) (*peer.Engine, error) {
		ctx, stop := context.WithCancel(ctx)
		store := sqlite.NewSqliteBackend(filepath.Join(dir, "store.sqlite"), sqlite.WithBackendOptions(backend.WithLogger(slog.New(slog.DiscardHandler))))
		options := worker.DefaultOptions
		options.WorkflowPollingInterval, options.ActivityPollingInterval = time.Millisecond, time.Millisecond // 200 ms of its own
		w := worker.New(store, &options)
		for _, f := range []workflow.Workflow{sequence, fan} {
			if err := w.RegisterWorkflow(f); err != nil {
				stop()
				return nil, err
			}
		}
		if err := w.RegisterActivity(echo); err != nil {
			stop()
			return nil, err
		}
		if err := w.Start(ctx); err != nil {
			stop()
			return nil, err
		}
		c := client.New(store)
		var last atomic.Int64
		run := func(f workflow.Workflow) func(ctx context.Context, n int) error {
			return func(ctx context.Context, n int) error {
				instance, err := c.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: strconv.FormatInt(last.Add(1), 10)}, f, n)
				if err != nil {
					return err
				}
				_, err = client.GetWorkflowResult[int](ctx, c, instance, 5*time.Minute)
				return err
			}
		}
		return &peer.Engine{
			Program: "go-workflows 1.2.0 (SQLite, polls each ms)", Durability: "SQLite's WAL, synced at each commit (synchronous FULL, its default)",
			Sequence: run(sequence), Fan: run(fan), Close: func() error {
				stop()
				return w.WaitForCompletion()
			},
		}, nil
	})
}
