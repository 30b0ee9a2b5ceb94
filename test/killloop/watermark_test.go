package killloop

import (
	"crypto/rand"
	"fmt"
	"path/filepath"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/engine/secret"
)

// keyFile is the engine's key in a folder of the suite.
func keyFile(dir string) string { return filepath.Join(dir, "state", "key") }

// watermark opens what the counter has left for itself under a cursor: each store has
// keys of its own, so that sealed bytes of two can't be compared.
func watermark(store *boltstore.Store, keys string, sealed []byte) (string, error) {
	ring, err := secret.KeyFile(keys, rand.Reader)
	if err != nil {
		return "", fmt.Errorf("read the key of the store: %w", err)
	}
	sealer, err := secret.NewSealer(ring[0], rand.Reader, ring[1:]...)
	if err != nil {
		return "", err
	}
	fill := func(key []byte) error { _, err := rand.Read(key); return err }
	clear, err := secret.NewOpaque(secret.Seal(store.KV(), sealer), fill).Open("counter\x00counter\x00watermark", sealed)
	return string(clear), err
}
