package schema

import (
	"encoding/json"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
)

func TestIssue15_2_UnionsAndAllOfAreTypes(t *testing.T) {
	for _, c := range []struct{ schema, name, takes, refuses string }{
		{`{"type":["string","integer"]}`, "text or an integer", `["a",1]`, `[null,1.5,true,[],{}]`},
		{`{"type":["string","integer","null"],"minLength":2,"minimum":5}`, "text or an integer or null", `["ab",5,null]`, `["a",4]`},
		{`{"type":["string","integer"],"enum":["a",1]}`, "text or an integer", `["a",1]`, `["b",2]`},
		{`{"type":["string","integer"],"enum":["a","b"]}`, "text", `["a"]`, `["c",1]`},
		{`{"type":["array","string"],"items":{"type":"integer"}}`, "a list of integers or text", `["a",[1]]`, `[["a"],1]`},
		{`{"anyOf":[{"type":"string","maxLength":2},{"type":"boolean"},{"type":"null"}]}`, "text or a boolean or null", `["ab",true,null]`, `["abc",1]`},
		{`{"oneOf":[{"type":"string","format":"date-time"},{"type":"integer"}]}`, "a time or an integer", `["2026-01-02T03:04:05Z",7]`, `["soon"]`},
		{`{"anyOf":[{"type":"integer"},{"type":"number"}]}`, "number", `[1,1.5]`, `["a"]`},
		{`{"anyOf":[{"type":"string"},{}]}`, "any value", `["a",1,null]`, `[]`},
		{`{"anyOf":[{"type":"string","writeOnly":true},{"type":"integer"}]}`, "any value", `["a",1]`, `[]`},
		{`{"oneOf":[{"type":"object","properties":{"a":{"type":"string"}},"required":["a"]},{"type":"object","properties":{"a":{"type":"integer"},"b":{}},"required":["a"]}]}`, "object", `[{"a":"x"},{"a":1,"b":2}]`, `[{},{"a":true}]`},
		{`{"type":"object","properties":{"a":{"type":"string"},"b":{"type":"string"}},"anyOf":[{"required":["a"]},{"required":["b"]}]}`, "object", `[{"a":"x"},{"b":"x"}]`, `[{"a":1}]`},
		{`{"allOf":[{"$ref":"#/$defs/named"},{"type":"object","properties":{"n":{"type":"integer","minimum":2}},"required":["n"]}],"$defs":{"named":{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}}}`, "object", `[{"name":"a","n":2}]`, `[{"n":2},{"name":"a"},{"name":"a","n":1}]`},
		{`{"type":"object","properties":{"a":{"type":"string"}},"allOf":[{"required":["a"]}]}`, "object", `[{"a":"x"}]`, `[{}]`},
		{`{"type":"number","minimum":1,"allOf":[{"type":"integer","minimum":3},{"maximum":9}]}`, "integer", `[3]`, `[2,3.5]`},
		{`{"type":"string","allOf":[{"type":"string","enum":["a","b"]},{"type":"string","enum":["b","c"]}]}`, "text", `["b"]`, `["a","c"]`},
		{`{"type":"number","enum":[1,2.5],"allOf":[{"type":"integer"}]}`, "integer", `[1]`, `[2,2.5]`},
		{`{"type":"string","enum":["1h","x"],"allOf":[{"type":"string","format":"duration"}]}`, "duration", `["1h"]`, `["x","2h"]`},
		{`{"type":"string","format":"date-time","allOf":[{"type":"string","enum":["x"]}]}`, "time", `["2026-01-02T03:04:05Z"]`, `["x"]`},
		{`{"type":["string","integer","boolean"],"allOf":[{"type":["integer","string"],"maxLength":1}]}`, "text or an integer", `["a",1]`, `["ab",true]`},
		{`{"anyOf":[{"type":"object","properties":{"a":{"enum":["a",1]}}},{"type":"object"}]}`, "object", `[{"a":""},{"a":1}]`, `[1]`},
		{`{"nullable":true,"allOf":[{"type":"integer"}]}`, "integer or null", `[1,null]`, `["a"]`},
	} {
		of, err := FromJSON([]byte(c.schema))
		if err != nil {
			t.Errorf("%s: %v", c.schema, err)
			continue
		}
		if of.String() != c.name {
			t.Errorf("%s is %q, want %q", c.schema, of, c.name)
		}
		for _, list := range []struct {
			text string
			fits bool
		}{{c.takes, true}, {c.refuses, false}} {
			for value := range Elements([]byte(list.text)) {
				if err := of.CheckAnswer(value); (err == nil) != list.fits {
					t.Errorf("%s: of %s: %v", c.schema, value, err)
				}
			}
		}
		again := MustFromJSON(string(of.JSONSchema()))
		if again.String() != of.String() || string(again.JSONSchema()) != string(of.JSONSchema()) {
			t.Errorf("%s is written as %s and read as %s", c.schema, of.JSONSchema(), again.JSONSchema())
		}
	}
}

