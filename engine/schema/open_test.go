package schema

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What schemas say of names that they do not declare.
func TestIssue12_34OpenObjects(t *testing.T) {
	for _, c := range []struct {
		schema string
		open   bool
		others string // type of other names
	}{
		{`{"type":"object","properties":{"a":{}}}`, true, "any value"},
		{`{"properties":{"a":{}}}`, true, "any value"},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":false}`, false, ""},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":false,"patternProperties":{"^x":{}}}`, true, "any value"},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":true}`, false, "any value"},
		{`{"type":"object","properties":{"a":{}},"additionalProperties":{"type":"integer"}}`, false, "integer"},
		{`{"type":"object"}`, false, "any value"},
	} {
		got := MustFromJSON(c.schema)
		others := ""
		if t := got.Others(); t != nil {
			others = t.String()
		}
		if got.Open != c.open || others != c.others {
			t.Errorf("%s is open %v, others %q", c.schema, got.Open, others)
		}
		if again := MustFromJSON(string(got.JSONSchema())); again.Open != got.Open || (again.Additional == nil) != (got.Additional == nil) {
			t.Errorf("%s is written as %s", c.schema, got.JSONSchema())
		}
		if _, readable := got.Field("zz"); readable != (got.Additional != nil) {
			t.Errorf("%s: zz is readable: %v", c.schema, readable)
		}
	}
	nested := MustFromJSON(`{"type":"array","items":{"type":"object","properties":{"a":{"type":"object","properties":{"b":{}}}}}}`)
	if exact := nested.Exact(); exact.hasOpen() || !nested.hasOpen() || exact.Equal(nested) {
		t.Errorf("%s made exact is %s", nested.JSONSchema(), exact.JSONSchema())
	}
}

func TestIssue12_34DecodeAnswerLeavesOutWhatTheSchemaExcludes(t *testing.T) {
	closed := `{"type":"object","properties":{"a":{"type":"array","items":{"type":"object","properties":{"b":{"type":"integer"}},"additionalProperties":false}}},"additionalProperties":false}`
	for _, c := range []struct {
		schema, data string
		want         any
	}{
		{closed, `{"a":[{"b":1,"B":2},{"c":[]}],"x":{"$secret":"S"}}`, map[string]any{"a": []any{map[string]any{"b": 1}, map[string]any{}}}},
		{`{"type":"object","properties":{"a":{"type":"integer"}}}`, `{"a":1,"b":2.0}`, map[string]any{"a": 1, "b": 2.0}},
		{`{"type":"object","properties":{"a":{"type":"integer"}},"additionalProperties":{"type":"string"}}`, `{"a":1,"b":"c"}`, map[string]any{"a": 1, "b": "c"}},
		{`{}`, `{"a":1}`, map[string]any{"a": 1}},
	} {
		got, err := MustFromJSON(c.schema).DecodeAnswer([]byte(c.data))
		if diff := cmp.Diff(c.want, got); diff != "" || err != nil {
			t.Errorf("%s as %s: %v (-want +got):\n%s", c.data, c.schema, err, diff)
		}
	}
}

func TestIssue12_34WhatAnOpenObjectFits(t *testing.T) {
	open := MustFromJSON(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	one := Required("a", Of(Int))
	more := ObjectOf(one, Optional("b", Of(Int)))
	more.Additional = Of(Any)
	numbers := MapOf(Of(Int))
	for _, c := range []struct {
		into *Type
		sure string
	}{
		{ObjectOf(one), "takes only the fields that are declared, and this may have others; write the fields out, such as {a: x.a}"},
		{more, "/b: field `b` expects an integer, but nothing is known of this; make one of it with string(x), int(x) or float(x)"},
		{numbers, "/*: field `*` expects an integer, but nothing is known of this; make one of it with string(x), int(x) or float(x)"},
		{MapOf(nil), ""}, {Of(Any), ""},
	} {
		got := ""
		if misfit := open.SurelyFits(c.into); misfit != nil {
			got = misfit.Error()
		}
		if got != c.sure {
			t.Errorf("into %s: %q, want %q", c.into.JSONSchema(), got, c.sure)
		}
		if misfit := open.Fits(c.into); misfit != nil {
			t.Errorf("into %s: %v", c.into.JSONSchema(), misfit)
		}
	}
}

func TestIssue12_34JoinsOfOpenObjects(t *testing.T) {
	open := MustFromJSON(`{"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]}`)
	joined := Join(ObjectOf(Required("b", Of(Int))), open)
	if b, _ := joined.Field("b"); !joined.Open || b.Known() || !b.MayBeNull() || !b.IsBeyond() || !NonNull(b).IsBeyond() {
		t.Errorf("the join is %s, b is %s", joined.JSONSchema(), b)
	}
	if a, _ := joined.Field("a"); a.String() != "integer or null" {
		t.Errorf("a is %s", a)
	}
	if mixed := Join(open, MapOf(Of(Int))); mixed.Open || mixed.Additional == nil || mixed.Additional.Known() {
		t.Errorf("the join with a map is %s", mixed.JSONSchema())
	}
}
