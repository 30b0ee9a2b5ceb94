package content

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// Sample makes a value of a JSON Schema: what it gives as an example, else the least of its
// type. It need not fit: patterns and bounds of lists are not looked at.
func Sample(schema sdk.Value) sdk.Value { return sampler{root: schema}.valueOf(schema, 0) }

type sampler struct{ root sdk.Value }

func (s sampler) valueOf(schema sdk.Value, depth int) sdk.Value {
	members, ok := sdk.ReadMembers(schema)
	if !ok || depth > 20 {
		return sdk.Value("null")
	}
	if ref := textOf(members.Get("$ref")); ref != "" {
		return s.valueOf(partOf(s.root, ref), depth+1)
	}
	for _, word := range []string{"const", "default"} {
		if value := members.Get(word); value != nil {
			return value
		}
	}
	for _, word := range []string{"examples", "enum"} {
		var list []json.RawMessage
		if json.Unmarshal(members.Get(word), &list) == nil && len(list) > 0 {
			return list[0]
		}
	}
	switch firstType(members.Get("type")) {
	case "string":
		return sdk.Text(map[string]string{"date-time": "2026-01-31T09:00:00Z", "date": "2026-01-31", "duration": "1h"}[textOf(members.Get("format"))])
	case "integer", "number":
		if least := members.Get("minimum"); least != nil {
			return least
		}
		return sdk.Value("0")
	case "boolean":
		return sdk.Value("false")
	case "array":
		return sdk.Value("[]")
	case "object":
		return s.objectOf(members, depth)
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		var choices []json.RawMessage
		if json.Unmarshal(members.Get(word), &choices) == nil && len(choices) > 0 {
			return s.valueOf(choices[0], depth+1)
		}
	}
	return sdk.Value("null")
}

// partOf is the part of a document that a reference into it names; null where there is none.
func partOf(document sdk.Value, ref string) sdk.Value {
	for token := range strings.SplitSeq(strings.TrimPrefix(strings.TrimPrefix(ref, "#"), "/"), "/") {
		if token == "" {
			continue
		}
		members, ok := sdk.ReadMembers(document)
		if document = members.Get(strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); !ok || document == nil {
			return sdk.Value("null")
		}
	}
	return document
}

// objectOf makes an object with what it must have.
func (s sampler) objectOf(schema sdk.Members, depth int) sdk.Value {
	var required []string
	_ = json.Unmarshal(schema.Get("required"), &required) // absent: nothing is
	properties, _ := sdk.ReadMembers(schema.Get("properties"))
	object := sdk.Members{}
	for _, name := range required {
		object = object.With(name, s.valueOf(properties.Get(name), depth+1))
	}
	return object.JSON()
}

// firstType is the first type that a schema names.
func firstType(raw sdk.Value) string {
	var several []string
	if json.Unmarshal(raw, &several) == nil && len(several) > 0 {
		return several[0]
	}
	return textOf(raw)
}

func textOf(raw sdk.Value) string {
	var text string
	_ = json.Unmarshal(raw, &text)
	return text
}
