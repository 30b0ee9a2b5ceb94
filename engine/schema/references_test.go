package schema

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// withoutMemory reads a schema as FromJSON does, each reference anew.
func withoutMemory(text string) (*Type, *reader, error) {
	root, err := parseOrdered([]byte(text))
	if err != nil {
		return nil, nil, err
	}
	r := newReader(root)
	r.known = nil
	t, err := r.read(root)
	return t, r, err
}

// linked makes a schema of definitions that refer to each other at random, to
// themselves too.
func linked(random *rand.Rand) string {
	count := 1 + random.IntN(6)
	ref := func() string { return fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, random.IntN(count)) }
	part := func() string {
		switch random.IntN(6) {
		case 0:
			return `{"type":"string","writeOnly":true}`
		case 1:
			return `{"type":"array","items":` + ref() + `}`
		case 2:
			return `{"anyOf":[` + ref() + `,{"type":"null"}]}`
		case 3:
			return `{"type":"integer","minimum":1}`
		}
		return ref()
	}
	object := func() string {
		var fields []string
		for i := range random.IntN(4) {
			fields = append(fields, fmt.Sprintf(`"f%d":%s`, i, part()))
		}
		return `{"type":"object","properties":{` + strings.Join(fields, ",") + `}}`
	}
	defs := make([]string, count)
	for i := range defs {
		defs[i] = fmt.Sprintf(`"d%d":%s`, i, object())
	}
	return `{"$defs":{` + strings.Join(defs, ",") + `},"type":"object","properties":{"a":` + ref() + `,"b":` + part() + `,"c":` + object() + `}}`
}

func TestIssue15_3_RememberedReferencesChangeNoType(t *testing.T) {
	random, saved := rand.New(rand.NewPCG(15, 3)), 0
	for i := range 3000 {
		text := linked(random)
		plain, all, plainErr := withoutMemory(text)
		got, err := FromJSON([]byte(text))
		if (err == nil) != (plainErr == nil) {
			t.Fatalf("schema %d: %v, without memory %v\n%s", i, err, plainErr, text)
		}
		if err != nil {
			continue
		}
		if !got.Equal(plain) {
			t.Fatalf("schema %d is another type:\n%s", i, text)
		}
		root, _ := parseOrdered([]byte(text))
		r := newReader(root)
		if _, err := r.read(root); err != nil || r.made != all.made {
			t.Fatalf("schema %d counts %d types, without memory %d: %v\n%s", i, r.made, all.made, err, text)
		}
		saved += len(r.known)
	}
	if saved < 3000 {
		t.Errorf("only %d references were remembered: nothing was tried", saved)
	}
}

// chain is a schema of many fields that lead to one definition of many.
func chain(fields int) string {
	var properties, own []string
	for i := range fields {
		properties = append(properties, fmt.Sprintf(`"f%d":{"$ref":"#/$defs/owner"}`, i))
		own = append(own, fmt.Sprintf(`"o%d":{"type":"string"}`, i%40))
	}
	return `{"type":"object","properties":{` + strings.Join(properties, ",") + `},"$defs":{"owner":{"type":"object","properties":{` + strings.Join(own, ",") + `}}}}`
}

func TestIssue15_3_ADefinitionIsParsedOnce(t *testing.T) {
	root, err := parseOrdered([]byte(chain(200)))
	if err != nil {
		t.Fatal(err)
	}
	r := newReader(root)
	read, err := r.read(root)
	if err != nil || len(r.objects) != 3 || len(r.known) != 1 { // the whole, $defs, owner
		t.Fatalf("%d objects, %d references: %v", len(r.objects), len(r.known), err)
	}
	first, _ := read.Field("f0")
	last, _ := read.Field("f199")
	if &first.Fields[0] != &last.Fields[0] {
		t.Error("the definition was read twice")
	}
}

// What a schema may make is bounded by its types, however few of them were read.
func TestIssue15_3_DoublingReferencesStayBounded(t *testing.T) {
	defs := []string{`"d0":{"type":"string"}`}
	for i := 1; i < 25; i++ {
		two := fmt.Sprintf(`{"$ref":"#/$defs/d%d"}`, i-1)
		defs = append(defs, fmt.Sprintf(`"d%d":{"type":"object","properties":{"a":%s,"b":%s}}`, i, two, two))
	}
	text := `{"$defs":{` + strings.Join(defs, ",") + `},"$ref":"#/$defs/d24"}`
	if !json.Valid([]byte(text)) {
		t.Fatal("no JSON")
	}
	if _, err := FromJSON([]byte(text)); err == nil || !strings.Contains(err.Error(), "too large: more than 20000 types") {
		t.Errorf("error = %v", err)
	}
}

func BenchmarkReferences(b *testing.B) {
	text := []byte(chain(300))
	for b.Loop() {
		if _, err := FromJSON(text); err != nil {
			b.Fatal(err)
		}
	}
}

// A reference is a fragment of a URI: escaped signs are what they stand for, and elements
// of lists go by their numbers.
func TestReferencesAsFragments(t *testing.T) {
	for text, want := range map[string]Kind{
		`{"properties":{"a":{"$ref":"#/$defs/x%20y"}},"$defs":{"x y":{"type":"integer"}}}`:         Int,
		`{"properties":{"a":{"$ref":"#/$defs/x~1%25"}},"$defs":{"x/%":{"type":"boolean"}}}`:        Bool,
		`{"properties":{"a":{"$ref":"#/$defs/x/1"}},"$defs":{"x":[true,{"type":"string"}]}}`:       String,
		`{"properties":{"a":{"$ref":"#/anyOf/0/items"}},"anyOf":[{"items":{"type":"number"}}]}`:    Number,
		`{"properties":{"a":{"$ref":"#/$defs/x/1/$defs/y"}},"$defs":{"x":[1,{"$defs":{"y":{}}}]}}`: Any,
	} {
		read, err := FromJSON([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if field, there := read.Field("a"); !there || field.Kind != want {
			t.Errorf("%s: %v, want %v", text, field, want)
		}
	}
	for _, text := range []string{
		`{"properties":{"a":{"$ref":"#/$defs/x%2"}},"$defs":{"x%2":{}}}`, `{"properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":[{}]}}`,
		`{"properties":{"a":{"$ref":"#/$defs/x/2"}},"$defs":{"x":[{}]}}`, `{"properties":{"a":{"$ref":"#/$defs/x/01"}},"$defs":{"x":[{},{}]}}`,
	} {
		if read, err := FromJSON([]byte(text)); err == nil {
			t.Errorf("%s is read as %v", text, read)
		}
	}
}
