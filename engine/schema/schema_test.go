package schema

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestFromJSONNamesTypesForPeople(t *testing.T) {
	for schema, want := range map[string]string{
		`{}`: "any value", `true`: "any value", `{"type":"null"}`: "null", `{"type":"boolean"}`: "boolean", `{"type":"integer"}`: "integer", `{"type":"number"}`: "number", `{"type":"string"}`: "text",
		`{"type":"string","format":"date-time"}`: "time", `{"type":"string","format":"duration"}`: "duration", `{"type":"string","format":"uuid"}`: "text",
		`{"type":["string","null"]}`: "text or null", `{"type":["null","integer"]}`: "integer or null", `{"type":["integer","number"]}`: "number", `{"type":["string","integer"]}`: "text or an integer", `{"type":["string","integer","null"]}`: "text or an integer or null",
		`{"type":"integer","nullable":true}`: "integer or null", `{"type":"array"}`: "list", `{"type":"array","items":{"type":"string"}}`: "list of text", `{"type":"array","items":{"type":"array","items":{"type":"integer"}}}`: "list of lists of integers",
		`{"items":{"type":"integer"}}`: "list of integers", `{"properties":{"a":{}}}`: "object", `{"type":"object"}`: "object", `{"enum":["a","b"]}`: "text", `{"enum":[1,2,null]}`: "integer or null", `{"const":true}`: "boolean", `{"enum":["a",1]}`: "any value",
		`{"anyOf":[{"type":"string"},{"type":"null"}]}`: "text or null", `{"oneOf":[{"type":"null"},{"type":"array","items":{"type":"integer"}}]}`: "list of integers or null", `{"anyOf":[{"type":"string"},{"type":"integer"}]}`: "text or an integer",
		`{"type":"string","writeOnly":true}`: "secret", `{"$ref":"#/$defs/x","$defs":{"x":{"type":"integer"}}}`: "integer", `{"$ref":"#/$defs/x","nullable":true,"$defs":{"x":{"type":"integer"}}}`: "integer or null",
		`{"type":"array","items":{"$ref":"#"}}`: "list of lists", `{"type":"integer","multipleOf":3,"x-unknown":[]}`: "integer",
	} {
		typ, err := FromJSON([]byte(schema))
		if err != nil {
			t.Errorf("%s: %v", schema, err)
			continue
		}
		if got := typ.String(); got != want {
			t.Errorf("%s is %q, want %q", schema, got, want)
		}
	}
}

func TestFromJSONRefusesBrokenSchemas(t *testing.T) {
	bomb := `{"$ref":"#/$defs/d0","$defs":{`
	for i := range 30 {
		next := strings.Repeat("x", i+1)
		bomb += `"d` + map[bool]string{true: "0", false: strings.Repeat("x", i)}[i == 0] + `":{"type":"object","properties":{"a":{"$ref":"#/$defs/d` + next + `"},"b":{"$ref":"#/$defs/d` + next + `"}}},`
	}
	bomb += `"d` + strings.Repeat("x", 30) + `":{"type":"string"}}}`
	for schema, want := range map[string]string{
		``: "read schema", `[]`: "a schema is an object", `{"type":"text"}`: `type "text" is unknown`, `{"type":"string","pattern":"("}`: "pattern", `{"$ref":"http://x/y"}`: "points out of the schema", `{"$ref":"#/$defs/x"}`: "points at nothing",
		`{"type":"integer","minimum":"a"}`: "minimum", `{"type":"integer","enum":["a"]}`: "enum", `{"type":"object","properties":{"a":{"type":"x"}}}`: "property a", `{"type":"array","items":false}`: "allows no value",
		strings.Repeat(`{"type":"array","items":`, 80) + `{}` + strings.Repeat(`}`, 80): "nested deeper", bomb: "too large",
	} {
		if _, err := FromJSON([]byte(schema)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %q", schema, err, want)
		}
	}
}

