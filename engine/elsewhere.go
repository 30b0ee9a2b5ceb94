package engine

import (
	"path/filepath"

	"github.com/flowrun/flowrun/engine/boltstore"
)

// HasRun reports whether the store of a state directory that nobody has open holds a
// run. It changes nothing; a store that can't be read holds none for who asks.
func HasRun(c Config, stateDir, id string) bool {
	found, err := boltstore.HasRun(filepath.Join(stateDir, StoreFile), offlineOptions(c), id)
	return err == nil && found
}
