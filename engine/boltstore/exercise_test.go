package boltstore_test

import (
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/store"
	"github.com/flowrun/flowrun/engine/storetest"
)

func TestEveryStoreMust(t *testing.T) {
	t.Parallel()
	path := func(dir string) string { return filepath.Join(dir, "flowrun.db") }
	storetest.Exercise(t, storetest.Backend{
		Open: func(t testing.TB, dir string, settings storetest.Settings) store.Store {
			options := quick()
			options.Hooks = settings.Hooks
			options.FreeSpace = func(string) (free, total uint64, err error) {
				if settings.Short != nil && settings.Short() {
					return 200 << 20, 1 << 30, nil
				}
				return 100 << 30, 200 << 30, nil
			}
			s, err := boltstore.Open(path(dir), options)
			if err != nil {
				t.Fatal(err)
			}
			return s
		},
		Check: func(t testing.TB, dir string) { whole(t, path(dir)) },
		Seed:  testSeed(t),
	})
}
