package boltstore_test

import (
	"testing"

	"github.com/flowrun/flowrun/engine/journal"
	"github.com/flowrun/flowrun/engine/storetest"
)

func TestEqualLargeValuesAreStoredOnce(t *testing.T) {
	t.Parallel()
	s := newStore(t)
	storetest.Create(t, s, storetest.Row(1), 1)
	store := func(from uint64) uint64 {
		t.Helper()
		before := s.Stats().Bytes
		for seq := from; seq < from+5; seq++ {
			record := storetest.Completed(seq, string(storetest.Large("same")))
			if err := storetest.Append(s, storetest.ID(1), []*journal.Record{record}, nil); err != nil {
				t.Fatal(err)
			}
		}
		return s.Stats().Bytes - before
	}
	if first, second := store(2), store(7); second > first/2 {
		t.Errorf("5 records wrote %d bytes, 5 more with the same value %d", first, second)
	}
}
