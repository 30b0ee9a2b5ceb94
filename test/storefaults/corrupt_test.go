//go:build linux && (amd64 || arm64)

package storefaults_test

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"

	bolt "go.etcd.io/bbolt"

	"github.com/flowrun/flowrun/engine/boltstore"
	"github.com/flowrun/flowrun/internal/suitesize"
)

// specimens are files of two sizes, each once closed well and once as a kill
// leaves it.
func specimens(t *testing.T, seed uint64) (all []*specimen) {
	t.Helper()
	for _, ops := range []int{8, 60} {
		s := script{Seed: seed, Ops: ops}
		path := filepath.Join(scratch(t), "flowrun.db")
		var versions [][]byte
		acks := acknowledged{opened: 1}
		const sessions = 4
		for session := range sessions {
			store, err := boltstore.Open(path, storeOptions(64<<10))
			if err != nil {
				t.Fatal(err)
			}
			for op := ops * session / sessions; op < ops*(session+1)/sessions; op++ {
				for _, w := range s.writers() {
					if err := s.apply(store, w, op, func() { acks[w]++ }); err != nil {
						t.Fatal(err)
					}
				}
				if op%5 == 4 {
					versions = append(versions, contentOf(t, path))
				}
			}
			running := contentOf(t, path)
			if err := store.Close(); err != nil {
				t.Fatal(err)
			}
			if session == sessions-1 {
				all = append(all, &specimen{running, slices.Clone(versions), acks, s, fmt.Sprintf("%d operations, killed", ops), nil})
				versions = append(versions, running)
				all = append(all, &specimen{contentOf(t, path), versions, acks, s, fmt.Sprintf("%d operations, closed", ops), contentOf(t, path+".seal")})
			}
			versions = append(versions, running, contentOf(t, path))
		}
	}
	return all
}

