package storetest

import (
	"reflect"

	"github.com/google/go-cmp/cmp"
)

// Diff says where two values differ, as cmp.Diff does, and nothing where they are
// equal: that is found at once, where cmp walks long lists slowly.
func Diff(want, got any) string {
	if reflect.DeepEqual(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}
