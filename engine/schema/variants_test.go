package schema

import (
	"strings"
	"testing"
)

const shapes = `{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}},"oneOf":[
	{"type":"object","required":["kind","radius"],"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}},
	{"type":"object","required":["kind","side"],"properties":{"kind":{"const":"square"},"side":{"type":"integer"},"at":{"type":"string","format":"date-time"}}},
	{"type":"object","required":["kind"],"properties":{"kind":{"enum":["text","note"]},"side":{"type":"string"},"words":{"type":"array","items":{"type":"string"}}}}]}`

// Issue 16, 1: of several objects an answer is one whole, not a mixture.
func TestIssue16_1_AnObjectIsOneOfItsVariants(t *testing.T) {
	of := MustFromJSON(shapes)
	for value, want := range map[string]string{
		`{"id":1,"kind":"circle","radius":2.5}`:             "",
		`{"id":1,"kind":"square","side":2,"more":true}`:     "",
		`{"id":1,"kind":"note","words":["a"],"radius":"x"}`: "",
		`{"id":1,"kind":"circle","side":2}`:                 "field `radius` is missing",
		`{"id":1,"kind":"square","side":"a"}`:               "expects an integer, got text",
		`{"id":1,"kind":"text","side":3}`:                   "expects text, got an integer",
		`{"id":1,"kind":"oval"}`:                            "must be one of",
		`{"kind":"circle","radius":1}`:                      "field `id` is missing",
	} {
		err := of.CheckAnswer([]byte(value))
		if (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", value, err, want)
		}
	}
}

// What one variant excludes and another has is left out of none.
func TestIssue16_1_TrimmingLeavesWhatTheFittingVariantHas(t *testing.T) {
	of := MustFromJSON(`{"anyOf":[
		{"type":"object","required":["a"],"properties":{"a":{"const":"x"},"in":{"type":"object","properties":{"p":{"type":"integer"}},"additionalProperties":false}},"additionalProperties":false},
		{"type":"object","required":["a","in"],"properties":{"a":{"const":"y"},"in":{"type":"object","required":["q"],"properties":{"q":{"type":"integer"}},"additionalProperties":false}},"additionalProperties":false}]}`)
	value, err := of.DecodeAnswer([]byte(`{"a":"y","in":{"q":1}}`))
	if err != nil || value.(map[string]any)["in"].(map[string]any)["q"] != 1 {
		t.Errorf("%v %v", value, err)
	}
}

func TestIssue16_1_ATagLeavesItsVariants(t *testing.T) {
	of := MustFromJSON(shapes)
	for _, c := range []struct {
		texts []string
		is    bool
		want  string
	}{
		{[]string{"circle"}, true, "id kind radius"}, {[]string{"square"}, true, "id kind side at?"}, {[]string{"text"}, true, "id kind side? words?"},
		{[]string{"circle"}, false, "id kind side? at? words?"}, {[]string{"circle", "square"}, false, "id kind side? words?"},
		{[]string{"text"}, false, "id kind radius? side? at? words?"}, // a note is left
		{[]string{"text", "note"}, false, "id kind radius? side? at?"}, {[]string{"oval"}, true, "id kind radius? side? at? words?"},
	} {
		narrow := of.Tagged("kind", c.texts, c.is)
		var names []string
		for _, field := range narrow.Fields {
			if field.Required {
				names = append(names, field.Name)
			} else {
				names = append(names, field.Name+"?")
			}
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v %t: %s, want %s", c.texts, c.is, got, c.want)
		}
	}
	side, _ := of.Tagged("kind", []string{"square"}, true).Field("side")
	if side.String() != "integer" {
		t.Errorf("side of a square is %s", side)
	}
}

