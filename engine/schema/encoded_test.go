package schema_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/schema"
)

// rowType is what the elements of the tests are read by: a time and a duration show
// that it is used, and a name that it excludes is left out.
func rowType(t *testing.T) *schema.Type {
	t.Helper()
	row, err := schema.FromJSON([]byte(`{"type":"object","additionalProperties":false,"properties":{"n":{"type":"integer"},"at":{"type":"string","format":"date-time"},"text":{"type":"string"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// randomList writes a JSON list as services do: with white space, brackets and
// commas in texts, elements of any size.
func randomList(rng *rand.Rand, count int) string {
	space := func() string { return []string{"", "", " ", "\n\t"}[rng.IntN(4)] }
	var b strings.Builder
	b.WriteString(space() + "[" + space())
	for i := range count {
		if i > 0 {
			b.WriteString("," + space())
		}
		text := strings.Repeat([]string{"a", `\"`, "],[", "é", `\\`}[rng.IntN(5)], rng.IntN(40))
		if rng.IntN(500) == 0 {
			text = strings.Repeat("long", 30_000)
		}
		fmt.Fprintf(&b, `{"n":%d,%s"at":"2026-03-02T09:30:00Z", "text":"%s","other":[1,2]}%s`, rng.IntN(1000), space(), text, space())
	}
	b.WriteString("]" + space())
	return b.String()
}

// TestIssue16AnEncodedListIsTheDecodedOne reads lists of many parts in any order, cuts
// and picks, and compares with the same done to the decoded list.
func TestIssue16AnEncodedListIsTheDecodedOne(t *testing.T) {
	row := rowType(t)
	for seed := range uint64(60) {
		rng := rand.New(rand.NewPCG(seed, 16))
		var parts []schema.EncodedPart
		plain := []any{}
		for range rng.IntN(5) {
			text := randomList(rng, rng.IntN(300))
			parts = append(parts, schema.EncodedPart{Text: []byte(text), Element: row})
			values, err := schema.ListOf(row).DecodeAnswer([]byte(text))
			if err != nil {
				t.Fatal(err)
			}
			plain = append(plain, values.([]any)...)
		}
		list, err := schema.NewEncoded(parts...)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			compareLists(t, rng, list, plain)
			from := rng.IntN(len(plain) + 1)
			to := from + rng.IntN(len(plain)-from+1)
			list, plain = list.Slice(from, to), plain[from:to]
			if rng.IntN(2) == 0 {
				places, picked := []int32{}, []any{}
				for range rng.IntN(len(plain) + 1) {
					place := rng.IntN(len(plain))
					places, picked = append(places, int32(place)), append(picked, plain[place])
				}
				list, plain = list.Pick(places), picked
			}
		}
	}
}

func compareLists(t *testing.T, rng *rand.Rand, list *schema.Encoded, plain []any) {
	t.Helper()
	if list.Len() != len(plain) || schema.KindOf(list) != schema.List {
		t.Fatalf("%d elements of kind %v, want %d of a list", list.Len(), schema.KindOf(list), len(plain))
	}
	values, err := list.Values()
	if diff := cmp.Diff(plain, values); diff != "" || err != nil {
		t.Fatalf("the elements differ: %v\n%s", err, diff)
	}
	read := list.Reader()
	for range min(50, len(plain)) {
		i := rng.IntN(len(plain))
		if v, err := read.At(i); err != nil || !cmp.Equal(v, plain[i]) {
			t.Fatalf("element %d is %v, %v, want %v", i, v, err, plain[i])
		}
	}
	text, err := schema.Encode(list)
	want, wantErr := schema.Encode(plain)
	if err != nil || wantErr != nil || string(text) != string(want) {
		t.Fatalf("as JSON it is %.200s, %v, want %.200s", text, err, want)
	}
	accepted, err := schema.Of(schema.List).Accept(list)
	if err != nil || !cmp.Equal(accepted, any(plain)) {
		t.Fatalf("a place that takes a list takes %.100v, %v", accepted, err)
	}
}

// TestIssue16AnEncodedListThatBreaksItsTypeSaysSo: it is no panic where the text was
// not checked.
func TestIssue16AnEncodedListThatBreaksItsTypeSaysSo(t *testing.T) {
	list, err := schema.NewEncoded(schema.EncodedPart{Text: []byte(`[{"n":1},{"n":"one"}]`), Element: rowType(t)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := list.Values(); err == nil {
		t.Error("an element that breaks its type is taken")
	}
	if _, err := schema.Encode(list); err == nil {
		t.Error("it is written")
	}
}
