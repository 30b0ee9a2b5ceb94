package schema

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/duration"
)

func TestDecodeMakesExactValues(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		schema, data string
		want         any
	}{
		{`{}`, `9007199254740993`, 9007199254740993}, {`{}`, `123456789012345678901`, json.Number("123456789012345678901")}, {`{}`, `1.5`, 1.5}, {`{}`, `1e2`, 100.0}, {`{}`, `1e999`, json.Number("1e999")}, {`{}`, `null`, nil}, {`{}`, `[1,{"a":2}]`, []any{1, map[string]any{"a": 2}}},
		{`{"type":"integer"}`, `9223372036854775807`, math.MaxInt64}, {`{"type":"integer"}`, `1.0`, 1}, {`{"type":"integer"}`, `2e3`, 2000}, {`{"type":"number"}`, `3`, 3.0}, {`{"type":"boolean"}`, `true`, true}, {`{"type":"string"}`, `"x"`, "x"},
		{`{"type":"string","format":"date-time"}`, `"2026-01-02T03:04:05Z"`, at}, {`{"type":"string","format":"duration"}`, `"1h30m"`, 90 * time.Minute}, {`{"type":"string","format":"duration"}`, `"-PT1S"`, -time.Second}, {`{"type":["string","null"]}`, `null`, nil},
		{`{"type":"object","properties":{"n":{"type":"number"}}}`, `{"n":1,"extra":[1]}`, map[string]any{"n": 1.0, "extra": []any{1}}}, {`{"enum":[1,"a",null]}`, `"a"`, "a"}, {`{"type":"string","writeOnly":true}`, `{"$secret":"KEY"}`, map[string]any{"$secret": "KEY"}},
		{`{"type":"object","writeOnly":true}`, `{"a":{"$secret":"KEY"},"b":1}`, map[string]any{"a": map[string]any{"$secret": "KEY"}, "b": 1}},
	} {
		got, err := MustFromJSON(c.schema).Decode([]byte(c.data))
		if err != nil {
			t.Errorf("%s as %s: %v", c.data, c.schema, err)
			continue
		}
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s as %s (-want +got):\n%s", c.data, c.schema, diff)
		}
	}
}

func TestDecodeNamesThePlaceAndTheReason(t *testing.T) {
	for _, c := range []struct{ schema, data, want string }{
		{`{"type":"integer"}`, `1.5`, "expects an integer, got the number 1.5"}, {`{"type":"integer"}`, `9223372036854775808`, "the integer 9223372036854775808 does not fit 64 bits"}, {`{"type":"integer"}`, `"1"`, "expects an integer, got text"}, {`{"type":"integer"}`, `null`, "expects an integer, got null"},
		{`{"type":"integer","minimum":1}`, `0`, "0 is less than the minimum 1"}, {`{"type":"integer","exclusiveMaximum":5}`, `5`, "5 is more than the maximum 4"}, {`{"type":"number","exclusiveMinimum":0}`, `0`, "0 is less than the minimum 5e-324"}, {`{"type":"number"}`, `1e999`, "the number 1e999 is too large"},
		{`{"type":"string","minLength":2}`, `"ä"`, "the text has 1 character, at least 2 are needed"}, {`{"type":"string","minLength":1}`, `""`, "the text is empty"}, {`{"type":"string","maxLength":1}`, `"äö"`, "the text has 2 characters, at most 1 are allowed"}, {`{"type":"string","pattern":"^a"}`, `"b"`, `"b" does not match the pattern ^a`},
		{`{"type":"string","enum":["open","done"]}`, `"opne"`, "must be one of \"open\", \"done\"; got \"opne\"; did you mean `open`?"}, {`{"type":"array","maxItems":1}`, `[1,2]`, "the list has 2 elements, at most 1 are allowed"}, {`{"type":"array","items":{"type":"integer"}}`, `[1,"a"]`, "/1: expects an integer, got text"},
		{`{"type":"object","required":["a"]}`, `{}`, "field `a` is missing"}, {`{"type":"object","properties":{"a/b":{"type":"integer"}}}`, `{"a/b":true}`, "/a~1b: expects an integer, got a boolean"}, {`{"type":"string","format":"date-time"}`, `"2026-01-02"`, `"2026-01-02" is not a time; write it as 2006-01-02T15:04:05Z`},
		{`{"type":"string","format":"duration"}`, `"5"`, "\"5\" is not a duration; write 30s, 6h, 7d or PT20M; a bare number has no unit: write `5s` for seconds"}, {`{}`, `{"a":{"$secret":"KEY"}}`, "/a: a secret can't stand here; secrets go only into fields that are marked secret"}, {`{"type":"string","writeOnly":true}`, `"clear"`, "expects a secret, got a clear value; write ${{ secrets.NAME }} as the whole value"},
		{`{}`, `[1`, "invalid JSON: it ends too early: a bracket or a quote is not closed"}, {`{}`, `1 2`, "invalid JSON: line 1, column 3: found `2`, expected the end"}, {`{}`, ``, "invalid JSON: it is empty"}, {`{"type":"object","properties":{"a":{"type":"string"}}}`, `{"a":null}`, "/a: expects text, got null"},
	} {
		_, err := MustFromJSON(c.schema).Decode([]byte(c.data))
		var mismatch *Mismatch
		if !errors.As(err, &mismatch) {
			t.Errorf("%s as %s: no *Mismatch: %v", c.data, c.schema, err)
			continue
		}
		if mismatch.Error() != c.want {
			t.Errorf("%s as %s (-want +got):\n%s", c.data, c.schema, cmp.Diff(c.want, mismatch.Error()))
		}
	}
}

