package pluginhost

import (
	"maps"
	"slices"
	"strconv"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// visit calls change for each value of a tree, parents first, with its JSON
// Pointer and its type (nil where nothing is known), and puts the answer in its
// place. The parts of a value that change replaced are not visited.
func visit(v any, t *schema.Type, pointer string, change func(v any, t *schema.Type, pointer string) (any, bool, error)) (any, error) {
	replaced, done, err := change(v, t, pointer)
	if err != nil || done {
		return replaced, err
	}
	switch v := v.(type) {
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) { // the first problem found must always be the same
			if v[name], err = visit(v[name], fieldType(t, name), pointer+diag.Pointer(name), change); err != nil {
				return nil, err
			}
		}
	case []any:
		for i := range v {
			if v[i], err = visit(v[i], elementType(t), pointer+"/"+strconv.Itoa(i), change); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

func fieldType(t *schema.Type, name string) *schema.Type {
	if t == nil || t.Kind != schema.Object {
		return nil
	}
	field, _ := t.Field(name)
	return field
}

func elementType(t *schema.Type) *schema.Type {
	if t == nil || t.Kind != schema.List {
		return nil
	}
	return t.Elem
}
