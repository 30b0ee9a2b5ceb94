package check

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/spec"
)

func itoa(n int) string { return strconv.Itoa(n) }

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// child is the JSON pointer of a part.
func child(pointer, name string) string {
	return pointer + "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

// find returns the node that a JSON pointer names, or the nearest around it
// that is written.
func find(node *spec.Node, pointer string) *spec.Node {
	if node == nil || pointer == "" {
		return node
	}
	for _, part := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		name := strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		next := node.Get(name)
		if i, err := strconv.Atoi(name); err == nil && i >= 0 && i < len(node.Items) {
			next = node.Items[i]
		}
		if next == nil {
			return node
		}
		node = next
	}
	return node
}

// encode writes parts that are JSON already, keys sorted.
func encode(parts any) json.RawMessage {
	data, err := json.Marshal(parts)
	if err != nil {
		return json.RawMessage("null") // the parts were made by this package
	}
	return data
}
