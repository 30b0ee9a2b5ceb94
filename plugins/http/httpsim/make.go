package httpsim

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/internal/simkit"
)

// deepest bounds how deep a made value is: schemas may lead into themselves.
const deepest = 8

// maker makes values of a JSON Schema: what the schema itself shows (const, default,
// examples, enum), else something of its type, the same for the same request.
type maker struct {
	root map[string]any
	seed *simkit.Seed
}

func newMaker(schema json.RawMessage, request string) *maker {
	m := &maker{seed: simkit.SeedOf(request)}
	_ = json.Unmarshal(schema, &m.root) // what is no object has no shape to keep to
	return m
}

// resolve follows references, and takes the first of several choices; what allOf says is
// put together.
func (m *maker) resolve(schema map[string]any) map[string]any {
	for range deepest {
		ref, is := schema["$ref"].(string)
		if !is {
			break
		}
		path, err := url.PathUnescape(strings.TrimPrefix(ref, "#"))
		target, found := valueAt(m.root, path).(map[string]any)
		if err != nil || !found {
			return map[string]any{}
		}
		schema = target
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if choices, _ := schema[word].([]any); len(choices) > 0 {
			choice, _ := choices[0].(map[string]any)
			return m.merged(schema, m.resolve(choice))
		}
	}
	parts, _ := schema["allOf"].([]any)
	for _, part := range parts {
		inner, _ := part.(map[string]any)
		schema = m.merged(schema, m.resolve(inner))
	}
	return schema
}

func (m *maker) merged(one, other map[string]any) map[string]any {
	both := maps.Clone(one)
	for _, word := range []string{"oneOf", "anyOf", "allOf"} {
		delete(both, word)
	}
	for name, value := range other {
		inner, isObject := value.(map[string]any)
		if had, has := both[name].(map[string]any); has && isObject {
			joined := maps.Clone(had)
			maps.Copy(joined, inner)
			value = joined
		}
		both[name] = value
	}
	return both
}

// names are the properties of a schema, sorted.
func (m *maker) names(schema map[string]any) []string {
	properties, _ := m.resolve(schema)["properties"].(map[string]any)
	return slices.Sorted(maps.Keys(properties))
}

func (m *maker) make(schema map[string]any, depth int) any {
	schema = m.resolve(schema)
	if value, is := schema["const"]; is {
		return value
	}
	if value, is := schema["default"]; is {
		return value
	}
	for _, word := range []string{"examples", "enum"} {
		if shown, _ := schema[word].([]any); len(shown) > 0 {
			return shown[0]
		}
	}
	switch kindOf(schema) {
	case "object":
		return m.object(schema, depth)
	case "array":
		return m.list(schema, depth)
	case "string":
		return m.text(schema)
	case "integer", "number":
		return m.number(schema)
	case "boolean":
		return true
	}
	return nil
}

// kindOf is the first type that is not null.
func kindOf(schema map[string]any) string {
	switch kinds := schema["type"].(type) {
	case string:
		return kinds
	case []any:
		for _, kind := range kinds {
			if name, _ := kind.(string); name != "null" {
				return name
			}
		}
	}
	switch {
	case schema["properties"] != nil:
		return "object"
	case schema["items"] != nil:
		return "array"
	}
	return ""
}

func (m *maker) object(schema map[string]any, depth int) any {
	made := map[string]any{}
	properties, _ := schema["properties"].(map[string]any)
	required, _ := schema["required"].([]any)
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		if depth >= deepest && !slices.Contains(required, any(name)) {
			continue
		}
		inner, _ := properties[name].(map[string]any)
		made[name] = m.make(inner, depth+1)
	}
	return made
}

func (m *maker) list(schema map[string]any, depth int) any {
	items, _ := schema["items"].(map[string]any)
	least, _ := schema["minItems"].(float64)
	if depth >= deepest {
		return []any{}
	}
	made := []any{m.make(items, depth+1)}
	for i := 1; i < int(min(least, 100)); i++ {
		made = append(made, m.variant(made[0], i))
	}
	return made
}

// texts are samples of formats.
var texts = map[string]string{
	"date-time": "2026-03-01T09:00:00Z", "date": "2026-03-01", "duration": "PT1H", "uri": "https://service.example/thing", "url": "https://service.example/thing",
	"email": "ann@service.example", "ipv4": "192.0.2.7", "ipv6": "2001:db8::7", "uuid": "6f2c1a34-9d5b-4c1e-8a77-0d9b1f2e3c4a",
}

var words = []string{"amber", "birch", "cedar", "delta", "ember", "fjord", "grove"}

func (m *maker) text(schema map[string]any) any {
	format, _ := schema["format"].(string)
	if text, known := texts[format]; known {
		return text
	}
	text := simkit.Pick(m.seed, words)
	if least, _ := schema["minLength"].(float64); int(least) > len(text) {
		text += strings.Repeat("x", int(min(least, 1<<16))-len(text))
	}
	if most, is := schema["maxLength"].(float64); is && int(most) < len(text) {
		text = text[:int(max(most, 0))]
	}
	return text
}

func (m *maker) number(schema map[string]any) any {
	value := float64(m.seed.Below(1000))
	if least, is := schema["minimum"].(float64); is && value < least {
		value = least
	}
	if most, is := schema["maximum"].(float64); is && value > most {
		value = most
	}
	return value
}

// variant is a value that differs from others of its list where it can: by its first text
// or number.
func (m *maker) variant(value any, i int) any {
	if i == 0 {
		return value
	}
	switch typed := value.(type) {
	case string:
		if slices.Contains(words, typed) {
			return fmt.Sprintf("%s %d", typed, i+1)
		}
	case float64:
		return typed + float64(i)
	case map[string]any:
		changed := maps.Clone(typed)
		for _, name := range slices.Sorted(maps.Keys(changed)) {
			changed[name] = m.variant(changed[name], i)
		}
		return changed
	}
	return value
}
