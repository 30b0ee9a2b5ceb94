package eval

import (
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
)

// csvOf writes rows that are kept as text.
func csvOf(t *testing.T, rows []any) (string, error) {
	t.Helper()
	text, err := schema.Encode(append([]any{}, rows...))
	if err != nil {
		t.Fatal(err)
	}
	list, err := schema.NewEncoded(schema.EncodedPart{Text: text})
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	err = CSV(&b, list, nil)
	return b.String(), err
}

func TestCSVTakesObjectsAndLists(t *testing.T) {
	tests := map[string]struct {
		rows []any
		want string
	}{
		"no rows":                    {nil, ""},
		"objects have a header":      {[]any{map[string]any{"b": 1, "a": "x,y"}, map[string]any{"c": true, "a": nil}}, "a,b,c\r\n\"x,y\",1,\r\n,,true\r\n"},
		"lists stand as they are":    {[]any{[]any{"host", "visits"}, []any{"a.org", 9007199254740993}}, "host,visits\r\na.org,9007199254740993\r\n"},
		"an empty list is a row too": {[]any{[]any{}, []any{1}}, "\" \"\r\n1\r\n"},
		"a formula is defused":       {[]any{[]any{"=1+1", "-5"}}, "'=1+1,-5\r\n"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := csvOf(t, test.rows); err != nil || got != test.want {
				t.Errorf("%q (%v), want %q", got, err, test.want)
			}
		})
	}
	for name, rows := range map[string][]any{"numbers": {1, 2}, "both": {map[string]any{}, []any{}}} {
		if got, err := csvOf(t, rows); err == nil || !strings.Contains(err.Error(), "table needs rows") {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestCSVHasNoLimitOfExpressions(t *testing.T) {
	rows := make([]any, 200_000)
	for i := range rows {
		rows[i] = map[string]any{"n": i, "text": "some text of a row that is long enough"}
	}
	if got, err := csvOf(t, rows); err != nil || strings.Count(got, "\n") != len(rows)+1 {
		t.Errorf("%d bytes, %v", len(got), err)
	}
}