const wholeSchema = `{"type":"object","description":"a row","required":["id","at"],"additionalProperties":{"type":["integer","null"]},"properties":{
	"id":{"type":"integer","minimum":1,"maximum":10},"at":{"type":"string","format":"date-time"},"wait":{"type":"string","format":"duration"},
	"name":{"type":["string","null"],"minLength":1,"maxLength":3,"pattern":"^[a-z]+$","default":"x"},
	"state":{"type":"string","enum":["open","done"]},"tags":{"type":"array","items":{"type":"string"},"minItems":1,"maxItems":2},
	"key":{"type":"string","writeOnly":true},"any":{},"free":{"type":"object"},"closed":{"type":"object","properties":{},"additionalProperties":false},
	"level":{"type":["integer","null"],"enum":[1,2,null]}}}`

func TestJSONSchemaReadsBackAsTheSameType(t *testing.T) {
	first := MustFromJSON(wholeSchema)
	again, err := FromJSON(first.JSONSchema())
	if err != nil {
		t.Fatal(err)
	}
	if !first.Equal(again) {
		t.Errorf("JSONSchema wrote\n%s\nthen\n%s", first.JSONSchema(), again.JSONSchema())
	}
	for _, plain := range []*Type{Of(Any), Of(Null), Of(Time), Of(Duration), ListOf(nil), ListOf(Of(Int)), MapOf(nil), ObjectOf(), Nullable(MapOf(Of(Int))), SecretText(), EnumOf("a", "b"), EmptyList()} {
		again, err := FromJSON(plain.JSONSchema())
		if err != nil || !plain.Equal(again) {
			t.Errorf("%s: %s reads back as %s, %v", plain, plain.JSONSchema(), again.JSONSchema(), err)
		}
	}
}

