// Package upkeep keeps the store of an engine small, safe and open to view: it removes
// what retention does not keep, makes and restores backups, checks and compacts the
// file, exports runs, and tells what takes the room. What goes wrong with a store is
// told here in the words of package fault.
package upkeep

import (
	"context"
	"time"

	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Upkeep keeps a store small, safe and open to view: retention, removal, backups,
// exports, figures, the key and what plugins keep. Safe for concurrent use.
type Upkeep struct {
	project *workspace.Workspace
	config  workspace.Config
	store   store.Store
	file    store.File // the same, for what only a file can do
	files   Files
	runs    Runs
	keeper  *keeper
}

// Runs is what upkeep asks of the life of runs.
type Runs interface {
	// Get returns a run. fault.ErrRunNotFound.
	Get(ctx context.Context, id string) (*runs.Result, error)
	// Steps returns its steps, in file order.
	Steps(ctx context.Context, id string) ([]runs.Step, error)
	// AwaitEnd returns when nobody works on it any more.
	AwaitEnd(ctx context.Context, id string) error
}

// Options are what upkeep takes from its surroundings.
type Options struct {
	Project *workspace.Workspace
	Store   store.Store
	Files   Files
	Runs    Runs
	After   func(time.Duration) <-chan time.Time
}

// New begins to remove what retention does not keep; Close ends it.
func New(o Options) *Upkeep {
	u := &Upkeep{project: o.Project, config: o.Project.Config(), store: o.Store, file: store.FileOf(o.Store), files: o.Files, runs: o.Runs}
	u.keeper = newKeeper(u, o.After)
	return u
}

// Close ends the removal of old runs, with a short pass.
func (u *Upkeep) Close() { u.keeper.close() }
