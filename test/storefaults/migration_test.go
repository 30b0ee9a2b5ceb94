//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"testing"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/internal/suitesize"
)

func writeBefore(t *testing.T, folder string, files map[string][]byte) {
	t.Helper()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(folder, name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// usedOfOlder is more than the kept files of older schemas hold in bytes. What lies
// behind it was never written.
const usedOfOlder = 512 << 10

// olderStore is the kept file of an older schema, without the room at its end: images
// of it are many.
func olderStore(t *testing.T, schema uint64) []byte {
	t.Helper()
	file, err := os.Open(fmt.Sprintf("../../engine/boltstore/testdata/schema%d.db.gz", schema))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	reader, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	if len(bytes.Trim(content[usedOfOlder:], "\x00")) > 0 {
		t.Fatalf("the store of schema %d is larger than %d bytes", schema, usedOfOlder)
	}
	return content[:usedOfOlder]
}

// Power is lost while a store is moved up to the schema of this program.
func TestP19_AMigrationSurvivesPowerLoss(t *testing.T) {
	for schema := uint64(1); schema <= 3; schema++ {
		t.Run(fmt.Sprintf("from schema %d", schema), func(t *testing.T) { migrationUnderPowerLoss(t, schema) })
	}
}

func migrationUnderPowerLoss(t *testing.T, schema uint64) {
	older := olderStore(t, schema)
	folder := scratch(t)
	writeBefore(t, folder, map[string][]byte{"moved.db": older, "original.db": older})
	store, err := boltstore.Open(filepath.Join(folder, "moved.db"), storeOptions(64<<10))
	if err != nil {
		t.Fatal(err)
	}
	if from, _ := store.Migrated(); from != schema {
		t.Fatalf("moved up from schema %d", from)
	}
	if err := store.Close(); err != nil {
		t.Fatal(err)
	}
	s := simulation{
		seed: testSeed(t), images: max(30, suitesize.Of(t, "FLOWRUN_POWER_IMAGES", 300)/50),
		before: map[string][]byte{"flowrun.db": older}, older: schema,
		migrated: filepath.Join(folder, "moved.db"), original: filepath.Join(folder, "original.db"),
	}
	s.perTest = max(30, s.images/4)
	counts, faults := s.run(t)
	t.Logf("%d images: %v", s.images, counts)
	for _, fault := range faults {
		t.Error(fault)
	}
	if counts[whole] != s.images {
		t.Errorf("%d of %d images are not whole", s.images-counts[whole], s.images)
	}
}

// moved is what a judge compares migrated stores with, read once.
type moved struct {
	path     string
	records  map[string]string
	original []byte
}

// of reads the two files of a question, where they are others than before.
func (m *moved) of(q *question) error {
	if m.path == q.Migrated {
		return nil
	}
	records, err := dump(q.Migrated)
	if err != nil {
		return err
	}
	original, err := os.ReadFile(q.Original)
	*m = moved{q.Migrated, records, original}
	return err
}

// migration opens a store of an older schema and compares what it holds then.
func (q *question) migration(options boltstore.Options, want *moved) verdict {
	store, err := boltstore.Open(q.Path, options)
	if err != nil {
		return verdict{broken, "open: " + err.Error()}
	}
	if err := store.Close(); err != nil {
		return verdict{broken, err.Error()}
	}
	if detail := check(q.Path, options); detail != "" {
		return verdict{broken, detail}
	}
	if err := want.of(q); err != nil {
		return verdict{broken, err.Error()}
	}
	got, err := dump(q.Path)
	if err != nil {
		return verdict{broken, err.Error()}
	}
	const census = "meta\x00census" // holds the number of a transaction
	delete(want.records, census)
	delete(got, census)
	if !maps.Equal(want.records, got) {
		return verdict{changed, fmt.Sprintf("%d records, want %d", len(got), len(want.records))}
	}
	backup, err := os.ReadFile(fmt.Sprintf("%s.schema%d.bak", q.Path, q.Older))
	if err != nil {
		return verdict{changed, err.Error()}
	}
	if !bytes.Equal(want.original, backup) {
		return verdict{changed, "the backup of the older schema is another one"}
	}
	return verdict{Verdict: whole}
}
