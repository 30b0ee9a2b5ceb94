package engine

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/flowrun/flowrun/engine/local"
	"github.com/flowrun/flowrun/engine/runs"
)

// takeUpAtOnce is how many runs are read at a time when a server begins.
const takeUpAtOnce = 4

// takeUp goes on with the runs that are open and that no process drives: those
// that the process before left, and those that wait for their place. It is what
// `runs resume` does for each of them. A run whose plugin has changed is left for
// a person, and so is one that a step of another open run waits for: that one
// takes it up.
func (e *Engine) takeUp(ctx context.Context) {
	log := e.config.Log
	rows, err := e.store.OpenRuns()
	if err != nil {
		log.Error("open runs not read", "error", e.Fault(err))
		return
	}
	open := make(map[string]bool, len(rows))
	for i := range rows {
		open[rows[i].ID] = true
	}
	work, workers := make(chan *runs.Run), sync.WaitGroup{}
	var taken atomic.Int64
	for range takeUpAtOnce {
		workers.Go(func() {
			for row := range work {
				if e.takeUpRun(row) {
					taken.Add(1)
				}
			}
		})
	}
	for i := range rows {
		if parent := rows[i].Parent; parent != nil && open[parent.Run] {
			continue
		}
		if ctx.Err() != nil {
			break
		}
		work <- &rows[i] // the workers take it soon: none of them waits for more than a replay
	}
	close(work)
	workers.Wait()
	if n := taken.Load(); n > 0 {
		log.Info("open runs taken up", "count", n)
	}
}

// takeUpRun drives one run again, and reports whether it did.
func (e *Engine) takeUpRun(row *runs.Run) bool {
	if e.driver.Driven(row.ID) {
		return false
	}
	log := e.config.Log
	if err := e.checkPlugins(row); err != nil {
		log.Warn("open run not taken up", "run", row.ID, "workflow", row.Workflow, "error", err)
		return false
	}
	if err := e.sandboxRefusesRun(row); err != nil {
		log.Warn("open run not taken up", "run", row.ID, "workflow", row.Workflow, "error", err)
		return false
	}
	switch err := e.driver.Load(row.ID, nil); {
	case err == nil:
		return true
	case errors.Is(err, local.ErrDriven), errors.Is(err, local.ErrClosed):
		return false // somebody was faster; the next start finds it
	default:
		log.Warn("open run not taken up", "run", row.ID, "workflow", row.Workflow, "error", err)
		return false
	}
}
