package storetest

import (
	"sync"
	"testing"

	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/store"
)

// Memory is the store in memory as a backend: what is closed is found by its folder.
func Memory() Backend {
	var mu sync.Mutex
	places := map[string]*memstore.Store{}
	return Backend{Seed: 1, Open: func(_ testing.TB, dir string, settings Settings) store.Store {
		mu.Lock()
		defer mu.Unlock()
		options := memstore.Options{Hooks: settings.Hooks, Pressure: func() store.Pressure {
			if settings.Short != nil && settings.Short() {
				return store.Pressure{Level: store.StopAdmission, Reason: "a test says so"}
			}
			return store.Pressure{}
		}}
		if places[dir] == nil {
			places[dir] = memstore.New(options)
		} else {
			places[dir] = places[dir].Reopen(options)
		}
		return places[dir]
	}}
}
