package engine

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
)

// dropEvery is how often a server looks for revisions of plugins that nobody needs.
const dropEvery = time.Minute

// usedPlugin is one revision of a plugin.
type usedPlugin struct{ name, digest string }

// dropPlugins ends the revisions of plugins that no run needs any more, until ctx ends.
func (e *Engine) dropPlugins(ctx context.Context) {
	plans := map[string][]usedPlugin{} // by hash: a plan stays what it is
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(dropEvery):
		}
		if e.calls.Running() > 0 {
			continue // they go by what was in force when they began
		}
		used := sync.OnceValues(func() (map[usedPlugin]bool, error) { return e.usedPlugins(plans) })
		e.project.Host().DropRevisions(func(name, digest string) bool {
			needed, err := used()
			if err != nil {
				e.config.Log.Warn("which plugins are needed is not known; all stay", "error", err)
				return true
			}
			return needed[usedPlugin{name, digest}]
		})
	}
}

// usedPlugins are the revisions that somebody needs: runs that have not ended, workflows in
// force, and what waits to be in force itself.
func (e *Engine) usedPlugins(plans map[string][]usedPlugin) (map[usedPlugin]bool, error) {
	used := map[usedPlugin]bool{}
	for _, name := range e.project.OwnPlugins() {
		if waiting := e.project.Waiting(name); waiting != nil {
			used[usedPlugin{name, waiting.Digest}] = true
		}
	}
	if loaded := e.revisions.Current.Load(); loaded != nil {
		for _, file := range loaded.Files {
			if file.InForce != nil {
				note(used, pluginsOf(file.InForce.Workflow()))
			}
		}
	}
	rows, err := e.unfinished()
	if err != nil {
		return nil, err
	}
	live := map[string]bool{}
	for i := range rows {
		hash := rows[i].LatestPlan
		if hash == "" {
			hash = rows[i].PlanHash
		}
		live[hash] = true
		if plans[hash] == nil {
			workflow, _, err := e.definition(&rows[i])
			if err != nil {
				return nil, err
			}
			plans[hash] = append([]usedPlugin{}, pluginsOf(workflow)...)
		}
		note(used, plans[hash])
	}
	for hash := range plans {
		if !live[hash] {
			delete(plans, hash)
		}
	}
	return used, nil
}

// unfinished are the runs that go on, or may.
func (e *Engine) unfinished() ([]runs.Run, error) {
	rows, err := e.store.OpenRuns()
	if err != nil {
		return nil, e.Fault(fmt.Errorf("list the open runs: %w", err))
	}
	for cursor := ""; ; {
		paused, next, err := e.store.Runs(runs.Filter{Status: runs.RunPaused, Limit: 1000, Cursor: cursor})
		if err != nil {
			return nil, e.Fault(fmt.Errorf("list the paused runs: %w", err))
		}
		rows = append(rows, paused...)
		if cursor = next; cursor == "" {
			return rows, nil
		}
	}
}

func note(used map[usedPlugin]bool, list []usedPlugin) {
	for _, one := range list {
		used[one] = true
	}
}

// pluginsOf are the revisions that a workflow and its sub-workflows call.
func pluginsOf(workflow *plan.Workflow) []usedPlugin {
	var list []usedPlugin
	for _, pin := range workspace.PinsOf(workflow) {
		list = append(list, usedPlugin{pin.Plugin, pin.Digest})
	}
	return list
}
