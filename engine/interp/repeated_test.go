package interp

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

func decodedItems(t testing.TB, text string) []any {
	t.Helper()
	value, err := anyType.Decode(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return value.([]any)
}

// What tells items apart is what the plugin declares.
func TestRepeatedItems(t *testing.T) {
	for name, c := range map[string]struct {
		by, first, second string
		message           string // "" = nothing is repeated
	}{
		"a field, the rest differs":        {"id", `[{"id":"a","n":1}]`, `[{"id":"b"},{"id":"a","n":2}]`, "page 2 has an item with `id` \"a\" again that page 1 gave (item 1 there, item 2 here)"},
		"a field that is a number":         {"id", `[{"id":9007199254740993}]`, `[{"id":9007199254740993}]`, "with `id` 9007199254740993 again"},
		"a number and its text are two":    {"id", `[{"id":1}]`, `[{"id":"1"}]`, ""},
		"without the field, as a whole":    {"id", `[{"x":1},{"id":null,"x":2}]`, `[{"id":null,"x":2}]`, "has an item again"},
		"a field that holds a list":        {"id", `[{"id":[1],"x":1}]`, `[{"id":[1],"x":2}]`, ""},
		"an id is no whole item":           {"id", `["a"]`, `[{"id":"a"}]`, ""},
		"texts where a field is declared":  {"id", `["a","b"]`, `["b"]`, "has an item again"},
		"whole items of any type":          {"*", `["a","b"]`, `["c","a"]`, "(item 1 there, item 2 here)"},
		"whole objects, members turned":    {"*", `[{"a":1,"b":{"c":1,"d":2}}]`, `[{"b":{"d":2,"c":1},"a":1}]`, "has an item again"},
		"another order of a list":          {"*", `[[1,2]]`, `[[2,1]]`, ""},
		"objects without a declaration":    {"", `[{"a":1}]`, `[{"a":1}]`, "has an item again"},
		"texts without a declaration":      {"", `["a"]`, `["a"]`, ""},
		"items that may repeat":            {"-", `[{"id":1}]`, `[{"id":1}]`, ""},
		"twice on one page":                {"id", `[{"id":1},{"id":1}]`, `[{"id":2}]`, ""},
		"an id is shown with an end to it": {"id", `[{"id":"` + strings.Repeat("x", 500) + `"}]`, `[{"id":"` + strings.Repeat("x", 500) + `"}]`, strings.Repeat("x", 79) + "… again"},
	} {
		t.Run(name, func(t *testing.T) {
			known := pageItems{}
			if failure := known.add(decodedItems(t, c.first), c.by, 1, 1); failure != nil {
				t.Fatal(failure)
			}
			failure := known.add(decodedItems(t, c.second), c.by, 1, 2)
			switch {
			case c.message == "" && failure != nil:
				t.Errorf("%v", failure)
			case c.message != "" && (failure == nil || !strings.Contains(failure.Message, c.message)):
				t.Errorf("got %v, want %s", failure, c.message)
			case failure != nil && (failure.Kind != plan.KindUnexpectedResponse || failure.Reason != "repeated_item" || failure.Hint.Text == ""):
				t.Errorf("kind %s, reason %s, hint %q", failure.Kind, failure.Reason, failure.Hint.Text)
			}
		})
	}
}

// Against a plain search: an item is found exactly when an earlier page of the
// reading has it, whatever was dropped and read again in between, and no more
// digests are kept than items.
func FuzzRepeatedItems(f *testing.F) {
	f.Add([]byte("abcabd"), byte(3))
	f.Add([]byte("aabbccaa"), byte(2))
	f.Add([]byte("abcdefghijklmnopqrstuvwxyz0123456789a"), byte(5))
	f.Fuzz(func(t *testing.T, items []byte, size byte) {
		known, kept := pageItems{}, map[string]bool{}
		perPage := int(size%8) + 1
		for page := 1; len(items) > 0; page++ {
			part := items[:min(perPage, len(items))]
			items = items[len(part):]
			var values []any
			again := false
			for i, b := range part {
				value := map[string]any{"b": int(b), "c": map[string]any{"x": "y"}}
				if i%2 == 1 { // the same item, built the other way round
					value = map[string]any{"c": map[string]any{"x": "y"}}
					value["b"] = int(b)
				}
				values = append(values, value)
				again = again || kept[fmt.Sprint(b)]
			}
			failure := known.add(values, plan.IdentityWhole, 1, page)
			if (failure != nil) != again {
				t.Fatalf("page %d %q: %v, an earlier page has one of them: %t", page, part, failure, again)
			}
			if failure != nil {
				continue
			}
			if page%3 == 0 { // the page failed otherwise and is not counted
				known.drop(1, page)
				continue
			}
			for _, b := range part {
				kept[fmt.Sprint(b)] = true
			}
		}
		if len(known) != len(kept) {
			t.Fatalf("%d digests of %d items", len(known), len(kept))
		}
	})
}

func BenchmarkRepeatedItems(b *testing.B) {
	var page []any
	for i := range 100 {
		page = append(page, map[string]any{"id": i, "content": strings.Repeat("x", 200), "labels": []any{"a", "b"}})
	}
	for b.Loop() {
		known := pageItems{}
		for n := range 10 {
			for _, item := range page {
				item.(map[string]any)["page"] = n
			}
			if failure := known.add(page, plan.IdentityWhole, 1, n+1); failure != nil {
				b.Fatal(failure)
			}
		}
	}
}