func TestFieldsKeepTheirOrderAndReadAsNullableWhenOptional(t *testing.T) {
	typ := MustFromJSON(wholeSchema)
	if diff := cmp.Diff([]string{"id", "at", "wait", "name", "state", "tags", "key", "any", "free", "closed", "level"}, typ.FieldNames()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for name, want := range map[string]string{"id": "integer", "wait": "duration or null", "name": "text or null", "key": "secret", "other": "integer or null", "free": "object or null"} {
		field, ok := typ.Field(name)
		if !ok || field.String() != want {
			t.Errorf("field %s is %s, %v, want %s", name, field, ok, want)
		}
	}
	closed, _ := typ.Field("closed")
	if _, ok := closed.Field("x"); ok {
		t.Error("a closed object has field x")
	}
	var many []Field
	for _, name := range strings.Split("abcdefghijklmnopqrstuvwxyz", "") {
		many = append(many, Required(name, Of(Int)))
	}
	wide := ObjectOf(many...)
	if _, ok := wide.Field("z"); !ok {
		t.Error("field z is lost")
	}
	if _, ok := wide.Field("zz"); ok {
		t.Error("field zz is there")
	}
}

func TestFitsSaysWhyAValueCanNotStandThere(t *testing.T) {
	object := func(fields ...Field) *Type { return ObjectOf(fields...) }
	row := object(Required("id", Of(Int)), Optional("name", Of(String)))
	for _, c := range []struct {
		from, into *Type
		want       string
	}{
		{Of(Int), Of(Int), ""}, {Of(Int), Of(Number), ""}, {Of(Any), Of(Int), ""}, {Of(Int), Of(Any), ""}, {Of(String), Of(Time), ""}, {Of(String), Of(Duration), ""}, {Of(String), EnumOf("a"), ""}, {Of(Time), Of(Time), ""}, {Of(Null), Nullable(Of(Int)), ""},
		{Of(Number), Of(Int), "expects an integer, got a number; int(x) cuts the fraction off, int(round(x)) rounds"},
		{Of(String), Of(Int), "expects an integer, got text; int(x) makes an integer of text"},
		{Of(Int), Of(String), "expects text, got an integer; string(x) makes text of it"},
		{Of(Time), Of(String), "expects text, got a time; formatTime(t, \"2006-01-02\") makes text of a time"},
		{Of(Bool), Of(Int), "expects an integer, got a boolean"},
		{MapOf(nil), Of(String), "expects text, got an object; toJSON(x) makes text of it"},
		{Nullable(Of(Int)), Of(Int), "expects an integer, but this may be null; give a value for that case with `??`, such as `x ?? 0`"},
		{Of(Null), Of(Int), "expects an integer, got null"},
		{EnumOf("a"), EnumOf("a", "b"), ""}, {EnumOf("x"), EnumOf("a", "b"), `must be one of "a", "b"; got "x"`}, {EnumOf("opne"), EnumOf("open", "b"), "must be one of \"open\", \"b\"; got \"opne\"; did you mean `open`?"},
		{EnumOf("x", "a"), EnumOf("a"), ""}, {EnumOf("soon"), Of(Time), `"soon" is not a time; write it as 2006-01-02T15:04:05Z`}, {EnumOf("2026-01-02T00:00:00Z"), Of(Time), ""}, {EnumOf("5"), Of(Duration), "\"5\" is not a duration; write 30s, 6h, 7d or PT20M; a bare number has no unit: write `5s` for seconds"},
		{ListOf(Of(Int)), ListOf(Of(Number)), ""}, {ListOf(Of(String)), ListOf(Of(Int)), "/*: expects an integer, got text; int(x) makes an integer of text"}, {EmptyList(), ListOf(Of(Int)), ""},
		{object(Required("id", Of(Int))), row, ""}, {object(Required("id", Of(Int)), Required("nmae", Of(String))), row, "unknown field `nmae`; did you mean `name`?"}, {object(Required("name", Of(String))), row, "field `id` is missing"},
		{object(Optional("id", Of(Int))), row, "field `id` may be missing"}, {object(Required("id", Of(String))), row, "/id: field `id` expects an integer, got text; int(x) makes an integer of text"}, {MapOf(Of(Int)), object(Optional("a", Of(Int))), ""}, {MapOf(Of(Bool)), object(Optional("a", Of(Int))), "/a: field `a` expects an integer, got a boolean"},
		{row, MapOf(nil), ""}, {row, MapOf(Of(Int)), "/name: field `name` expects an integer, got text; int(x) makes an integer of text"},
		{SecretText(), SecretText(), ""}, {SecretText(), Of(String), "a secret can't stand here; secrets go only into fields that are marked secret"}, {SecretText(), Of(Any), "a secret can't stand here; secrets go only into fields that are marked secret"},
		{Of(String), SecretText(), "expects a secret, got text; write ${{ secrets.NAME }} as the whole value"}, {object(Required("t", SecretText())), Of(Any), "this object has a secret in it, which can't stand here; secrets go only into fields that are marked secret"},
	} {
		got := ""
		if misfit := c.from.Fits(c.into); misfit != nil {
			got = misfit.Error()
		}
		if got != c.want {
			t.Errorf("%s into %s (-want +got):\n%s", c.from, c.into, cmp.Diff(c.want, got))
		}
	}
}

func TestJoinKeepsWhatIsCommon(t *testing.T) {
	for _, c := range []struct {
		a, b *Type
		want string
	}{
		{Of(Int), Of(Int), "integer"}, {Of(Int), Of(Number), "number"}, {Of(Null), Of(Int), "integer or null"}, {Nullable(Of(Int)), Of(Number), "number or null"}, {Of(Int), Of(Any), "any value"}, {Of(Any), Of(Int), "any value"}, {EnumOf("a"), EnumOf("b"), "text"},
		{ListOf(Of(Int)), ListOf(Of(Number)), "list of numbers"}, {EmptyList(), ListOf(Of(Int)), "list of integers"}, {ListOf(Of(Int)), Nullable(EmptyList()), "list of integers or null"}, {EmptyList(), EmptyList(), "list"}, {ListOf(Of(Int)), ListOf(nil), "list"}, {SecretText(), Of(Int), "secret"},
	} {
		if got := Join(c.a, c.b).String(); got != c.want {
			t.Errorf("Join(%s, %s) = %s, want %s", c.a, c.b, got, c.want)
		}
		if forth, back := Join(c.a, c.b), Join(c.b, c.a); forth.String() != back.String() {
			t.Errorf("Join(%s, %s) = %s, the other way %s", c.a, c.b, forth, back)
		}
	}
	joined := Join(ObjectOf(Required("a", Of(Int)), Required("b", Of(Int))), ObjectOf(Required("a", Of(Number))))
	for name, want := range map[string]string{"a": "number", "b": "integer or null"} {
		if field, ok := joined.Field(name); !ok || field.String() != want {
			t.Errorf("field %s is %s, want %s", name, field, want)
		}
	}
	if got := Join(EnumOf("a"), EnumOf("b", "a")); len(got.Enum) != 2 {
		t.Errorf("enum %v", got.Enum)
	}
}

func TestWithoutSecretsTakesClearValues(t *testing.T) {
	typ := ObjectOf(Required("key", SecretText()), Required("list", ListOf(SecretText())))
	if _, err := typ.Decode(json.RawMessage(`{"key":"x","list":["y"]}`)); err == nil {
		t.Error("a clear value stands for a secret")
	}
	if _, err := typ.WithoutSecrets().Decode(json.RawMessage(`{"key":"x","list":["y"]}`)); err != nil {
		t.Error(err)
	}
	if !typ.HasSecret() || typ.WithoutSecrets().HasSecret() {
		t.Error("HasSecret is wrong")
	}
}

// TestJoinKeepsWhatAValueOfTwoTypesCanBe is rule 4 of the language where
// expr's own checker goes blind.
func TestJoinKeepsWhatAValueOfTwoTypesCanBe(t *testing.T) {
	text, integer, boolean := Of(String), Of(Int), Of(Bool)
	either := Join(text, integer)
	for _, tc := range []struct {
		got  *Type
		want string
	}{
		{either, "text or an integer"},
		{Join(either, boolean), "text, an integer or a boolean"},
		{Join(either, EnumOf("a")), "text or an integer"},
		{Join(either, Of(Null)), "text or an integer or null"},
		{Join(Nullable(text), integer), "text or an integer or null"},
		{NonNull(Join(Nullable(text), integer)), "text or an integer"},
		{Join(text, Of(Any)), "any value"},
		{Join(Of(Any), either), "any value"},
		{Join(integer, Of(Number)), "number"},
		{Join(either, text), "text or an integer"},
		{Join(ListOf(text), ListOf(integer)), "list of text or an integer"},
		{TupleOf(integer, text), "list of an integer or text"},
		{Join(either, SecretText()), "secret"},
	} {
		if got := tc.got.String(); got != tc.want {
			t.Errorf("got %q, want %q", got, tc.want)
		}
	}
	for _, into := range []*Type{text, integer, ListOf(nil)} {
		if either.Fits(into) == nil {
			t.Errorf("%s fits %s", either, into)
		}
	}
	if m := either.Fits(Of(Any)); m != nil {
		t.Errorf("%s into anything: %s", either, m.Message)
	}
	if m := Join(Of(Int), Of(Number)).Fits(Of(Number)); m != nil {
		t.Errorf("number: %s", m.Message)
	}
	if Nullable(either).Fits(Nullable(text)) == nil || !Nullable(either).MayBeNull() || either.Equal(Join(text, boolean)) {
		t.Error("null or the alternatives are lost")
	}
}

func TestEnumsShowWordsThatDifferOnlyInCaseOnce(t *testing.T) {
	_, err := Nullable(EnumOf("A", "AAAA", "MX", "a", "aaaa", "mx")).Accept("AAA")
	var mismatch *Mismatch
	if !errors.As(err, &mismatch) {
		t.Fatalf("got %v", err)
	}
	if want := `must be one of "A", "AAAA", "MX"; got "AAA"`; mismatch.Message != want || mismatch.Hint.Text != "did you mean `AAAA`?" {
		t.Errorf("got %q, %q", mismatch.Message, mismatch.Hint.Text)
	}
}
