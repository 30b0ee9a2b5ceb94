package testrun

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

// skeleton is an answer to paste for a step: an example of the action's own,
// else what its output schema demands.
func skeleton(path string, info *stepInfo) []string {
	value := exampleOf(info)
	if value == nil {
		value = sample(info.output, 0)
		if page, ok := value.(map[string]any); ok && page[info.nextField()] != nil {
			page[info.nextField()] = nil // the last page
		}
	}
	answer := map[string]any{"outputs": value}
	var out strings.Builder
	writeYAML(&out, map[string]any{"answers": map[string]any{path: answer}}, 0)
	return strings.Split(strings.TrimRight(out.String(), "\n"), "\n")
}

// exampleOf is the output of the first example that fits the step and is not too
// long to be shown; nil when there is none.
func exampleOf(info *stepInfo) any {
	if info.action == nil {
		return nil
	}
	for _, example := range info.action.Examples {
		if len(example.Output) == 0 || len(example.Output) > 2000 {
			continue
		}
		if _, err := info.output.DecodeExact(example.Output); err == nil {
			return inputOf(example.Output)
		}
	}
	return nil
}

// sample makes a value of a type: all fields, one element of each list.
func sample(t *schema.Type, depth int) any {
	switch {
	case t.Default != nil:
		return inputOf(json.RawMessage(t.Default))
	case len(t.Enum) > 0:
		return t.Enum[0]
	case t.Nullable && depth > 3:
		return nil
	}
	switch t.Kind {
	case schema.Bool:
		return true
	case schema.Int, schema.Number:
		if t.Min != nil {
			return int(*t.Min)
		}
		return 0
	case schema.String:
		if t.MinLength != nil && *t.MinLength > 0 {
			return strings.Repeat("x", *t.MinLength)
		}
		return "text"
	case schema.Time:
		return "2026-01-05T08:00:00Z"
	case schema.Duration:
		return "1h"
	case schema.List:
		if depth > 4 {
			return []any{}
		}
		return []any{sample(t.Element(), depth+1)}
	case schema.Object:
		if t.Blob {
			return map[string]any{"text": "text"}
		}
		fields := map[string]any{}
		for _, f := range t.Fields {
			if f.Required || !slices.ContainsFunc(t.Fields, func(f schema.Field) bool { return f.Required }) {
				fields[f.Name] = sample(f.Type, depth+1)
			}
		}
		return fields
	}
	if len(t.Alternatives) > 0 {
		return sample(t.Alternatives[0], depth)
	}
	return map[string]any{}
}
