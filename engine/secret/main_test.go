package secret_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/flowrun/flowrun/engine/memstore"
	"github.com/flowrun/flowrun/engine/secret"
	"github.com/flowrun/flowrun/engine/store"
)

var _ secret.KV = store.KV(nil)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// storedRows returns the rows of a store.
func storedRows(testing.TB) store.KV { return memstore.New(memstore.Options{}).KV() }

func sealed(t testing.TB, kv secret.KV) *secret.SealedKV {
	t.Helper()
	sealer, err := secret.NewSealer([]byte(strings.Repeat("k", secret.KeySize)), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return secret.Seal(kv, sealer)
}

// memory is a KV without a file, for tests on a virtual clock. It counts writes
// and can refuse them.
type memory struct {
	mu     sync.Mutex
	rows   map[string]memoryRow
	last   uint64
	writes int
	refuse error
}

type memoryRow struct {
	value   []byte
	version uint64
}

func newMemory() *memory { return &memory{rows: map[string]memoryRow{}} }

func (m *memory) Get(bucket, key string) ([]byte, uint64, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	row, found := m.rows[bucket+"|"+key]
	return row.value, row.version, found, nil
}

func (m *memory) Put(bucket, key string, value []byte, ifVersion *uint64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.refuse != nil {
		return 0, m.refuse
	}
	if ifVersion != nil && m.rows[bucket+"|"+key].version != *ifVersion {
		return 0, errors.New("conflict")
	}
	m.last++
	m.writes++
	m.rows[bucket+"|"+key] = memoryRow{slices.Clone(value), m.last}
	return m.last, nil
}

func (m *memory) Delete(bucket, key string, _ *uint64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.rows, bucket+"|"+key)
	return nil
}

func (m *memory) List(bucket, prefix string) (keys []string, _ error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for at := range m.rows {
		if key, ok := strings.CutPrefix(at, bucket+"|"); ok && strings.HasPrefix(key, prefix) {
			keys = append(keys, key)
		}
	}
	slices.Sort(keys)
	return keys, nil
}
