package order_test

import (
	"cmp"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/order"
)

// A list is sorted as the standard library sorts it, equal elements in their order.
func TestSortIsThatOfTheStandardLibrary(t *testing.T) {
	type element struct{ key, place int }
	rapid.Check(t, func(t *rapid.T) {
		list := make([]element, 0, 50)
		for place, key := range rapid.SliceOfN(rapid.IntRange(0, 9), 0, 50).Draw(t, "keys") {
			list = append(list, element{key, place})
		}
		want := slices.Clone(list)
		byKey := func(a, b element) int { return cmp.Compare(a.key, b.key) }
		slices.SortStableFunc(want, byKey)
		order.Sort(list, byKey)
		if !slices.Equal(list, want) {
			t.Fatalf("sorted %v, want %v", list, want)
		}
	})
}
