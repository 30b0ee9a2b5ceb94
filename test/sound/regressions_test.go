package sound

import (
	"testing"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

func regressionScope() *eval.Scope {
	return eval.NewScope().With("inputs", typeOf(object{"type": "object", "additionalProperties": false,
		"required": []any{"b", "k", "t", "at", "l", "i", "ns", "o", "some"}, "properties": object{
			"b": object{"type": "boolean"}, "k": object{"type": "integer"}, "t": object{"type": "string"}, "at": object{"type": "string", "format": "date-time"},
			"n": object{"type": []any{"string", "null"}}, "l": object{"type": "array", "items": object{"type": "string"}},
			"i": object{"type": "array", "items": object{"type": "integer"}}, "ns": object{"type": "array", "items": object{"type": []any{"integer", "null"}}},
			"o": object{"type": "object"}, "some": object{"type": "array", "items": object{"type": "integer"}, "minItems": 1},
			"rows": object{"type": "array", "items": object{"type": "object", "properties": object{"a": object{"type": "string"}}, "additionalProperties": false}},
		}})).With("open", openObject("a", "b")).With("other", openObject("b", "c"))
}

// openObject is what an answer may be whose schema says nothing of other names.
func openObject(names ...string) *schema.Type {
	properties, required := object{"m": object{"type": "object", "properties": object{"b": object{"type": "integer"}}, "required": []any{"b"}}}, []any{"m"}
	for _, name := range names {
		properties[name], required = object{"type": "integer"}, append(required, name)
	}
	return typeOf(object{"type": "object", "properties": properties, "required": required})
}

// TestIssue12_34WhatCanFailIsRefused holds the programs that were accepted once and
// failed with some value.
func TestIssue12_34WhatCanFailIsRefused(t *testing.T) {
	for _, source := range []string{
		`inputs.n in {a: 1}`, `max(inputs.ns) ?? 0`, `min(inputs.ns, [1])`, `mean(inputs.ns)`, `sort(inputs.ns)`,
		`fromPairs(map(inputs.ns, [#, 1]))`, `fromPairs(map(inputs.i, [[#], 1]))`, `fromPairs([inputs.l])`,
		`map(inputs.n ?? inputs.l, #)`, `filter(inputs.b ? inputs.l : inputs.t, true)`, `reduce(inputs.b ? inputs.l : inputs.t, #acc, "")`,
		`sum(inputs.b ? inputs.i : inputs.t)`, `join(inputs.b ? inputs.l : inputs.i)`, `inputs.i[inputs.b ? 0 : "a"] ?? 0`, `inputs.i[(inputs.b ? 0 : "a"):]`,
		`(inputs.b ? inputs.at : inputs.t).Year()`, `{(inputs.b ? "a" : 1): 2}`, `(inputs.b ? inputs.i : inputs.t)[1:][0] ?? 1`,
		`sort([1, inputs.l])`, `sort([1, "a"])`, `max(1, inputs.b ? 1 : "a")`, `sum([1, "a"])`, `not ([true, 1][inputs.k] ?? true)`, `-([1, "a"][inputs.k] ?? 1)`,
		`inputs.i[0]`, `inputs.i[-1] + 1`, `inputs.some[1]`, `filter(inputs.some, # > 1)[0]`, `reduce(inputs.i, #acc + #)`, `(len(inputs.i) > 0 or inputs.b) ? inputs.i[0] : 1`,
		`len(inputs.i) > 0 ? inputs.i[1] : 1`, `len(inputs.i) != 1 ? inputs.i[0] : 1`, `(inputs.b ? inputs.i[0] : 1) ?? 2`,
		`reduce([nil, "a"], (nil ? "" : nil), inputs.b)`, `toCSV([], [nil])`, `mdTable([{a: 1}], ["a", inputs.k])`, `{id: 1, (inputs.t): "x"}.id + 1`,
		`len(get(inputs.o, inputs.t))`, `upper(get(inputs.o, "a"))`, `get(inputs.o, "a") ? 1 : 2`, `all(get(inputs.o, "a"), true)`, `sort(flatten([[1], [nil]]))`,
		`first(inputs.i) + 1`, `(let f = inputs.n != nil; f or inputs.b) ? upper(inputs.n) : ""`, `filter(inputs.ns, # != nil or inputs.b)[0] ?? nil + 1`,
		`sum(values(open))`, `join(map(toPairs(open), #[1]))`, `(open[inputs.t] ?? 1) + 1`, `max(values(inputs.b ? open : {z: 1})) ?? 1`, `(inputs.b ? open : {z: "1"}).z == "1" and upper((inputs.b ? open : {z: "1"}).z ?? "") == ""`,
		`((inputs.b ? open : other).a ?? 1) + 1`, `(get({x: open}.x, "m.b") ?? 1) + 1`, `(get(inputs.b ? [open] : open, "m.b") ?? 1) + 1`, `any(values(open), # > 1)`, `fromPairs(toPairs(open))[inputs.t] ?? 1 > 2`,
		`map(inputs.rows ?? [], upper(.a))`, `join(map(filter(inputs.rows ?? [], .a == nil), .a))`,
		`hasSuffix(inputs.t, inputs.b ? "raw" : ({a: nil}.a?.[0] ?? inputs.k))`, `upper({a: nil}.a?.b.c ?? 1)`, `upper({a: nil}.a?.Year() ?? 1)`, `upper({a: nil}.a?.Year().b ?? 1)`, `upper({a: nil}.a?.b)`,
		`reduce(inputs.l, [#acc], "")[0][0]`,
	} {
		x, issues := eval.Parse(source)
		if len(issues) > 0 {
			continue // refused as well
		}
		if _, issues := x.CheckStrict(regressionScope()); len(issues) == 0 {
			t.Errorf("%s is accepted", source)
		}
	}
}

// TestIssue12_34WhatIsProvenIsAccepted holds sound programs, most of which were
// refused once.
func TestIssue12_34WhatIsProvenIsAccepted(t *testing.T) {
	for _, source := range []string{
		`inputs.n != nil and inputs.n in {a: 1}`, `max(inputs.ns | filter(# != nil)) ?? 0`, `sort(filter(inputs.ns, # != nil))`, `join(map(filter(inputs.rows ?? [], .a != nil), .a), ",")`,
		`sortBy(filter(inputs.rows ?? [], .a != nil), .a)`, `max(inputs.i, [0]) + 1`, `max(inputs.some) + 1`, `first(inputs.some) + 1`, `inputs.some[0] + inputs.some[-1]`,
		`inputs.i[0] ?? 1`, `inputs.rows?.[0]?.a ?? ""`, `inputs.i[0] == nil`, `inputs.i[inputs.k] != 3`, `len(inputs.i) > 0 ? inputs.i[0] + inputs.i[-1] : 1`,
		`inputs.i != [] ? inputs.i[len(inputs.i) - 1] : 1`, `inputs.i == [] ? 1 : inputs.i[inputs.k % len(inputs.i)]`, `len(inputs.i) >= 2 and inputs.i[1] > 1`, `2 < len(inputs.i) ? inputs.i[2] : 1`,
		`any(inputs.i, # > 1) ? inputs.i[0] : 0`, `first(inputs.i) != nil ? inputs.i[0] : 0`, `len(inputs.rows ?? []) > 0 ? len(inputs.rows) : 0`, `let n = len(inputs.i); n > 0 ? inputs.i[0] : 0`,
		`(inputs.n ?? "") != "" ? upper(inputs.n) : ""`, `(inputs.n ?? "x") == "a" ? upper(inputs.n) : ""`, `inputs.n in ["a", "b"] ? upper(inputs.n) : ""`, `len(inputs.n ?? "") > 2 and upper(inputs.n) == "AAA"`,
		`let ok = inputs.n != nil; ok ? upper(inputs.n) : ""`, `let ok = inputs.n != nil and inputs.b; not ok ? "" : upper(inputs.n)`, `inputs.n == nil or upper(inputs.n) == "A"`,
		`open.a + open.b`, `len(values(open)) + len(keys(open))`, `sum([open.a, open.b])`, `(inputs.b ? open : other).b + 1`, `open[inputs.b ? "a" : "b"] + 1`, `join(map(values(open), toJSON(#)))`, `string(open[inputs.t] ?? 1)`, `(get(open, "a") ?? 1) + 1`,
		`open == other`, `inputs.t in open`, `mdTable([open])`, `open.m.b + 1`,
		`({a: nil}.a?.b.c ?? 1) + 1`, `({a: nil}.a?.[0] ?? 1) + 1`, `({a: nil}.a?.Year() ?? 1) + 1`, `{a: nil}.a?.b == nil`,
		`split(inputs.t, ",")[0]`, `keys({a: 1})[0]`, `reduce(inputs.i, #acc + #, 0)`, `reduce(inputs.some, #acc + #)`, `map(cross(inputs.l, [1, 2]), #[0] + string(#[1]))`,
		`upper((inputs.b ? [1, "a"] : [2, "b"])[1])`, `string([1, "a"][inputs.k] ?? 1)`, `toJSON(get(inputs.o, "a"))`, `string(get(inputs.o, "a"))`, `(inputs.b ? inputs.i : inputs.l)[1:]`, `len(inputs.b ? inputs.i : inputs.t)`,
	} {
		x, issues := eval.Parse(source)
		if len(issues) == 0 {
			_, issues = x.CheckStrict(regressionScope())
		}
		for _, issue := range issues {
			t.Errorf("%s: %s", source, issue.Error())
		}
	}
}
