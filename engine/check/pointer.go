package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"

	"github.com/flowrun/flowrun/engine/diag"
)

func itoa(n int) string { return strconv.Itoa(n) }

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// child is the JSON pointer of a part.
func child(pointer, name string) string {
	return pointer + diag.Pointer(name)
}

// encode writes parts that are JSON already, keys sorted.
func encode(parts any) json.RawMessage {
	data, err := json.Marshal(parts)
	if err != nil {
		return json.RawMessage("null") // the parts were made by this package
	}
	return data
}
