// Package order sorts lists of structs with one copy of the algorithm for all of them.
package order

import "sort"

// Sort sorts a list by compare, which is negative where a stands before b; equal elements
// keep their order. It does what slices.SortStableFunc does, which the compiler writes
// anew for each kind of element: 10 to 25 KB of the program a kind. This is for lists that
// are short or seldom sorted; where a sort is measured, slices is faster.
func Sort[T any](list []T, compare func(a, b T) int) {
	sort.SliceStable(list, func(i, j int) bool { return compare(list[i], list[j]) < 0 })
}