func TestDecodeExactRefusesUnknownNamesAndEmptyDurations(t *testing.T) {
	typ := MustFromJSON(`{"type":"object","properties":{"site":{"type":"string"},"wait":{"type":"string","format":"duration"}}}`)
	for data, want := range map[string]string{
		`{"sitte":"x"}`: "/sitte: unknown field `sitte`; did you mean `site`?", `{"wait":"0s"}`: "/wait: duration 0s must be greater than 0", `{"wait":"-1h"}`: "/wait: duration -1h must be greater than 0",
	} {
		if _, err := typ.DecodeExact([]byte(data)); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", data, err, want)
		}
		if _, err := typ.Decode([]byte(data)); err != nil {
			t.Errorf("Decode(%s): %v", data, err)
		}
	}
}

func TestAcceptTakesAnExpressionsResultIntoAField(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for _, c := range []struct {
		typ   *Type
		value any
		want  any
		err   string
	}{
		{Of(Number), 3, 3.0, ""}, {Of(Int), 3.0, nil, "expects an integer, got a number; int(x) or int(round(x)) makes an integer of a number"}, {Of(Time), "2026-01-02T03:04:05Z", at, ""}, {Of(Time), at, at, ""}, {Of(String), at, nil, "expects text, got a time; formatTime(t, \"2006-01-02\") makes text of a time"},
		{Of(String), 1, nil, "expects text, got an integer; string(x) makes text of it"}, {Of(Int), nil, nil, "expects an integer, got null"}, {Nullable(Of(Int)), nil, nil, ""}, {EnumOf("a"), "b", nil, `must be one of "a"; got "b"`}, {Of(Duration), "2h", 2 * time.Hour, ""}, {Of(Duration), -time.Hour, nil, "duration -1h must be greater than 0"},
		{Of(Any), math.NaN(), nil, "the number NaN can't be written"}, {Of(Any), []any{int64(1)}, nil, "/0: int64 is no value of a workflow"}, {Of(Any), SecretRef("K"), nil, "a secret can't stand here; secrets go only into fields that are marked secret"}, {SecretText(), SecretRef("K"), SecretRef("K"), ""},
		{ListOf(Of(Number)), []any{1, 2.5}, []any{1.0, 2.5}, ""}, {ObjectOf(Required("a", Of(Int))), map[string]any{"a": 1, "b": 2}, nil, "/b: unknown field `b`"},
	} {
		got, err := c.typ.Accept(c.value)
		switch {
		case c.err != "" && (err == nil || err.Error() != c.err):
			t.Errorf("%s.Accept(%v): %v, want %s", c.typ, c.value, err, c.err)
		case c.err == "" && err != nil:
			t.Errorf("%s.Accept(%v): %v", c.typ, c.value, err)
		case c.err == "" && !cmp.Equal(c.want, got):
			t.Errorf("%s.Accept(%v) = %v, want %v", c.typ, c.value, got, c.want)
		}
	}
}