// A value is decoded by the variant that takes it, which is one of those that its tag leaves.
func TestIssue16_1_AValueIsWhatItsVariantSays(t *testing.T) {
	of := MustFromJSON(`{"anyOf":[
		{"type":"object","required":["k","v","w"],"properties":{"k":{"const":"a"},"v":{"type":"integer"},"w":{"type":"string"}}},
		{"type":"object","required":["k","v","w"],"properties":{"k":{"const":"b"},"v":{"type":"number"},"w":{"type":"string","format":"date-time"}}}]}`)
	value, err := of.DecodeAnswer([]byte(`{"k":"a","v":3,"w":"2026-01-02T03:04:05Z"}`))
	if err != nil {
		t.Fatal(err)
	}
	narrow := of.Tagged("k", []string{"a"}, true)
	for name, part := range value.(map[string]any) {
		typ, _ := narrow.Field(name)
		fits := false
		for _, one := range typ.Each() {
			fits = fits || one.Kind == KindOf(part) || one.Kind == Number && KindOf(part) == Int
		}
		if !fits {
			t.Errorf("%s is %s, and its type %s", name, Of(KindOf(part)), typ)
		}
	}
}

func TestIssue16_1_KindsLeaveTheirAlternatives(t *testing.T) {
	of := MustFromJSON(`{"type":["string","integer","array","null"],"items":{"type":"boolean"}}`)
	only := func(kinds ...Kind) func(Kind) bool {
		return func(kind Kind) bool {
			for _, one := range kinds {
				if kind == one {
					return true
				}
			}
			return false
		}
	}
	for _, c := range []struct {
		of   *Type
		kind func(Kind) bool
		want string
	}{
		{of, only(String), "text"}, {of, only(Int, Null), "integer or null"}, {of, only(String, List), "text or a list of booleans"}, {of, only(Bool), of.String()},
		{Of(Any), only(Object), "object"}, {Of(Any), only(String), "text"}, {Of(Any), only(Int), "any value"}, {Of(Any), only(String, Bool), "any value"},
		{Nullable(Of(Int)), only(Null), "integer or null"}, {Nullable(Of(Int)), only(Int), "integer"},
	} {
		if got := c.of.OfKinds(c.kind).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.of, got, c.want)
		}
	}
}

// What is given for one of several objects fits one of them whole, also before its value is
// known.
func TestIssue16_1_WhatFitsOneOfSeveralFitsItWhole(t *testing.T) {
	into := MustFromJSON(`{"oneOf":[
		{"type":"object","required":["a","b"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}},"additionalProperties":false},
		{"type":"object","required":["a","c"],"properties":{"a":{"type":"string"},"c":{"type":"boolean"}},"additionalProperties":false}]}`)
	text, whole, flag := Of(String), Of(Int), Of(Bool)
	for _, c := range []struct {
		name string
		of   *Type
		fits bool
	}{
		{"the first", ObjectOf(Required("a", text), Required("b", whole)), true}, {"the second", ObjectOf(Required("a", text), Required("c", flag)), true},
		{"neither", ObjectOf(Required("a", text)), false}, {"both mixed", ObjectOf(Required("a", text), Required("b", whole), Required("c", flag)), false},
		{"itself", into, true},
	} {
		if misfit := c.of.Fits(into); (misfit == nil) != c.fits {
			t.Errorf("%s: %v", c.name, misfit)
		}
	}
}

// An object that nothing can be is not one of those that a value may be.
func TestIssue16_1_AnImpossibleObjectIsNone(t *testing.T) {
	of := MustFromJSON(`{"type":"object","required":["id"],"properties":{"id":{"type":"string"},"kind":{"enum":["a","b"]}},"oneOf":[
		{"type":"object","required":["id"],"properties":{"id":{"type":"array","items":{"type":"integer"}}}},
		{"type":"object","required":["kind"],"properties":{"kind":{"const":"c"}}},
		{"type":"object","required":["n"],"properties":{"n":{"type":"integer"}}},
		{"type":"object","required":["m"],"properties":{"m":{"type":"integer"}}}]}`)
	if len(of.Variants) != 2 {
		t.Errorf("%d objects are left", len(of.Variants))
	}
	for value, fits := range map[string]bool{`{"id":"x","n":1}`: true, `{"id":"x","m":1}`: true, `{"id":[1]}`: false, `{"id":"x","kind":"c"}`: false, `{"id":"x"}`: false} {
		if err := of.CheckAnswer([]byte(value)); (err == nil) != fits {
			t.Errorf("%s: %v", value, err)
		}
	}
}