func contentOf(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// damaged is one file to be looked at.
type damaged struct {
	name, kind string
	specimen   *specimen
	content    []byte
	seed       uint64
	forged     bool
}

// damage draws count files.
func damage(all []*specimen, seed uint64, count int, each func(damaged)) {
	kinds := mutators()
	names := slices.Sorted(maps.Keys(kinds))
	for i := range count {
		source := rand.New(rand.NewPCG(seed, uint64(i)))
		s, kind := all[source.IntN(len(all))], names[i%len(names)]
		content := kinds[kind](source, s, bytes.Clone(s.content))
		each(damaged{name: fmt.Sprintf("FLOWRUN_SEED=%d, file %d (%s, %s)", seed, i, kind, s.name), kind: kind, specimen: s, content: content, seed: uint64(i)})
	}
}

// results are counts of verdicts by kind of damage.
type results struct {
	mu     sync.Mutex
	counts map[string]map[string]int
	faults []string
	detail string // of the last file
}

func (r *results) add(t *testing.T, d damaged, v verdict, good ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.counts[d.kind] == nil {
		r.counts[d.kind] = map[string]int{}
	}
	r.counts[d.kind][v.Verdict]++
	r.detail = v.Detail
	if slices.Contains(good, v.Verdict) {
		return
	}
	if len(r.faults) < 20 {
		r.faults = append(r.faults, fmt.Sprintf("%s: %s: %.1500s", d.name, v.Verdict, v.Detail))
	}
	keep(t, map[string]image{"flowrun.db": {data: d.content, size: int64(len(d.content))}})
}

func (r *results) total(kind string) (n int) {
	for _, counts := range r.counts {
		n += counts[kind]
	}
	return n
}

// examine asks two judges at a time.
func examine(t *testing.T, draw func(each func(damaged)), ask func(c *court, path string, d damaged) verdict, good ...string) *results {
	t.Helper()
	r := &results{counts: map[string]map[string]int{}}
	files := make(chan damaged, 4)
	var judges sync.WaitGroup
	for range 2 {
		folder, c := scratch(t), newCourt(t)
		judges.Go(func() {
			for d := range files {
				path := filepath.Join(folder, "flowrun.db")
				if err := writeImages(folder, map[string]image{"flowrun.db": {data: d.content, size: int64(len(d.content))}}); err != nil {
					r.add(t, d, verdict{broken, err.Error()}, good...)
					continue
				}
				r.add(t, d, ask(c, path, d), good...)
			}
		})
	}
	draw(func(d damaged) { files <- d })
	close(files)
	judges.Wait()
	for _, kind := range slices.Sorted(maps.Keys(r.counts)) {
		t.Logf("%-20s %v", kind, r.counts[kind])
	}
	return r
}

func read(c *court, path string, d damaged) verdict {
	if d.forged {
		if _, err := forge(path, rand.New(rand.NewPCG(d.seed, 3))); err != nil {
			return verdict{broken, err.Error()}
		}
	}
	return c.ask(question{Path: path, Script: d.specimen.script, Acks: d.specimen.acks, Map: 64 << 10})
}

func TestP14_DamageIsToldOrHarmless(t *testing.T) {
	seed := testSeed(t)
	all := specimens(t, seed)
	count := suitesize.Of(t, "FLOWRUN_CORRUPTION", 300)
	r := examine(t, func(each func(damaged)) { damage(all, seed, count, each) }, read, whole, refused, told)
	for _, fault := range r.faults {
		t.Error(fault)
	}
	t.Logf("%d files: %d changes not detected, %d crashes, %d hangs", count, r.total(changed), r.total(died), r.total(hung))
	if wrong := count - r.total(whole) - r.total(refused) - r.total(told); wrong > 0 {
		t.Errorf("%d of %d files were taken wrongly", wrong, count)
	}
	if r.total(whole) == count {
		t.Error("no file was damaged")
	}
}

func TestP14_AnUndamagedFileIsWhole(t *testing.T) {
	for _, s := range specimens(t, testSeed(t)) {
		r := examine(t, func(each func(damaged)) { each(damaged{name: s.name, kind: s.name, specimen: s, content: s.content}) }, read, whole)
		for _, fault := range r.faults {
			t.Error(fault)
		}
	}
}

// Changes that follow all rules of bbolt and carry right checksums.
func TestP14_AForgedRecordIsTold(t *testing.T) {
	seed := testSeed(t)
	all := specimens(t, seed)
	r := examine(t, func(each func(damaged)) {
		for i := range 40 {
			s := all[i%len(all)]
			each(damaged{name: fmt.Sprintf("FLOWRUN_SEED=%d, file %d, %s", seed, i, s.name), kind: "forged", specimen: s, content: s.content, seed: seed + uint64(i), forged: true})
		}
	}, read, refused, told)
	t.Logf("the last one: %s", r.detail)
	for _, fault := range r.faults {
		t.Error(fault)
	}
}

// The control reads the same files with bbolt alone, without checksums and
// counts: it must show changes that nobody was told of.
func TestP14_ControlWithoutChecksumsIsCaught(t *testing.T) {
	seed := testSeed(t)
	all := specimens(t, seed)
	originals := map[*specimen]string{}
	for _, s := range all {
		originals[s] = filepath.Join(scratch(t), "original.db")
		if err := os.WriteFile(originals[s], s.content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	r := examine(t, func(each func(damaged)) { damage(all, seed, 140, each) }, func(c *court, path string, d damaged) verdict {
		return c.ask(question{Path: path, Plain: originals[d.specimen]})
	}, whole, refused, changed, died, broken, hung)
	if r.total(changed) == 0 {
		t.Error("plain bbolt has shown no change: the suite sees nothing")
	}
}

// comparePlain compares all records of two files as bbolt reads them.
func comparePlain(path, original string) (v verdict) {
	defer func() {
		if p := recover(); p != nil {
			v = verdict{refused, fmt.Sprint(p)}
		}
	}()
	want, err := dump(original)
	if err != nil {
		return verdict{broken, err.Error()}
	}
	got, err := dump(path)
	switch {
	case err != nil:
		return verdict{refused, err.Error()}
	case !maps.Equal(want, got):
		return verdict{changed, fmt.Sprintf("%d records, %d were written", len(got), len(want))}
	}
	return verdict{Verdict: whole}
}

func dump(path string) (map[string]string, error) {
	db, err := bolt.Open(path, 0o600, &bolt.Options{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer db.Close()
	records := map[string]string{}
	var walk func(prefix string, b *bolt.Bucket) error
	walk = func(prefix string, b *bolt.Bucket) error {
		return b.ForEach(func(key, value []byte) error {
			if value == nil {
				return walk(prefix+string(key)+"\x00", b.Bucket(key))
			}
			records[prefix+string(key)] = string(value)
			return nil
		})
	}
	err = db.View(func(tx *bolt.Tx) error {
		return tx.ForEach(func(name []byte, b *bolt.Bucket) error { return walk(string(name)+"\x00", b) })
	})
	return records, err
}