func TestAcceptDoesNotChangeTheValue(t *testing.T) {
	value := map[string]any{"list": []any{1, 2}, "same": []any{"x"}}
	typ := ObjectOf(Required("list", ListOf(Of(Number))), Required("same", ListOf(Of(String))))
	got, err := typ.Accept(value)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]any{"list": []any{1, 2}, "same": []any{"x"}}, value); diff != "" {
		t.Errorf("the value changed (-before +after):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]any{"list": []any{1.0, 2.0}, "same": []any{"x"}}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestFromScalarFollowsTheTableOfConversions is docs/language.md, "Files".
func TestFromScalarFollowsTheTableOfConversions(t *testing.T) {
	for _, c := range []struct {
		typ   *Type
		text  string
		plain bool
		want  string // JSON, or the error after !
	}{
		{Of(Int), "42", true, "42"}, {Of(Int), "-7", true, "-7"}, {Of(Int), "0", true, "0"}, {Of(Int), "010", true, `!expects an integer, got "010"; write digits only, such as 42`}, {Of(Int), "1_000", true, `!expects an integer, got "1_000"; write digits only, such as 42`}, {Of(Int), "0x10", true, `!expects an integer, got "0x10"; write digits only, such as 42`},
		{Of(Int), "1.0", true, `!expects an integer, got "1.0"; write digits only, such as 42`}, {Of(Int), "42", false, "!expects an integer, got text in quotes; write it without quotes"}, {Of(Int), "99999999999999999999", true, "!the integer 99999999999999999999 does not fit 64 bits"}, {Of(Number), "1e3", true, "1e3"}, {Of(Number), "0.5", true, "0.5"}, {Of(Number), ".5", true, `!expects a number, got ".5"; write a number such as 42 or 0.5`},
		{Of(Bool), "true", true, "true"}, {Of(Bool), "yes", true, `!expects a boolean, got "yes"; write true or false`}, {Of(Bool), "True", true, `!expects a boolean, got "True"; write true or false`}, {Of(String), "404", true, `"404"`}, {Of(String), "010", true, `"010"`}, {Of(String), "yes", true, `"yes"`}, {Of(String), "2026-01-02", true, `"2026-01-02"`}, {Of(String), "null", false, `"null"`},
		{Of(String), "null", true, "!expects text, got null; write \"null\" in quotes for that text"}, {Of(String), "", true, "!expects text, got nothing; write \"\" in quotes for that text"}, {Nullable(Of(String)), "~", true, "null"}, {Nullable(Of(Int)), "", true, "null"}, {Nullable(Of(Int)), "null", false, `!expects an integer or null, got "null"; write digits only, such as 42`},
		{Of(Any), "null", true, "null"}, {Of(Any), "~", true, "null"}, {Of(Any), "true", true, "true"}, {Of(Any), "1.5", true, "1.5"}, {Of(Any), "1.5", false, `"1.5"`}, {Of(Any), "010", true, `"010"`}, {Of(Any), "yes", true, `"yes"`}, {Of(Time), "2026-01-02T03:04:05Z", true, `"2026-01-02T03:04:05Z"`}, {Of(Time), "2026-01-02", true, `!"2026-01-02" is not a time; write it as 2006-01-02T15:04:05Z`},
		{Of(Duration), "7d", true, `"7d"`}, {Of(Duration), "5", true, "!\"5\" is not a duration; write 30s, 6h, 7d or PT20M; a bare number has no unit: write `5s` for seconds"}, {Of(Duration), "0s", true, "!duration 0s must be greater than 0"}, {EnumOf("a", "b"), "c", true, `!must be one of "a", "b"; got "c"`}, {ListOf(nil), "x", true, `!expects a list, got "x"`}, {SecretText(), "x", true, "!expects a secret, got a clear value; write ${{ secrets.NAME }} as the whole value"},
	} {
		raw, err := c.typ.FromScalar(c.text, c.plain)
		got := string(raw)
		if err != nil {
			got = "!" + err.Error()
		}
		if got != c.want {
			t.Errorf("%s from %q (plain %v) (-want +got):\n%s", c.typ, c.text, c.plain, cmp.Diff(c.want, got))
		}
	}
}

func TestDurationsReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(math.MinInt64+1, math.MaxInt64).Draw(t, "d"))
		if got, err := duration.Signed(FormatDuration(d)); err != nil || got != d {
			t.Fatalf("%d is %s, which reads as %d, %v", d, FormatDuration(d), got, err)
		}
	})
}

