package engine

import (
	"sync"

	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/workspace"
)

// memoryStores are the stores in memory of state folders, which a test may open again.
var memoryStores sync.Map

// inMemory lets an engine keep everything in memory: for tests of what it does with a
// store, not of the file.
func inMemory(c *workspace.Config) {
	dir := c.StateDir
	c.OpenStore = func(hooks store.Hooks) (store.Store, error) {
		s := memstore.New(memstore.Options{Hooks: hooks})
		if before, found := memoryStores.Load(dir); found {
			s = before.(*memstore.Store).Reopen(memstore.Options{Hooks: hooks})
		}
		memoryStores.Store(dir, s)
		return s, nil
	}
}
