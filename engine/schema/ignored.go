package schema

import (
	"encoding/json"
	"maps"
	"slices"
)

// unread are the words of JSON Schema that allow less and are not read: a Type takes what
// they would exclude. Annotations, and formats, exclude nothing.
func unread() []string {
	return []string{
		"contains", "dependencies", "dependentRequired", "dependentSchemas", "else", "if", "maxContains", "maxProperties", "minContains", "minProperties",
		"multipleOf", "not", "patternProperties", "prefixItems", "propertyNames", "then", "unevaluatedItems", "unevaluatedProperties", "uniqueItems",
		"$dynamicRef", "$recursiveRef",
	}
}

// Ignored returns the words of a schema, and of all schemas in it, that FromJSON passes
// over though they exclude values, sorted. What they exclude is not noticed.
func Ignored(schema []byte) []string {
	var document any
	if json.Unmarshal(schema, &document) != nil {
		return nil // FromJSON tells
	}
	found := map[string]bool{}
	ignoredIn(document, found, 0)
	return slices.Sorted(maps.Keys(found))
}

// ignoredIn looks at a schema and at those in it.
func ignoredIn(schema any, found map[string]bool, depth int) {
	o, ok := schema.(map[string]any)
	if !ok || depth > maxLevels {
		return
	}
	for _, word := range unread() {
		if value, ok := o[word]; ok && value != false {
			found[word] = true
		}
	}
	for _, word := range []string{"properties", "$defs", "definitions"} {
		named, _ := o[word].(map[string]any)
		for _, part := range named {
			ignoredIn(part, found, depth+1)
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		choices, _ := o[word].([]any)
		for _, part := range choices {
			ignoredIn(part, found, depth+1)
		}
	}
	for _, word := range []string{"items", "additionalProperties"} {
		ignoredIn(o[word], found, depth+1)
	}
}