func TestEncodeWritesWhatDecodeReads(t *testing.T) {
	for want, value := range map[string]any{
		`{"a":1,"b":"<é>"}`: map[string]any{"b": "<é>", "a": 1}, `0`: math.Copysign(0, -1), `1.5`: 1.5, `"2026-01-02T03:04:05.5+01:00"`: time.Date(2026, 1, 2, 3, 4, 5, 5e8, time.FixedZone("", 3600)), `"1h"`: time.Hour, `123456789012345678901`: json.Number("123456789012345678901"), `[]`: []any{}, `null`: nil,
	} {
		got, err := Encode(value)
		if err != nil || string(got) != want {
			t.Errorf("Encode(%v) = %s, %v, want %s", value, got, err, want)
		}
	}
	for _, value := range []any{math.NaN(), math.Inf(1), int64(1), struct{}{}, json.Number("x"), []any{float32(1)}} {
		if got, err := Encode(value); err == nil {
			t.Errorf("Encode(%v) = %s", value, got)
		}
	}
}

func TestTimesHaveNoZoneOfTheHost(t *testing.T) {
	for text, name := range map[string]string{"2026-07-01T00:00:00+02:00": "", "2026-07-01T00:00:00Z": "UTC", "2026-07-01T00:00:00+00:00": "UTC"} {
		got, err := ParseTime(text)
		if err != nil {
			t.Fatal(err)
		}
		if zone, _ := got.Zone(); zone != name || got.Location() == time.Local {
			t.Errorf("%s is in zone %q", text, zone)
		}
	}
	for _, text := range []string{"2026-01-02", "2026-1-2T00:00:00Z", "2026-01-02 00:00:00Z", "2026-01-02T24:00:00Z", "2026-02-30T00:00:00Z"} {
		if got, err := ParseTime(text); err == nil {
			t.Errorf("ParseTime(%q) = %v", text, got)
		}
	}
}

// FuzzDecode: what Decode makes can be written, and what is written reads back
// as the same and is written as the same bytes.
func FuzzDecode(f *testing.F) {
	for _, seed := range []string{`{"a":[1,2.5,-0,-0.0,1e5,"x",null,true]}`, `123456789012345678901`, `1e999`, `"\ud800"`, `{"id":1,"at":"2026-01-02T03:04:05+02:00","wait":"PT0.000001S"}`, `{"$secret":"x"}`} {
		f.Add(seed)
	}
	types := []*Type{Of(Any), MustFromJSON(wholeSchema)}
	f.Fuzz(func(t *testing.T, data string) {
		for _, typ := range types {
			first, err := typ.Decode([]byte(data))
			if err != nil {
				continue
			}
			written, err := Encode(first)
			if err != nil {
				t.Fatalf("Encode(%v): %v", first, err)
			}
			second, err := typ.Decode(written)
			if err != nil {
				t.Fatalf("Decode(%s): %v", written, err)
			}
			again, err := Encode(second)
			if err != nil || string(again) != string(written) {
				t.Fatalf("%s, then %s (%v)", written, again, err)
			}
		}
	})
}

// TestValuesThatAreAcceptedFit: the static and the dynamic rule agree on values
// of known types.
func TestValuesThatAreAcceptedFit(t *testing.T) {
	kinds := []Kind{Null, Bool, Int, Number, String, Time, Duration, List, Object}
	samples := map[Kind]any{Null: nil, Bool: true, Int: 1, Number: 1.5, String: "x", Time: time.Unix(0, 0).UTC(), Duration: time.Hour, List: []any{}, Object: map[string]any{}}
	for _, from := range kinds {
		for _, into := range kinds {
			source, target := Of(from), Of(into)
			if from == Object {
				source = MapOf(nil)
			}
			if into == Object {
				target = MapOf(nil)
			}
			fits := source.Fits(target) == nil
			_, err := target.Accept(samples[from])
			laterChecked := from == String && (into == Time || into == Duration)
			if fits != (err == nil) && !laterChecked {
				t.Errorf("%s into %s: Fits %v, Accept %v", source, target, fits, err)
			}
		}
	}
	if !strings.Contains(TypeOf(nil), "null") {
		t.Error("TypeOf(nil)")
	}
}
