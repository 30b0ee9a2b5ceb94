package schema

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
)

// typesToRead are read in one pass, in part or not at all.
func typesToRead(t testing.TB) []*Type {
	t.Helper()
	var types []*Type
	for _, text := range []string{
		`{}`, `{"type":"integer"}`, `{"type":["number","null"],"minimum":0}`, `{"type":"array","items":{"type":"number"},"maxItems":3}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":["string","null"],"maxLength":3},"c":{"type":"array","items":{"type":"object","properties":{"d":{"type":"number"}},"required":["d"]}},"e\"":{}},"required":["a"]}`,
		`{"type":"object","properties":{"a":{"type":"integer"},"at":{"type":"string","format":"date-time"},"x":{"enum":["u","v"]},"s":{"type":"string","writeOnly":true}},"additionalProperties":false}`,
		`{"type":"object","additionalProperties":{"anyOf":[{"type":"boolean"},{"type":"array","items":{"type":"integer"}}]}}`,
		`{"type":"array","items":{"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"string"}},"required":["a","b"],"additionalProperties":{}}}`,
		`{"type":"array"}`,
	} {
		one, err := FromJSON([]byte(text))
		if err != nil {
			t.Fatal(text, err)
		}
		types = append(types, one)
	}
	return types
}

// FuzzTyped: what is read in one pass is what is made of the value in two, and a part of it
// has the members that are read.
func FuzzTyped(f *testing.F) {
	for _, text := range []string{
		`[{"a":1,"b":"x"},{"b":"y\"","a":2,"c":[1]},{"a":3,"b":"","a":4}]`, `{"a":1.0,"b":null,"c":[{"d":1},{"d":-0},{"d":1e400}],"z":{"$secret":"s"}}`,
		`{"$secret":"a"}`, `{"a":9223372036854775808}`, `{"a":1,"at":"2026-01-02T03:04:05Z","x":"u","more":[1,{"y":2}]}`, `{"a":1,"s":{"$secret":"n"}}`,
		`{"p":true,"q":[1,2.0]}`, `[1,2.5,-0]`, `[1,2,3,4]`, ` [ 1 , null ] `, `null`, `{"e\"":1,"a":2}`, `{"a":1,}`, `{"a":1}x`, `[{"a":1,"b":"x","$secret":1}]`,
		strings.Repeat(`[`, 1001) + strings.Repeat(`]`, 1001), `{"a":"1"}`, `{"a":-0}`, `[{"a":1,"a":2}]`, `[{"a":1,"a":2,"b":"x"}]`, `[{"b":"","a":"\\`, `[{"b":1,"x":[`, `[{"x":"`, `[{"x":}]`, `{"a":01}`, `{"b":"abcd","a":1}`, `[{"a":{"b":"}\\"},"b":"1"} , {}, 7 ]`,
	} {
		f.Add([]byte(text))
	}
	types := typesToRead(f)
	f.Fuzz(func(t *testing.T, data []byte) {
		for i, one := range types {
			for _, c := range []coercion{{own: true, json: true}, {own: true, json: true, trim: true}, {own: true, json: true, exact: true}} {
				fast := c
				part, isRead := fast.typedParts(one, data, []string{"b", "q"}) // of anything, without a panic
				got, ok := fast.typed(one, data)
				if !ok {
					continue
				}
				parsed, err := parseJSON(data)
				if err != nil {
					t.Fatalf("type %d: %q is read, and no JSON", i, data)
				}
				slow := c
				want, _, err := slow.value(one, parsed)
				if err != nil || !reflect.DeepEqual(got, want) {
					t.Fatalf("type %d: %q is read as %#v, want %#v, %v", i, data, got, want, err)
				}
				if isRead && one.Kind == List {
					comparePart(t, part.([]any), want.([]any))
				}
			}
		}
	})
}

func comparePart(t *testing.T, part, whole []any) {
	t.Helper()
	if len(part) != len(whole) {
		t.Fatalf("%d of %d are read", len(part), len(whole))
	}
	for i := range whole {
		object, isObject := whole[i].(map[string]any)
		if !isObject {
			if !reflect.DeepEqual(part[i], whole[i]) {
				t.Fatalf("%#v is read as %#v", whole[i], part[i])
			}
			continue
		}
		for _, name := range []string{"b", "q"} {
			if !reflect.DeepEqual(part[i].(map[string]any)[name], object[name]) {
				t.Fatalf("of %#v is read %#v", object, part[i])
			}
		}
	}
}

// TestRowsAreReadInFewAllocations counts: a row of eight members takes a map of two parts,
// and one or two for each of them; of a part of it no more than what is read.
func TestRowsAreReadInFewAllocations(t *testing.T) {
	row, err := FromJSON([]byte(`{"type":"object","additionalProperties":false,"required":["id","name","email","city","country","amount","paid","note"],"properties":{"id":{"type":"integer"},"name":{"type":"string"},"email":{"type":"string"},"city":{"type":"string"},"country":{"type":"string"},"amount":{"type":"number"},"paid":{"type":"boolean"},"note":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	const rows = 640
	var text strings.Builder
	for i := range rows {
		fmt.Fprintf(&text, `,{"id":%d,"name":"n%d","email":"e%d","city":"c","country":"AT","amount":%d.5,"paid":true,"note":"%s"}`, 1000+i, i, i, i, strings.Repeat("note ", 32))
	}
	data := []byte("[" + text.String()[1:] + "]")
	list, err := NewEncoded(EncodedPart{Text: data, Element: row})
	if err != nil {
		t.Fatal(err)
	}
	read := func(reader *EncodedReader) {
		for i := range rows {
			if _, err := reader.At(i); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, one := range []struct {
		what string
		most float64
		do   func()
	}{
		{"an answer", 15, func() { _, err = ListOf(row).DecodeAnswer(data) }},
		{"a list", 15, func() { read(list.Reader()) }},
		{"two members", 6, func() { read(list.PartReader([]string{"id", "email"})) }},
	} {
		took := testing.AllocsPerRun(5, one.do) / rows
		if err != nil || took > one.most {
			t.Errorf("%s takes %.2f allocations a row, at most %v are allowed, %v", one.what, took, one.most, err)
		}
		t.Logf("%s: %.2f allocations a row", one.what, took)
	}
}
