package engine

import (
	"path/filepath"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/workspace"
)

// HasRun reports whether the store of a state directory that nobody has open holds a
// run. It changes nothing; a store that can't be read holds none for who asks.
func HasRun(c workspace.Config, stateDir, id string) bool {
	found, err := boltstore.HasRun(filepath.Join(stateDir, workspace.StoreFile), offlineOptions(c), id)
	return err == nil && found
}

// storeFile reads rows of a store that nobody has open.
type storeFile struct {
	path    string
	options boltstore.Options
}

// Get returns one row. *fault.LockedError, *fault.StoreError.
func (f storeFile) Get(bucket, key string) (value []byte, found bool, err error) {
	if value, found, err = boltstore.ReadRow(f.path, f.options, bucket, key); err != nil {
		err = storeError(f.path, filepath.Dir(f.path), err)
	}
	return value, found, err
}
