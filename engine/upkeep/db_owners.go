package upkeep

import (
	"cmp"
	"context"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/order"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/store"
)

// What DBOwners can be asked by.
const (
	OwnersByWorkflow = "workflow"
	OwnersByPlugin   = "plugin"
	OwnersByRun      = "run"
)

// DBOwnerKinds are the words that DBOwners takes.
func DBOwnerKinds() []string { return []string{OwnersByWorkflow, OwnersByPlugin, OwnersByRun} }

// DBOwner is a workflow, a plugin or a run with the room that it takes in the
// store. A plugin has the answers of its calls, what its steps logged, and its
// state; its name is empty for what belongs to none.
type DBOwner struct {
	Name     string      `json:"name"`
	Workflow string      `json:"workflow,omitempty"` // of a run
	Status   runs.Status `json:"status,omitempty"`   // of a run
	Runs     int         `json:"runs,omitempty"`
	Journal  int64       `json:"journal_bytes"`
	Log      int64       `json:"log_bytes,omitempty"`
	State    int64       `json:"state_bytes,omitempty"` // of a plugin
	Large    int64       `json:"large_bytes,omitempty"` // of a workflow or a run: its large values, beside the file; one that several runs have counts in each
	Bytes    int64       `json:"bytes"`                 // all of it
}

// DBOwners says who takes the room in the store, the largest first. It reads the
// whole journal in short transactions.
func (u *Upkeep) DBOwners(ctx context.Context, by string) ([]DBOwner, error) {
	owners := map[string]*DBOwner{}
	of := func(name string) *DBOwner {
		if owners[name] == nil {
			owners[name] = &DBOwner{Name: name}
		}
		return owners[name]
	}
	var count func(store.RunUse) error
	switch by {
	case OwnersByWorkflow:
		count = func(runUse store.RunUse) error { of(runUse.Run.Workflow).add(runUse); return nil }
	case OwnersByRun:
		count = func(use store.RunUse) error {
			owner := of(use.Run.ID)
			owner.add(use)
			owner.Runs, owner.Workflow, owner.Status = 0, use.Run.Workflow, use.Run.Status
			return nil
		}
	case OwnersByPlugin:
		count = func(use store.RunUse) error { return u.countPlugins(use, of) }
	default:
		return nil, &fault.InputError{Input: "by", Message: "the room is told by workflow, plugin or run"}
	}
	err := u.store.EachRunUse(func(use store.RunUse) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		return count(use)
	})
	if err != nil {
		return nil, u.Fault(err)
	}
	if by == OwnersByPlugin {
		states, err := u.project.Services().States("")
		if err != nil {
			return nil, u.Fault(err)
		}
		for _, state := range states {
			of(state.Plugin).State += state.Bytes
		}
	}
	list := make([]DBOwner, 0, len(owners))
	for _, owner := range owners {
		owner.Bytes = owner.Journal + owner.Log + owner.State + owner.Large
		list = append(list, *owner)
	}
	order.Sort(list, func(a, b DBOwner) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Name, b.Name))
	})
	return list, nil
}

func (o *DBOwner) add(runUse store.RunUse) {
	o.Runs++
	o.Journal += runUse.Records
	o.Log += runUse.Logs
	o.Large += runUse.Blobs
}

// countPlugins gives what a run takes to the plugins that it called.
func (u *Upkeep) countPlugins(runUse store.RunUse, of func(string) *DBOwner) error {
	plugins, err := u.store.PluginBytes(runUse.Run.ID)
	if err != nil {
		return err
	}
	for plugin, bytes := range plugins {
		owner := of(plugin)
		owner.Runs++
		owner.Journal += bytes
	}
	return nil
}
