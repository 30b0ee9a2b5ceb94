package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// slowParse reads a value by encoding/json alone, with whole numbers as int where that
// is exact.
func slowParse(data []byte) (any, bool) {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	if decoder.Decode(&v) != nil {
		return nil, false
	}
	if _, more := decoder.Token(); !errors.Is(more, io.EOF) {
		return nil, false
	}
	return withInts(v), true
}

func withInts(v any) any {
	switch v := v.(type) {
	case json.Number:
		if n, ok := exactNumber(v).(int); ok && v != "-0" {
			return n
		}
	case []any:
		for i := range v {
			v[i] = withInts(v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = withInts(v[name])
		}
	}
	return v
}

// FuzzParse: what is read by hand is what encoding/json reads, and nothing else is.
func FuzzParse(f *testing.F) {
	long := `{"a":[` + strings.Repeat(`{"name":"x","n":1.5},`, 100) + `{}],"e":"\n\u00e4","u":"ä"}`
	for _, text := range []string{
		`{"a":[1,-0,0.5,-1e+7,1E-2,9223372036854775807,9223372036854775808,12345678901234567890],"b":{"c":null,"d":true,"e":false}}`,
		`{"a":1,"a":{"b":2},"":[]}`, ` [ 1 , 2 ] `, "\t{\r\n}", `"a\"b\\\u00e9\ud83d\ude00\ud800"`, "\"\xff\u2028<\"", "\"\x01\"", `01`, `1.`, `.5`, `1e`, `-`, `+1`, `[1,]`, `{"a":1,}`, `{"a"}`, `{a:1}`, `nul`, `nulls`, `tru`, `[`, `"`, `"\`, ``, ` `, `1 2`, `[] ,`, long,
		strings.Repeat("[", 1100) + strings.Repeat("]", 1100),
	} {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, fast := fastParse(data)
		want, slow := slowParse(data)
		if !fast {
			return
		}
		if !slow {
			t.Fatalf("%q is read as %v, and is no JSON", data, got)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", data, diff)
		}
	})
}

// What documents are made of is read by hand, in few allocations.
func TestWhichDocumentsAreReadByHand(t *testing.T) {
	for text, want := range map[string]bool{
		`{"n":1,"text":"a b","list":[1.5,null,true,{}]}`: true, `"a\nb"`: true, `"ä"`: true, "\"\xff\"": true, `[1`: false, `{"a":01}`: false,
	} {
		if _, got := fastParse([]byte(text)); got != want {
			t.Errorf("%s is read: %v, want %v", text, got, want)
		}
	}
	typ := MustFromJSON(`{"type":"object","properties":{"n":{"type":"integer"},"text":{"type":"string"}},"required":["n"]}`)
	document := []byte(`{"n":7,"text":"a text of some length"}`)
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := typ.DecodeAnswer(document); err != nil {
			t.Fatal(err)
		}
	}); allocs > 6 {
		t.Errorf("an answer is decoded in %v allocations, at most 6 are due", allocs)
	}
	value := map[string]any{"n": 7, "text": "a text of some length", "list": []any{1, 2}}
	if allocs := testing.AllocsPerRun(100, func() {
		if _, err := Encode(value); err != nil {
			t.Fatal(err)
		}
	}); allocs > 3 {
		t.Errorf("a value is encoded in %v allocations, at most 3 are due", allocs)
	}
}