func TestIssue15_2_WhatFitsAUnion(t *testing.T) {
	into := MustFromJSON(`{"type":["string","array"],"items":{"type":"integer"}}`)
	for schema, want := range map[string]string{
		`{"type":"string"}`: "", `{"type":"array","items":{"type":"integer"}}`: "", `{"type":["string","array"],"items":{"type":"integer"}}`: "", `{}`: "",
		`{"type":"integer"}`:                         "expects text or a list of integers, got an integer",
		`{"type":["string","boolean"]}`:              "expects text or a list of integers, got a boolean",
		`{"type":["string","null"]}`:                 "expects text or a list of integers, but this may be null",
		`{"type":"array","items":{"type":"string"}}`: "expects an integer, got text",
	} {
		got := ""
		if misfit := MustFromJSON(schema).Fits(into); misfit != nil {
			got = misfit.Message
		}
		if got != want {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
	for text, want := range map[string]string{`7`: `7`, `a`: `"a"`, `true`: `"true"`} {
		raw, err := MustFromJSON(`{"type":["string","integer"]}`).FromScalar(text, true)
		if err != nil || string(raw) != want {
			t.Errorf("%s is read as %s (%v), want %s", text, raw, err, want)
		}
	}
	if raw, err := MustFromJSON(`{"type":["string","integer"]}`).FromScalar("7", false); err != nil || string(raw) != `"7"` {
		t.Errorf("7 in quotes is read as %s (%v)", raw, err)
	}
	if _, err := MustFromJSON(`{"type":["boolean","integer"]}`).FromScalar("x", true); err == nil || !strings.Contains(err.Error(), "expects a boolean or an integer") {
		t.Errorf("text for a boolean or an integer: %v", err)
	}
}

// drawn draws schemas with unions and allOf in them, and values.
type drawn struct{ *rand.Rand }

func (d drawn) schema(depth int) map[string]any {
	kinds := []string{"string", "integer", "number", "boolean", "null", "enum"}
	if depth > 0 {
		kinds = append(kinds, "several", "several", "object", "object", "list", "anyOf", "oneOf", "allOf", "anyOf", "allOf")
	}
	switch kind := kinds[d.IntN(len(kinds))]; kind {
	case "enum":
		return map[string]any{"enum": []any{"a", "b", 1}[:1+d.IntN(3)]}
	case "several":
		s := d.object(depth)
		s["type"] = []any{"object", []string{"string", "integer"}[d.IntN(2)], []string{"boolean", "null", "array"}[d.IntN(3)]}
		s["minimum"], s["maxLength"] = d.IntN(4), d.IntN(3)
		return s
	case "object":
		return d.object(depth)
	case "list":
		return map[string]any{"type": "array", "items": d.schema(depth - 1), "minItems": d.IntN(2)}
	case "anyOf", "oneOf", "allOf":
		s := map[string]any{}
		if d.IntN(3) == 0 {
			s = d.object(depth)
		}
		parts := make([]any, 1+d.IntN(3))
		for i := range parts {
			parts[i] = d.schema(depth - 1)
			if kind == "allOf" && d.IntN(3) > 0 {
				parts[i] = d.object(depth)
			} else if d.IntN(5) == 0 {
				parts[i] = map[string]any{"required": []any{"a"}}
			}
		}
		s[kind] = parts
		return s
	case "string":
		return map[string]any{"type": "string", "minLength": d.IntN(3)}
	case "integer", "number":
		return map[string]any{"type": kind, "minimum": d.IntN(5) - 2}
	default:
		return map[string]any{"type": kind}
	}
}

func (d drawn) object(depth int) map[string]any {
	s, properties := map[string]any{"type": "object"}, map[string]any{}
	for _, name := range []string{"a", "b", "c"} {
		if d.IntN(2) == 0 {
			properties[name] = d.schema(depth - 1)
		}
	}
	if d.IntN(5) > 0 {
		s["properties"] = properties
	}
	if d.IntN(3) == 0 {
		s["required"] = []any{"a"}
	}
	if d.IntN(4) == 0 {
		s["additionalProperties"] = d.IntN(2) == 0
	}
	return s
}

func (d drawn) value(depth int) any {
	n := 9
	if depth > 0 {
		n = 14
	}
	switch i := d.IntN(n); i {
	case 9, 10, 11, 12:
		object := map[string]any{}
		for _, name := range []string{"a", "b", "c", "d"} {
			if d.IntN(2) == 0 {
				object[name] = d.value(depth - 1)
			}
		}
		return object
	case 13:
		return []any{d.value(depth - 1), d.value(depth - 1)}[:d.IntN(3)]
	default:
		return []any{"", "a", "bbb", -1, 1, 3, 0.5, true, nil}[i]
	}
}

// TestIssue15_2_NoFalseRefusal: what a schema takes by the standard, its type takes. The
// library beside is the standard's reader; the other direction is none of the type's
// promises, since it may be wider than its schema.
func TestIssue15_2_NoFalseRefusal(t *testing.T) {
	taken, refused := 0, 0
	for seed := range uint64(1000) {
		d := drawn{rand.New(rand.NewPCG(seed, 15))}
		text, err := json.Marshal(d.schema(3))
		if err != nil {
			t.Fatal(err)
		}
		of, err := FromJSON(text)
		if err != nil {
			continue // it allows no value, which is told
		}
		var standard jsonschema.Schema
		if err := json.Unmarshal(text, &standard); err != nil {
			t.Fatal(err)
		}
		resolved, err := standard.Resolve(nil)
		if err != nil {
			t.Fatal(err)
		}
		for range 40 {
			value, err := json.Marshal(d.value(3))
			if err != nil {
				t.Fatal(err)
			}
			var decoded any
			if err := json.Unmarshal(value, &decoded); err != nil {
				t.Fatal(err)
			}
			ours, theirs := of.CheckAnswer(value), resolved.Validate(decoded)
			switch {
			case theirs == nil && ours != nil:
				t.Fatalf("seed %d: %s takes %s, and its type does not: %v", seed, text, value, ours)
			case theirs == nil:
				taken++
			case ours != nil:
				refused++
			}
		}
	}
	t.Logf("%d values are taken by both, %d refused by both", taken, refused)
	if taken < 5000 || refused < 20_000 {
		t.Errorf("%d values are taken and %d refused: that says little", taken, refused)
	}
}
