package eval

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
)

func kindScope() *Scope {
	shape := `{"oneOf":[
		{"type":"object","required":["kind","radius"],"properties":{"kind":{"const":"circle"},"radius":{"type":"number"}}},
		{"type":"object","required":["kind","side"],"properties":{"kind":{"const":"square"},"side":{"type":"integer"}}},
		{"type":"object","required":["kind","words"],"properties":{"kind":{"enum":["text","note"]},"words":{"type":"array","items":{"type":"string"}}}}]}`
	return NewScope().
		With("shape", schema.MustFromJSON(shape)).
		With("shapes", schema.MustFromJSON(`{"type":"array","items":`+shape+`}`)).
		With("deep", schema.MustFromJSON(`{"type":"object","properties":{"shape":`+shape+`}}`)).
		With("mixed", schema.MustFromJSON(`{"type":["string","integer","array","null"],"items":{"type":"boolean"}}`)).
		With("size", schema.MustFromJSON(`{"type":["string","number"]}`)).
		With("raw", schema.Of(schema.Any))
}

// Issue 16, 1: what a condition on a kind or on a tag proves, and what it does not.
func TestIssue16_1_KindsAndTagsNarrow(t *testing.T) {
	for source, want := range map[string]string{
		`shape.kind == "circle" ? shape.radius : 0`:                                                      "number",
		`shape.kind != "circle" ? 0 : shape.radius`:                                                      "number",
		`shape.kind in ["text", "note"] ? len(shape.words) : 0`:                                          "integer",
		`shape.kind == "square" and shape.side > 2`:                                                      "boolean",
		`not (shape.kind in ["circle", "square"]) ? shape.words : []`:                                    "list of text",
		`shape.kind == "circle" ? shape.radius : shape.side`:                                             "any value", // a text is left, which is open
		`shape.kind == "circle" ? shape.radius : shape.kind == "square" ? shape.side : len(shape.words)`: "number",
		`map(filter(shapes, .kind == "square"), .side)`:                                                  "list of integers",
		`map(filter(shapes, #.kind in ["note", "text"]), len(.words))`:                                   "list of integers",
		`(find(shapes, .kind == "square") ?? {side: 1}).side`:                                            "integer",
		`deep.shape?.kind == "circle" ? deep.shape.radius : 0`:                                           "number",
		`(deep.shape?.kind ?? "") == "circle" ? deep.shape.radius : 0`:                                   "number",
		`let k = shape.kind == "square"; k ? shape.side : 1`:                                             "integer",
		`kindOf(mixed) == "text" ? upper(mixed) : "-"`:                                                   "text",
		`type(mixed) == "string" ? upper(mixed) : "-"`:                                                   "text",
		`kindOf(mixed) == "list" ? len(mixed) : 0`:                                                       "integer",
		`kindOf(mixed) in ["integer", "null"] ? mixed ?? 1 : 0`:                                          "integer",
		`kindOf(mixed) != "text" and kindOf(mixed) != "list" ? (mixed ?? 0) + 1 : 0`:                     "integer",
		`kindOf(raw) == "text" ? upper(raw) : "-"`:                                                       "text",
		`kindOf(raw) == "object" ? keys(raw) : []`:                                                       "list of text",
		`kindOf(raw.x) == "list" ? len(raw.x) : 0`:                                                       "integer",
		`kindOf(size) in ["integer", "number"] ? size * 2 : 0`:                                           "number",
		`kindOf(mixed)`: "text",
	} {
		x, issues := Parse(source)
		if len(issues) > 0 {
			t.Errorf("%s: %s", source, describe(issues))
			continue
		}
		got, issues := x.Check(kindScope())
		if len(issues) > 0 || got.String() != want {
			t.Errorf("%s: %s, want %s; %s", source, got, want, describe(issues))
		}
	}
	for _, source := range []string{
		`shape.radius * 2`, `shape.kind == "circle" ? shape.side + 1 : 0`, `shape.kind != "circle" ? shape.side + 1 : 0`, `shape.kind == "oval" ? 1 : 0`,
		`shape.kind == "circle" or shape.radius > 1`, `upper(mixed)`, `kindOf(mixed) == "text" ? len(mixed) + mixed : 0`, `kindOf(mixed) == "integer" ? upper(mixed) : ""`,
		`kindOf(mixed) == "string" ? 1 : 0`, `kindOf(mixed) != "text" ? mixed + 1 : 0`,
		`kindOf(size) != "number" ? upper(size) : ""`, // a whole number is an integer
	} {
		x, issues := Parse(source)
		if len(issues) == 0 {
			_, issues = x.Check(kindScope())
		}
		if len(issues) == 0 {
			t.Errorf("%s is taken", source)
		}
	}
}

