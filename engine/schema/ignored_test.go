package schema

import (
	"slices"
	"testing"
)

func TestIssue15_2_IgnoredWordsAreNamed(t *testing.T) {
	for schema, want := range map[string][]string{
		`{"type":["string","integer"],"anyOf":[{"minLength":1}],"allOf":[{}],"format":"uuid","title":"x","examples":[{"not":1}],"default":{"not":{}}}`: nil,
		`{"multipleOf":3,"uniqueItems":false}`: {"multipleOf"},
		`{"type":"object","properties":{"not":{"type":"string"},"a":{"items":{"not":{}}}},"additionalProperties":{"uniqueItems":true}}`:      {"not", "uniqueItems"},
		`{"$ref":"#/$defs/x","$defs":{"x":{"oneOf":[{"if":{},"then":{}}]}},"allOf":[{"patternProperties":{}}],"anyOf":[{"prefixItems":[]}]}`: {"if", "patternProperties", "prefixItems", "then"},
		`true`: nil, `[`: nil,
	} {
		if got := Ignored([]byte(schema)); !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", schema, got, want)
		}
	}
}
