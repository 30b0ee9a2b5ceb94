package eval_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

// rowTypes are those of elements: closed, open, of any member, unknown, of several kinds.
var rowTypes = []string{
	`{"type":"object","additionalProperties":false,"properties":{"a":{"type":["integer","null"]},"b":{"type":["string","null"]},"c":{"type":["number","null"]},"d":{},"t":{"type":"string","format":"date-time"}}}`,
	`{"type":["object","null"],"properties":{"a":{"type":["integer","null"]},"b":{},"t":{"type":"string","format":"date-time"}}}`,
	`{"type":"object","additionalProperties":{}}`,
	`{}`,
	`{"anyOf":[{"type":"object","properties":{"a":{},"b":{},"c":{},"d":{}},"additionalProperties":{}},{"type":"integer"},{"type":"null"}]}`,
}

// rowText draws the text of an element: members come in any order, twice, with escapes in
// their names, and have values that are exact, null, damaged text or objects.
func rowText(t *rapid.T) string {
	if rapid.IntRange(0, 19).Draw(t, "no row") == 0 {
		return rapid.SampledFrom([]string{"null", "7", `"text"`, "[1]", "{}", ` { } `}).Draw(t, "other")
	}
	values := map[string][]string{
		"a": {"1", "0", "-0", "9223372036854775807", "-9223372036854775808", "2.0", "1e2", "null", "123456789012345678901234567890"},
		"b": {`"x"`, `""`, `"a\"}]b"`, `"\u00e9\ud83d\ude00"`, `"\\"`, "\"\xff\xfe\"", `"zzé"`, "null", `"}"`},
		"c": {"0.1", "1e308", "9007199254740993", "-0.0", "3", "null"},
		"d": {`{"e":[1,{"a":"]"}],"b":2}`, `[ 1 , "," ]`, `{"e":{"\u0065":null}}`, "true", "false", "null", `{"$ref":1}`, `12345678901234567890123`},
		"t": {`"2026-03-02T09:30:00Z"`},
	}
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t"})
	var members []string
	for _, name := range rapid.SliceOfN(rapid.SampledFrom([]string{"a", "a", "b", "b", "c", "d", "t", "more"}), 0, 7).Draw(t, "names") {
		value := rapid.SampledFrom(append(values[name], values["d"][:len(values["d"])*min(1, len(name)/4)]...)).Draw(t, name)
		if name != "t" && rapid.IntRange(0, 9).Draw(t, "escaped") == 0 {
			name = fmt.Sprintf(`\u%04x`, name[0]) + name[1:]
		}
		members = append(members, space.Draw(t, "space")+`"`+name+`"`+space.Draw(t, "space")+":"+space.Draw(t, "space")+value)
	}
	return "{" + strings.Join(members, ",") + "}"
}

// bodyText draws the body of a predicate that reads members, or all of the element.
func bodyText(t *rapid.T) string {
	var value func(depth int) string
	value = func(depth int) string {
		pick := func(from ...string) string { return rapid.SampledFrom(from).Draw(t, "value") }
		if depth == 0 {
			return pick(".a", ".b", ".c", ".d", ".t", ".more", "#.a", "#?.b", `#["d"]`, "#?.d?.e", ".d?.e[0] ?? 0", "#index", "1", `"b"`, "limit", ".t.Year()", "#", "#.Year()")
		}
		one, other := value(depth-1), value(depth-1)
		return pick(one, other,
			"{{x: "+one+", y: "+other+"}}", "["+one+", "+other+"]", "("+one+" ?? "+other+")", "("+one+" == "+other+")", "("+one+" != null ? "+other+" : 0)",
			"(let x = "+one+"; [x, "+other+"])", "(let x = #; x."+pick("a", "d")+")", "map(["+one+"], # == "+other+")", "map([1], "+one+")", "toJSON("+one+")", "kindOf("+one+")",
			"len(rows[:2])", "#[lower("+one+")]", "get(#, "+other+")", "keys(#)", "(# in rows)", "sum([1, 2])", "any(rows, "+one+" == "+other+")", "("+one+" in ["+other+"])", "string("+one+")",
			"map(rows, ."+pick("b", "c")+")",
		)
	}
	return value(rapid.IntRange(0, 3).Draw(t, "depth"))
}

// TestMembersOfRowsAreReadAsTheWholeRowIs: a predicate over a list that is kept as text
// decodes what its body reads of each element, and gives what it gives over the same
// elements, decoded as a whole.
func TestMembersOfRowsAreReadAsTheWholeRowIs(t *testing.T) {
	var types []*schema.Type
	for _, text := range rowTypes {
		one, err := schema.FromJSON([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, one)
	}
	at, gave, failed := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC), 0, 0
	rapid.Check(t, func(t *rapid.T) {
		element := rapid.SampledFrom(types).Draw(t, "type")
		var texts []string
		for range rapid.IntRange(1, 5).Draw(t, "rows") {
			text := rowText(t)
			if schema.ListOf(element).CheckAnswer([]byte("["+text+"]")) == nil {
				texts = append(texts, text)
			}
		}
		kept, err := schema.NewEncoded(schema.EncodedPart{Text: []byte("[" + strings.Join(texts, " , ") + "]"), Element: element})
		if err != nil {
			t.Fatal(err)
		}
		whole, err := kept.Values()
		if err != nil {
			t.Fatal(err)
		}
		body := bodyText(t)
		for _, call := range []string{"map(rows, %s)", "filter(rows, (%s) == (.a ?? 1))", "sortBy(rows, toJSON(%s))", "groupBy(rows, toJSON(%s))", "find(rows, toJSON(%s) != \"1\")", "count(rows, %s)", "sum(rows, %s)", "findIndex(rows, .a == %s)", "reduce(rows, [#acc, %s])"} {
			source := fmt.Sprintf(call, body)
			program, err := eval.Compile(source)
			if err != nil {
				continue
			}
			want, wantErr := program.Run(map[string]any{"rows": whole, "limit": 1}, at)
			got, gotErr := program.Run(map[string]any{"rows": kept, "limit": 1}, at)
			switch {
			case fmt.Sprint(wantErr) != fmt.Sprint(gotErr):
				t.Fatalf("%s over %s fails with\n%v\nover text with\n%v", source, texts, wantErr, gotErr)
			case wantErr != nil:
				failed++
				continue
			}
			gave++
			if diff := cmp.Diff(decoded(t, want), decoded(t, got)); diff != "" {
				t.Fatalf("%s over %s differs (-whole +members):\n%s", source, texts, diff)
			}
		}
	})
	if t.Logf("%d programs give a value, %d fail", gave, failed); gave < failed/4 || gave < 100 {
		t.Errorf("%d programs give a value, %d fail: the test looks at too little", gave, failed)
	}
}

// decoded is a value with its lists decoded.
func decoded(t *rapid.T, v any) any {
	switch v := v.(type) {
	case *schema.Encoded:
		values, err := v.Values()
		if err != nil {
			t.Fatal(err)
		}
		return decoded(t, values)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = decoded(t, v[i])
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name := range v {
			all[name] = decoded(t, v[name])
		}
		return all
	}
	return v
}