// What the check takes never fails on a value that the schema takes: random unions, values
// and conditions, held against what running them gives.
func TestIssue16_1_WhatIsNarrowedHolds(t *testing.T) {
	accepted, narrowed := 0, 0
	for seed := range uint64(1200) {
		d := rand.New(rand.NewPCG(seed, 16))
		of, err := schema.FromJSON([]byte(drawnUnion(d)))
		if err != nil {
			t.Fatal(err)
		}
		scope := NewScope().With("x", of)
		for range 20 {
			condition := drawnCondition(d)
			read := pick(d, "x.a", "x.b", "x.c", "x.a + 1", "len(x.b)", "x.b + \"s\"", "x.c[0]", "x.a * 2.5", "upper(x.a)", "x.c.p")
			source := fmt.Sprintf("%s ? [%s] : []", condition, read)
			if pick(d, true, false) {
				source = fmt.Sprintf("%s ? [] : [%s]", condition, read)
			}
			x, issues := Parse(source)
			if len(issues) > 0 {
				t.Fatalf("%s: %s", source, describe(issues))
			}
			result, issues := x.CheckStrict(scope)
			if len(issues) > 0 {
				continue
			}
			accepted++
			bare, _ := Parse(read)
			if _, issues := bare.CheckStrict(scope); len(issues) > 0 {
				narrowed++
			}
			for range 10 {
				value, err := of.DecodeAnswer([]byte(drawnValue(d)))
				if err != nil {
					continue
				}
				got, err := x.Compile().Run(map[string]any{"x": value}, time.Unix(0, 0))
				if err != nil && !strings.Contains(err.Error(), "there is no element") && !strings.Contains(err.Error(), "64 bits") && !strings.Contains(err.Error(), "index") {
					t.Fatalf("seed %d: %s of %v: %v\n%s", seed, source, value, err, of.JSONSchema())
				}
				if err == nil {
					if text, encodeErr := json.Marshal(got); encodeErr == nil && result.Check(text) != nil {
						t.Fatalf("seed %d: %s of %v gives %s, which is no %s", seed, source, value, text, result)
					}
				}
			}
		}
	}
	t.Logf("%d expressions are taken, %d of them by what a condition proves", accepted, narrowed)
	if narrowed < 300 {
		t.Errorf("%d expressions were taken by what a condition proves: that says little", narrowed)
	}
}

func pick[T any](d *rand.Rand, of ...T) T { return of[d.IntN(len(of))] }

func drawnUnion(d *rand.Rand) string {
	var choices []string
	for i := range 2 + d.IntN(3) {
		var fields []string
		for _, name := range []string{"a", "b", "c"} {
			if d.IntN(4) > 0 {
				fields = append(fields, fmt.Sprintf("%q:%s", name, drawnPart(d)))
			}
		}
		tag := pick(d, fmt.Sprintf(`{"const":"t%d"}`, i), fmt.Sprintf(`{"enum":["t%d","t%d"]}`, i, i+1), `{"type":"string"}`)
		required := pick(d, `"tag"`, `"tag","a"`, `"tag","a","b"`, `"tag","b","c"`)
		if d.IntN(5) == 0 { // a field like others where they may be texts
			required = `"a"`
		} else {
			fields = append(fields, `"tag":`+tag)
		}
		choices = append(choices, fmt.Sprintf(`{"type":"object","required":[%s],"properties":{%s}%s}`, required, strings.Join(fields, ","), pick(d, `,"additionalProperties":false`, `,"additionalProperties":{"type":"string"}`)))
	}
	if d.IntN(3) == 0 {
		choices = append(choices, pick(d, `{"type":"string"}`, `{"type":"array","items":{"type":"integer"}}`, `{"type":"null"}`))
	}
	return `{"anyOf":[` + strings.Join(choices, ",") + `]}`
}

func drawnPart(d *rand.Rand) string {
	return pick(d, `{"type":"integer"}`, `{"type":"number"}`, `{"type":"string"}`, `{"type":"string","format":"date-time"}`, `{"type":["string","integer"]}`, `{"type":"boolean"}`,
		`{"type":"array","items":{"type":"integer"}}`, `{"type":"object","required":["p"],"properties":{"p":{"type":"integer"}}}`, `{"type":"integer","nullable":true}`)
}

func drawnCondition(d *rand.Rand) string {
	tag := func() string { return fmt.Sprintf("%q", pick(d, "t0", "t1", "t2", "t3")) }
	one := func() string {
		switch d.IntN(8) {
		case 0:
			return "x.tag == " + tag()
		case 1:
			return "x.tag != " + tag()
		case 2:
			return fmt.Sprintf("x.tag in [%s, %s]", tag(), tag())
		case 3:
			return fmt.Sprintf(`kindOf(x) == %q`, pick(d, "object", "text", "list", "null"))
		case 4:
			return fmt.Sprintf(`kindOf(x.%s) == %q`, pick(d, "a", "b", "c"), pick(d, "object", "text", "list", "integer", "number", "null", "time"))
		case 6:
			return fmt.Sprintf(`kindOf(x.%s) != %q`, pick(d, "a", "b", "c"), pick(d, "text", "number", "integer", "null"))
		case 5:
			return fmt.Sprintf(`kindOf(x.%s) in [%q, %q]`, pick(d, "a", "b", "c"), pick(d, "text", "list"), pick(d, "integer", "time"))
		}
		return fmt.Sprintf("x.%s != nil", pick(d, "a", "b", "c"))
	}
	switch d.IntN(4) {
	case 0:
		return fmt.Sprintf("(%s and %s)", one(), one())
	case 1:
		return fmt.Sprintf(`(kindOf(x) == "object" and %s)`, one())
	case 2:
		return fmt.Sprintf("(%s or %s)", one(), one())
	}
	return one()
}

func drawnValue(d *rand.Rand) string {
	if d.IntN(8) == 0 {
		return pick(d, `"s"`, `[1]`, `null`)
	}
	parts := []string{fmt.Sprintf(`"tag":%q`, pick(d, "t0", "t1", "t2", "t3"))}
	for _, name := range []string{"a", "b", "c"} {
		if d.IntN(5) > 0 {
			parts = append(parts, fmt.Sprintf("%q:%s", name, pick(d, `1`, `2.5`, `"s"`, `"2026-01-02T03:04:05Z"`, `[1,2]`, `{"p":3}`, `null`, `true`)))
		}
	}
	return "{" + strings.Join(parts, ",") + "}"
}
