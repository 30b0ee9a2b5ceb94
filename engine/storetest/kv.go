package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/store"
)

// kvModel is what KV should do, in memory.
type kvModel struct {
	values   map[string]string
	versions map[string]uint64
	last     map[string]uint64 // highest version of a bucket
}

func kVFollowsItsModel(t *testing.T, b Backend) {
	dir := t.TempDir()
	s := b.Open(t, dir, Settings{})
	round := 0
	rapid.Check(t, func(t *rapid.T) {
		round++
		prefix := fmt.Sprintf("%d/", round) // one file for all rounds: opening costs most
		model := kvModel{map[string]string{}, map[string]uint64{}, map[string]uint64{}}
		bucket := rapid.Custom(func(t *rapid.T) string { return prefix + rapid.SampledFrom([]string{"a", "b"}).Draw(t, "b") })
		key := rapid.SampledFrom([]string{"x", "y", "x\x00", "\xff"})
		ifVersion := func(t *rapid.T, at string) *uint64 {
			switch rapid.IntRange(0, 3).Draw(t, "condition") {
			case 0:
				return nil
			case 1:
				return new(uint64(0))
			case 2:
				return new(model.versions[at])
			}
			return new(rapid.Uint64Range(0, 5).Draw(t, "version"))
		}
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				b, k := bucket.Draw(t, "bucket"), key.Draw(t, "key")
				at, value := b+"|"+k, rapid.String().Draw(t, "value")
				condition := ifVersion(t, at)
				version, err := s.KV().Put(b, k, []byte(value), condition)
				if condition != nil && *condition != model.versions[at] {
					if !errors.Is(err, store.ErrConflict) {
						t.Fatalf("put if %d at %d: %v", *condition, model.versions[at], err)
					}
					return
				}
				if err != nil || version <= model.last[b] {
					t.Fatalf("version %d after %d, %v", version, model.last[b], err)
				}
				model.values[at], model.versions[at], model.last[b] = value, version, version
			},
			"delete": func(t *rapid.T) {
				b, k := bucket.Draw(t, "bucket"), key.Draw(t, "key")
				at := b + "|" + k
				condition := ifVersion(t, at)
				err := s.KV().Delete(b, k, condition)
				if condition != nil && *condition != model.versions[at] {
					if !errors.Is(err, store.ErrConflict) {
						t.Fatalf("delete if %d at %d: %v", *condition, model.versions[at], err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				delete(model.values, at)
				delete(model.versions, at)
			},
			"delete before": func(t *rapid.T) {
				b, k := bucket.Draw(t, "bucket"), key.Draw(t, "key")
				if err := s.KV().DeleteBefore(b, k); err != nil {
					t.Fatal(err)
				}
				for _, other := range []string{"x", "y", "x\x00", "\xff"} {
					if other < k {
						delete(model.values, b+"|"+other)
						delete(model.versions, b+"|"+other)
					}
				}
			},
			"": func(t *rapid.T) {
				b, k := bucket.Draw(t, "bucket"), key.Draw(t, "key")
				value, version, exists, err := s.KV().Get(b, k)
				want, ok := model.values[b+"|"+k]
				if err != nil || exists != ok || string(value) != want || version != model.versions[b+"|"+k] {
					t.Fatalf("get = %q %d %v %v, want %q %v", value, version, exists, err, want, ok)
				}
				keys, err := s.KV().List(b, "")
				if err != nil || len(keys) != countOf(model.values, b+"|") || !slices.IsSorted(keys) {
					t.Fatalf("list = %q, %v", keys, err)
				}
			},
		})
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	b.open(t, dir) // looks at every page of what puts and deletes left
}

func countOf(values map[string]string, prefix string) (count int) {
	for at := range values {
		if strings.HasPrefix(at, prefix) {
			count++
		}
	}
	return count
}

func oneOfManyCompareAndSetsWins(t *testing.T, b Backend) {
	s := b.fresh(t)
	var racers sync.WaitGroup
	wins := make(chan int, 50)
	for i := range 50 {
		racers.Go(func() {
			_, err := s.KV().Put("slots", "k", []byte(fmt.Sprint(i)), new(uint64(0)))
			switch {
			case err == nil:
				wins <- i
			case !errors.Is(err, store.ErrConflict):
				t.Error(err)
			}
		})
	}
	racers.Wait()
	close(wins)
	winner, more := <-wins, len(wins)
	value, _, _, err := s.KV().Get("slots", "k")
	if err != nil || more != 0 || string(value) != fmt.Sprint(winner) {
		t.Errorf("winner %d, %d more, value %q, %v", winner, more, value, err)
	}
}

func kVBounds(t *testing.T, b Backend) {
	s := b.fresh(t)
	kv := s.KV()
	for name, err := range map[string]error{
		"no bucket":  second(kv.Put("", "k", nil, nil)),
		"no key":     second(kv.Put("b", "", nil, nil)),
		"long key":   second(kv.Put("b", strings.Repeat("k", 5000), nil, nil)),
		"long value": second(kv.Put("b", "k", make([]byte, 9<<20), nil)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	for _, b := range []string{"a", "no such"} {
		if keys, err := kv.List(b, ""); err != nil || len(keys) != 0 {
			t.Errorf("list %s: %v, %v", b, keys, err)
		}
		if err := kv.Delete(b, "k", nil); err != nil {
			t.Errorf("delete in %s: %v", b, err)
		}
	}
	for _, key := range []string{"p/1", "p/2", "q/1", "p"} {
		if _, err := kv.Put("a", key, []byte(key), nil); err != nil {
			t.Fatal(err)
		}
	}
	if keys, err := kv.List("a", "p/"); err != nil || !slices.Equal(keys, []string{"p/1", "p/2"}) {
		t.Errorf("list = %v, %v", keys, err)
	}
}

func second[T any](_ T, err error) error { return err }
