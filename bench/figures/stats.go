package figures

import (
	"cmp"
	"slices"
)

// Median returns the middle of values, the lower one of two; the zero value for none.
func Median[T cmp.Ordered](values []T) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)-1)/2]
}

// Least returns the smallest of values; the zero value for none.
func Least[T cmp.Ordered](values []T) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	return slices.Min(values)
}

// Most returns the largest of values; the zero value for none.
func Most[T cmp.Ordered](values []T) T {
	var zero T
	if len(values) == 0 {
		return zero
	}
	return slices.Max(values)
}
