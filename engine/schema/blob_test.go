package schema

import (
	"strings"
	"testing"
)

const (
	blobSchema = `{"type":"object","x-flowrun-blob":true}`
	aReference = `{"digest":"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef","size":9,"media_type":"text/csv","name":""}`
)

func TestIssue16_3_ALargeValueIsAType(t *testing.T) {
	for _, c := range []struct{ schema, name, takes, refuses string }{
		{blobSchema, "large value", `[` + aReference + `]`, `[null,"x",{},[],{"digest":"x","size":1,"media_type":"","name":""}]`},
		{`{"x-flowrun-blob":true,"nullable":true}`, "large value or null", `[null,` + aReference + `]`, `[{}]`},
		{`{"type":["object","null"],"x-flowrun-blob":true,"description":"x"}`, "large value or null", `[null]`, `[1]`},
		{`{"type":["string","object"],"x-flowrun-blob":true}`, "text or a large value", `["a",` + aReference + `]`, `[{},1]`},
		{`{"anyOf":[{"type":"string"},` + blobSchema + `,{"type":"null"}]}`, "text or a large value or null", `["a",null,` + aReference + `]`, `[{},1]`},
		{`{"allOf":[{"type":"object"},` + blobSchema + `]}`, "large value", `[` + aReference + `]`, `[{"digest":"x"}]`},
		{`{"anyOf":[` + blobSchema + `,` + blobSchema + `]}`, "large value", `[` + aReference + `]`, `[{}]`},
		{`{"anyOf":[` + blobSchema + `,{"type":"object","properties":{"digest":{"type":"string"}},"required":["digest"]}]}`, "object", `[` + aReference + `,{"digest":"x"}]`, `[{}]`},
		{`{"type":"array","items":` + blobSchema + `}`, "list of large values", `[[` + aReference + `]]`, `[[{}]]`},
		{`{"type":"object","x-flowrun-blob":false}`, "object", `[{"a":1}]`, `[1]`},
	} {
		of := MustFromJSON(c.schema)
		if of.String() != c.name {
			t.Errorf("%s is %q, want %q", c.schema, of, c.name)
		}
		for value := range Elements([]byte(c.takes)) {
			if err := of.CheckAnswer(value); err != nil {
				t.Errorf("%s does not take %s: %v", c.schema, value, err)
			}
		}
		for value := range Elements([]byte(c.refuses)) {
			if of.CheckAnswer(value) == nil {
				t.Errorf("%s takes %s", c.schema, value)
			}
		}
		again := MustFromJSON(string(of.JSONSchema()))
		if !of.Equal(again) && c.name != "object" {
			t.Errorf("%s is written as %s and read as %s", c.schema, of.JSONSchema(), again.JSONSchema())
		}
	}
}

func TestIssue16_3_WordsThatALargeValueHasNot(t *testing.T) {
	for schema, want := range map[string]string{
		`{"type":"string","x-flowrun-blob":true}`:                    "a large value is an object",
		`{"type":"object","x-flowrun-blob":1}`:                       "x-flowrun-blob",
		`{"type":"object","x-flowrun-blob":true,"writeOnly":true}`:   "can't be writeOnly",
		`{"type":"object","x-flowrun-blob":true,"enum":[{"a":"b"}]}`: "has no enum",
	} {
		if _, err := FromJSON([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", schema, err, want)
		}
	}
}

func TestIssue16_3_OnlyALargeValueFitsOne(t *testing.T) {
	fields := `"properties":{"digest":{"type":"string"},"size":{"type":"integer"},"media_type":{"type":"string"},"name":{"type":"string"}},"required":["digest","size","media_type","name"]`
	object := `{"type":"object",` + fields + `,"additionalProperties":false}`
	for _, c := range []struct{ have, into, want string }{
		{blobSchema, blobSchema, ""},
		{blobSchema, object, ""}, // its fields may be read
		{blobSchema, `{"type":"object"}`, ""},
		{blobSchema, `{}`, ""},
		{blobSchema, `{"anyOf":[{"type":"string"},` + blobSchema + `]}`, ""},
		{blobSchema, `{"type":"string"}`, "expects text, got a large value"},
		{object, blobSchema, "expects a large value, got an object"},
		{`{"type":"object"}`, blobSchema, "expects a large value, got an object"},
		{`{"type":"string"}`, blobSchema, "expects a large value, got text"},
		{`{"anyOf":[` + blobSchema + `,{"type":"null"}]}`, blobSchema, "expects a large value, but this may be null"},
		{`{}`, blobSchema, ""}, // known when it runs
	} {
		got := ""
		if misfit := MustFromJSON(c.have).Fits(MustFromJSON(c.into)); misfit != nil {
			got = misfit.Message
		}
		if got != c.want {
			t.Errorf("%s into %s: %q, want %q", c.have, c.into, got, c.want)
		}
	}
	blob, other := MustFromJSON(blobSchema), MustFromJSON(object)
	if joined := Join(blob, other); joined.Blob || joined.Kind != Object {
		t.Errorf("what is one of both is %s", joined)
	}
	if joined := Join(blob, MustFromJSON(blobSchema)); !joined.Blob {
		t.Errorf("what is a large value either way is %s", joined)
	}
	for _, one := range []string{blobSchema, `{"type":"array","items":` + blobSchema + `}`, `{"type":"object","properties":{"a":{"anyOf":[{"type":"string"},` + blobSchema + `]}}}`} {
		if !MustFromJSON(one).HasBlob() {
			t.Errorf("%s has none", one)
		}
	}
	if other.HasBlob() || blob.WithField(Required("x", Of(Int))).HasBlob() {
		t.Error("an object is a large value")
	}
}

func TestIssue16_3_ALargeValueInThePlaceOfAnObjectIsAnotherType(t *testing.T) {
	was, is := MustFromJSON(`{"type":"object","properties":{"body":{"type":"object"}}}`), MustFromJSON(`{"type":"object","properties":{"body":`+blobSchema+`}}`)
	found := was.Differences(is)
	if len(found) != 1 || found[0].What != DiffType || found[0].Text != "is a large value, was an object" || found[0].Pointer != "/body" {
		t.Fatalf("%+v", found)
	}
	if !found[0].Apply(was).Equal(is) {
		t.Error("it is not the difference")
	}
}
