package eval

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/schema"
)

// testScope has one name of every kind that the language knows.
func testScope() *Scope {
	outputs := schema.MustFromJSON(`{"type":"object","required":["total","rows","meta"],"properties":{
		"total":{"type":"integer"},
		"ratio":{"type":"number"},
		"label":{"type":"string"},
		"flag":{"type":"boolean"},
		"state":{"type":"string","enum":["open","done"]},
		"rows":{"type":"array","items":{"type":"object","required":["host","visits"],"properties":{
			"host":{"type":"string"},"visits":{"type":"integer"},"at":{"type":"string","format":"date-time"},
			"tags":{"type":"array","items":{"type":"string"}}}}},
		"meta":{"type":"object"},
		"token":{"type":"string","writeOnly":true}}}`)
	step := schema.ObjectOf(schema.Required("status", schema.EnumOf("succeeded", "failed")), schema.Required("outputs", outputs))
	return NewScope().
		With("inputs", schema.MustFromJSON(`{"type":"object","required":["n","site","dry_run","sites","days"],"properties":{
			"n":{"type":"integer"},"site":{"type":"string"},"dry_run":{"type":"boolean"},"ratio":{"type":"number"},
			"sites":{"type":"array","items":{"type":"string"}},"days":{"type":"array","items":{"type":"integer"}},"note":{"type":"string"}}}`)).
		With("run", schema.ObjectOf(schema.Required("id", schema.Of(schema.String)), schema.Required("scheduled_at", schema.Of(schema.Time)))).
		With("steps", schema.ObjectOf(schema.Required("a", step), schema.Required("may", schema.Nullable(step)))).
		With("secrets", schema.MapOf(schema.SecretText())).
		With("blob", schema.Of(schema.Any)).
		With("wait", schema.Of(schema.Duration))
}

func TestCheckInfersTheTypeOfEveryKindOfExpression(t *testing.T) {
	for source, want := range map[string]string{
		// literals
		`1`: "integer", `1.5`: "number", `"x"`: "text", `true`: "boolean", `nil`: "null", `[]`: "list", `[1, 2]`: "list of integers",
		`[1, 2.5]`: "list of numbers", `[1, "a"]`: "list of an integer or text", `[[1], []]`: "list of lists of integers", `{a: 1}`: "object", `{a: 1}.a`: "integer", `{"a b": "x"}["a b"]`: "text",
		`{(inputs.site): 1}[inputs.site]`: "integer or null",
		// members
		`inputs.n`: "integer", `inputs.note`: "text or null", `inputs["n"]`: "integer", `steps.a.outputs.total`: "integer",
		`steps.may?.outputs.total`: "integer or null", `steps.may?.outputs?.label`: "text or null", `steps.may?.outputs?.rows?.[0]?.host`: "text or null",
		`steps.a.outputs.rows[0].host`: "text", `steps.a.outputs.meta.x`: "any value", `blob.x.y[0]`: "any value", `inputs.sites[0]`: "text", `inputs.sites[-1]`: "text",
		`steps.a.outputs.rows[1:3]`: "list of objects", `inputs.site[0:2]`: "text", `inputs.sites[:1]`: "list of text", `steps.a["outputs"].total`: "integer",
		// operators
		`1 + 2`: "integer", `1 + 2.0`: "number", `"a" + "b"`: "text", `1 / 2`: "number", `7 % 2`: "integer", `2 ** 3`: "number", `-inputs.n`: "integer", `1..3`: "list of integers",
		`run.scheduled_at - wait`: "time", `run.scheduled_at + duration("1h")`: "time", `run.scheduled_at - now()`: "duration", `wait * 2`: "duration", `wait / wait`: "number",
		`inputs.n > 1`: "boolean", `inputs.n == 1.5`: "boolean", `inputs.note == nil`: "boolean", `run.scheduled_at < now()`: "boolean", `not inputs.dry_run`: "boolean",
		`inputs.dry_run and inputs.n > 1`: "boolean", `inputs.site in inputs.sites`: "boolean", `inputs.site not in inputs.sites`: "boolean", `"x" in inputs`: "boolean",
		`inputs.site matches "^a"`: "boolean", `inputs.site contains "a"`: "boolean", `1 < inputs.n < 5`: "boolean", `blob + 1`: "any value", `blob * 2`: "any value", `blob % 2`: "integer", `blob == 1`: "boolean",
		// null
		`inputs.note ?? "x"`: "text", `inputs.ratio ?? 0`: "number", `steps.may?.outputs?.rows ?? []`: "list of objects", `nil ?? 1`: "integer", `inputs.note ?? nil`: "text or null",
		// choices
		`inputs.dry_run ? 1 : 2.5`: "number", `inputs.dry_run ? 1 : "a"`: "an integer or text", `inputs.dry_run ? nil : "a"`: "text or null", `if inputs.dry_run { 1 } else { 2 }`: "integer",
		`inputs.note != nil ? inputs.note : "none"`: "text", `inputs.note == nil ? "none" : inputs.note`: "text", `(inputs.note ?: "x") == ""`: "",
		// let, sequences and pipes
		`let x = inputs.n; x * 2`: "integer", `let x = [1]; let y = x[0]; y`: "integer", `inputs.sites | map(upper(#))`: "list of text", `inputs.site | trim() | len()`: "integer",
		// predicates
		`filter(steps.a.outputs.rows, .visits > 1)`: "list of objects", `filter(steps.a.outputs.rows, .visits > 1)[0].host`: "text", `map(steps.a.outputs.rows, .host)`: "list of text",
		`map(steps.a.outputs.rows, {{h: .host, i: #index}})[0].i`: "integer", `find(steps.a.outputs.rows, .host == "a")`: "object or null", `find(steps.a.outputs.rows, .host == "a")?.visits ?? 0`: "integer",
		`findIndex(inputs.sites, # == "a")`: "integer or null", `any(inputs.sites, # == "a")`: "boolean", `count(inputs.sites, len(#) > 1)`: "integer", `sum(inputs.days)`: "integer",
		`sum(steps.a.outputs.rows, .visits)`: "integer", `sum(steps.a.outputs.rows, .visits / 2)`: "number", `groupBy(steps.a.outputs.rows, .host)`: "object", `groupBy(steps.a.outputs.rows, .host)["x"]`: "list of objects or null",
		`sortBy(steps.a.outputs.rows, .visits, "desc")[0].host`: "text", `reduce(inputs.days, #acc + #, 0)`: "integer", `reduce(inputs.days, #acc + #)`: "integer", `reduce(inputs.days, #acc + # / 2, 0)`: "number",
		`reduce(inputs.sites, #acc + #, "")`: "text", `reduce(inputs.sites, concat(#acc, [#]), [])`: "list of text", `map(steps.a.outputs.rows, map(.tags ?? [], upper(#)))`: "list of lists of text",
		`map(filter(steps.a.outputs.rows, .at != nil), .host)`: "list of text", `filter(steps.a.outputs.rows, .at != nil and .at < now())`: "list of objects",
		// functions
		`len(inputs.sites)`: "integer", `first(inputs.sites)`: "text or null", `last(inputs.sites) ?? ""`: "text", `concat(inputs.sites, ["x"])`: "list of text", `concat(inputs.sites, [1])`: "list of text or an integer",
		`keys(inputs)`: "list of text", `values({a: 1, b: 2})`: "list of integers", `toPairs({a: "x"})[0][1]`: "text", `split("a,b", ",")`: "list of text", `join(inputs.sites)`: "text", `join(split("a", ","), "-")`: "text",
		`flatten([[1], [2, 3]])`: "list of integers", `chunk(inputs.sites, 2)[0][0]`: "text", `chunk(inputs.sites, 2)`: "list of lists of text", `take(inputs.sites, 2)`: "list of text", `reverse(inputs.sites)`: "list of text", `sort(inputs.days, "desc")`: "list of integers",
		`max(1, 2)`: "integer", `max(inputs.days)`: "integer or null", `min(inputs.days, 3)`: "integer", `max(1, 2.5)`: "number", `mean(inputs.days)`: "number", `abs(-1)`: "integer", `abs(-1.5)`: "number",
		`round(1.5)`: "number", `int(round(1.5))`: "integer", `string(1)`: "text", `toJSON(inputs)`: "text", `fromJSON("{}")`: "any value", `upper("a")`: "text", `duration("7d")`: "duration", `date("2026-01-01")`: "time",
		`now()`: "time", `startOf(now(), "day", "Europe/Berlin")`: "time", `addTime(now(), "-1mo")`: "time", `formatTime(now(), "2006")`: "text", `cross(inputs.sites, ["a"])`: "list of lists of text",
		`uniqueBy(steps.a.outputs.rows, "host")[0].visits`: "integer", `mdTable(steps.a.outputs.rows)`: "text", `toCSV(steps.a.outputs.rows)`: "text", `sha256("a")`: "text",
		`get(steps.a.outputs, "rows.0.host")`: "text or null", `get(steps.a.outputs, "nothing")`: "any value", `get(inputs.sites, 0)`: "text or null", `get({"a.b": 1}, "a.b")`: "integer or null",
		`run.scheduled_at.Year()`: "integer", `(run.scheduled_at - now()).Hours()`: "number", `type(1)`: "text", `bitand(1, 2)`: "integer",
		// secrets
		`secrets.KEY`: "secret", `secrets["KEY"]`: "secret", `steps.a.outputs.token`: "secret",
	} {
		x, issues := Parse(source)
		if len(issues) > 0 {
			t.Errorf("Parse(%s): %v", source, issues)
			continue
		}
		got, issues := x.Check(testScope())
		if want == "" {
			continue
		}
		if HasErrors(issues) {
			t.Errorf("%s: unexpected %s", source, describe(issues))
		}
		if got.String() != want {
			t.Errorf("%s has type %q, want %q", source, got, want)
		}
	}
}

func describe(issues []Issue) string {
	var lines []string
	for _, issue := range issues {
		lines = append(lines, fmt.Sprintf("%d-%d %s %s", issue.Start, issue.End, issue.Code, issue.Error()))
	}
	return strings.Join(lines, "\n")
}

// TestCheckReportsEachMistakeOnceAtItsPlace marks the place with «».
func TestCheckReportsEachMistakeOnceAtItsPlace(t *testing.T) {
	for marked, want := range map[string]string{
		// names
		`«input».n + 1`:                  CodeName + " unknown name `input`; did you mean `inputs`?",
		`1 + «null»`:                     CodeName + " unknown name `null`; the value that is nothing is written `nil`",
		`«len» > 1`:                      CodeName + " unknown name `len`; `len` is a function: write `len(…)`",
		`inputs.«sitte»`:                 CodeField + " unknown field `sitte` in `inputs`; did you mean `site`?",
		`inputs[«"sitte"»]`:              CodeField + " unknown field `sitte` in `inputs`; did you mean `site`?",
		`steps.a.outputs.rows[0]?.«hst»`: CodeField + " unknown field `hst` in `steps.a.outputs.rows[0]`; did you mean `host`?",
		`filter(steps.a.outputs.rows, .«vsits» > 1 and .host == "x")`: CodeField + " unknown field `vsits` in `#`; did you mean `visits`?",
		`"äöü" + inputs.«sitte»`:                                      CodeField + " unknown field `sitte` in `inputs`; did you mean `site`?",
		`let «inputs» = 1; 2`:                                         CodeName + " the name `inputs` is taken already",
		// operators
		`1 «+» "a"`:                      CodeOperator + " `+` is not defined on an integer and text; string(x) makes text of a value",
		`inputs.site «>» 5`:              CodeOperator + " `>` can't compare text with an integer; int(x) makes an integer of text",
		`inputs.n «==» "5"`:              CodeOperator + " can't compare an integer with text; string(x) makes text of a value, int(x) an integer of text",
		`run.scheduled_at «<» "2026"`:    CodeOperator + " `<` can't compare a time with text; date(x) makes a time of text",
		`inputs.sites «+» ["a"]`:         CodeOperator + " `+` is not defined on a list of text and a list of text; concat(a, b) joins lists",
		`inputs.sites «contains» "a"`:    CodeOperator + " `contains` needs text on both sides, got a list of text; `x in list` looks into a list",
		`"a" «in» inputs.site`:           CodeOperator + " `in` needs a list or an object on the right, got text; `text contains part` looks into text",
		`1 «in» inputs.sites`:            CodeOperator + " an integer can't be in a list of text",
		`inputs.n % «0»`:                 CodeConstant + " division by zero",
		`run.scheduled_at «-» 5`:         CodeOperator + " `-` is not defined on a time and an integer; write the number as a duration, such as duration(\"24h\")",
		`steps.a.status «==» "suceeded"`: CodeNeverEqual + " this is never equal: the value must be one of \"succeeded\", \"failed\"; got \"suceeded\"; did you mean `succeeded`?",
		`chunk(inputs.sites, «0»)`:       CodeConstant + " chunk expects a size of 1 or more, got 0",
		`inputs.site matches «"("»`:      CodeConstant + " the pattern can't be read: missing closing ) \"(\"",
		`«-»"a"`:                         CodeOperator + " `-` needs a number, got text",
		// conditions
		`«inputs.n» and true`:            CodeCondition + " each side of `and` must be true or false, got an integer; compare it, such as `x > 0`",
		`not «inputs.site»`:              CodeCondition + " what `not` turns over must be true or false, got text; compare it, such as `x != \"\"`",
		`«inputs.sites» ? 1 : 2`:         CodeCondition + " a condition must be true or false, got a list of text; compare its length, such as `len(x) > 0`",
		`filter(inputs.sites, «len(#)»)`: CodeCondition + " the condition of filter must be true or false, got an integer; compare it, such as `x > 0`",
		`«steps.a.outputs.flag» or true`: CodeNull + " `steps.a.outputs.flag` may be null, and each side of `or` must be true or false; write `?? false` behind it",
		// null
		`steps.may.«outputs»`:                     CodeNull + " `steps.may` may be absent here; read it with `steps.may?.outputs`, and give a value for that case with `??`",
		`«inputs.note» + "x"`:                     CodeNull + " `inputs.note` may be null; give a value for that case with `??`, or test it with `!= nil` first",
		`upper(«inputs.note»)`:                    CodeNull + " `inputs.note` may be null; give a value for that case with `??`, or test it with `!= nil` first",
		`len(«steps.may?.outputs.rows») > 0`:      CodeNull + " `steps.may?.outputs.rows` may be null; give a value for that case with `??`, or test it with `!= nil` first",
		`find(steps.a.outputs.rows, true).«host»`: CodeNull + " `find(steps.a.outputs.rows, true)` may be absent here; read it with `find(steps.a.outputs.rows, true)?.host`, and give a value for that case with `??`",
		`sum(steps.a.outputs.rows, «.at»)`:        "",
		// what stays known through ternaries of two types, `??` and reduce
		`(inputs.dry_run ? 1 : "a") «+» 1`:              CodeOperator + " `+` is not defined on text and an integer; string(x) makes text of a value",
		`(inputs.dry_run ? 1 : "a") «>» 1`:              CodeOperator + " `>` can't compare text with an integer; int(x) makes an integer of text",
		`upper(«inputs.dry_run ? 1 : "a"»)`:             CodeArgument + " upper expects text, got an integer",
		`(«inputs.dry_run ? 1 : true») ? 1 : 2`:         CodeCondition + " a condition must be true or false, got an integer or a boolean",
		`(«inputs.dry_run ? inputs.note : 1») + "x"`:    "",
		`map(inputs.days, (inputs.note ?? #) «*» 2)[0]`: CodeOperator + " `*` is not defined on text and an integer",
		`reduce(inputs.days, #acc «+» #, "x")`:          CodeOperator + " `+` is not defined on text and an integer; string(x) makes text of a value",
		// functions
		`upper(«1»)`:                                CodeArgument + " upper expects text, got an integer",
		`«upper»()`:                                 CodeArgument + " upper needs 1 argument, got 0; upper(text: text): text",
		`«upper»("a", "b")`:                         CodeArgument + " upper needs 1 argument, got 2; upper(text: text): text",
		`«now»(1)`:                                  CodeArgument + " now needs 0 arguments, got 1; now(): time",
		`join(«inputs.days»)`:                       CodeArgument + " join expects a list of text, got a list of integers; map(list, string(#)) makes texts of the elements",
		`filter(«inputs», true)`:                    CodeArgument + " filter expects a list, got an object; values(x) and toPairs(x) make lists of an object",
		`startOf(now(), «"days"»)`:                  CodeConstant + " \"days\" is not a unit of time; write one of minute, hour, day, week, month, quarter, year",
		`startOf(now(), "day", «"Berlin"»)`:         CodeConstant + " \"Berlin\" is not a time zone; write an IANA name such as Europe/Berlin, or UTC",
		`addTime(now(), «"1 month"»)`:               CodeConstant + " \"1 month\" is not an amount of time; write it as 1mo, -2d, 3h or 1d12h",
		`duration(«"5 minutes"»)`:                   CodeConstant + " \"5 minutes\" is not a duration; write 30s, 6h, 7d or PT20M",
		`formatTime(now(), «"YYYY-MM-DD"»)`:         CodeConstant + " `YYYY` stands for itself in a layout; write \"2006-01-02\": a layout is the moment Monday, January 2 2006, 15:04:05 as it is to be written",
		`formatTime(now(), «"%Y-%m-%d"»)`:           CodeConstant + " `%Y` stands for itself in a layout; write \"2006-01-02\": a layout is the moment Monday, January 2 2006, 15:04:05 as it is to be written",
		`parseTime("2026", «"yyyy"»)`:               CodeConstant + " `yyyy` stands for itself in a layout; write \"2006\": a layout is the moment Monday, January 2 2006, 15:04:05 as it is to be written",
		`date("x", «"today"»)`:                      CodeConstant + " this layout has no part of a time; a layout is the moment Monday, January 2 2006, 15:04:05 as it is to be written, such as \"2006-01-02 15:04\"",
		`«len»(inputs.sites, 1)`:                    CodeArgument + " len needs 1 argument, got 2; len(x: text|list|object): integer",
		`inputs«..»site`:                            CodeOperator + " a field is read with one dot; write `inputs.site`; `a..b` lists the integers from a to b",
		`inputs«..»meta.x`:                          CodeOperator + " a field is read with one dot; write `inputs.meta`; `a..b` lists the integers from a to b",
		`uniqueBy(steps.a.outputs.rows, «"hosts"»)`: CodeField + " unknown field `hosts`; did you mean `host`?",
		`sort(«steps.a.outputs.rows»)`:              CodeArgument + " sort can't order a list of objects; sortBy(list, .field) orders objects",
		`sortBy(inputs.days, #, «"down"»)`:          CodeConstant + ` the order must be "asc" or "desc"`,
		`run.scheduled_at.«year»()`:                 CodeFunction + " a time has no method `year`; did you mean `Year`?",
		`inputs.site.«upper»()`:                     CodeFunction + " text has no method `upper`; functions are called as `upper(x)` or `x | upper()`",
		`run.scheduled_at.«Year»`:                   CodeMember + " `Year` must be called; write `.Year()`",
		`steps.a.outputs.rows.«host»`:               CodeMember + " `steps.a.outputs.rows` is a list, which has no field `host`; x[0].host reads one element, map(x, .host) all",
		`inputs.n.«x»`:                              CodeMember + " `inputs.n` is an integer, which has no field `x`",
		`inputs.site«[»0]`:                          CodeMember + " text has no elements; x[0:1] is its first character",
		`inputs.sites[«"a" + "b"»]`:                 CodeMember + " a list's place must be an integer, got text",
		// secrets
		`"Bearer " + «secrets.KEY»`:          CodeSecret + " `secrets.KEY` is a secret, which can't be used in an expression; secrets stand only as the whole value of a field that is marked secret",
		`«secrets.KEY» == "x"`:               CodeSecret + " `secrets.KEY` is a secret, which can't be used in an expression; secrets stand only as the whole value of a field that is marked secret",
		`toJSON(«secrets»)`:                  CodeSecret + " `secrets` is a secret, which can't be used in an expression; secrets stand only as the whole value of a field that is marked secret",
		`toJSON(«steps.a.outputs»)`:          CodeSecret + " `steps.a.outputs` has a secret in it, which can't become text",
		`inputs.dry_run ? «secrets.A» : "x"`: CodeSecret + " `secrets.A` is a secret, which can't be used in an expression; secrets stand only as the whole value of a field that is marked secret",
		`get(«secrets», "A")`:                "",
		`let k = «secrets.KEY»; k`:           "",
	} {
		start := strings.Index(marked, "«")
		source := strings.Replace(strings.Replace(marked, "«", "", 1), "»", "", 1)
		end := strings.Index(marked, "»") - len("«")
		x, issues := Parse(source)
		if len(issues) > 0 {
			t.Errorf("Parse(%s): %s", source, describe(issues))
			continue
		}
		_, issues = x.Check(testScope())
		if len(issues) != 1 {
			t.Errorf("%s: %d issues, want 1:\n%s", marked, len(issues), describe(issues))
			continue
		}
		issue := issues[0]
		if issue.Start != start || issue.End != end {
			t.Errorf("%s: issue at %d-%d, want %d-%d (%s)", marked, issue.Start, issue.End, start, end, issue.Message)
		}
		if got := issue.Code + " " + issue.Error(); want != "" && got != want {
			t.Errorf("%s (-want +got):\n%s", marked, cmp.Diff(want, got))
		}
	}
}

func TestCheckHasNoFollowOnNoise(t *testing.T) {
	for _, source := range []string{
		`inptus.a.b.c + 1 > 2 and true`, `upper(inputs.nope) + 1`, `map(inputs.nope, .x.y)[0].z ?? 3`, `(inputs.site + 1) * 2`,
		`let x = nope; x.a + x.b`, `reduce(nope, #acc + 1, 0)`, `steps.may.outputs.rows[0].host`, `{a: nope}.a.b`, `sort(nope)`,
	} {
		x, _ := Parse(source)
		if _, issues := x.Check(testScope()); len(issues) != 1 {
			t.Errorf("%s: %d issues, want 1:\n%s", source, len(issues), describe(issues))
		}
	}
}

func TestProvesNarrowsWhatATrueConditionShows(t *testing.T) {
	for condition, clean := range map[string]string{
		`steps.may?.outputs?.label != nil`:                                   `upper(steps.may.outputs.label)`,
		`steps.may != nil`:                                                   `steps.may.outputs.total + 1`,
		`inputs.note == "x"`:                                                 `upper(inputs.note)`,
		`"x" == inputs.note`:                                                 `upper(inputs.note)`,
		`inputs.n > 1 and inputs.note != nil and true`:                       `upper(inputs.note)`,
		`steps.a.outputs.flag ?? false`:                                      `not steps.a.outputs.flag`,
		`not (inputs.note == nil)`:                                           `upper(inputs.note)`,
		`not (inputs.note == nil or steps.may == nil)`:                       `inputs.note + steps.may.status`,
		`inputs.note in ["a", "b"]`:                                          `upper(inputs.note)`,
		`steps.may?.outputs.rows != nil and len(steps.may.outputs.rows) > 0`: `steps.may.outputs.rows[0].host`,
	} {
		scope := proved(t, condition)
		x, _ := Parse(clean)
		if _, issues := x.Check(scope); len(issues) > 0 {
			t.Errorf("if %s: %s: %s", condition, clean, describe(issues))
		}
	}
	for condition, dirty := range map[string]string{
		`inputs.note == nil`:         `upper(inputs.note)`,
		`inputs.note != nil or true`: `upper(inputs.note)`,
		`not (inputs.note != nil)`:   `upper(inputs.note)`,
		`steps.may != nil`:           `upper(steps.may.outputs.label)`,
		`inputs.note ?? "a" == "a"`:  `upper(inputs.note)`,
	} {
		x, issues := Parse(condition)
		if len(issues) > 0 {
			continue
		}
		y, _ := Parse(dirty)
		if _, issues := y.Check(x.Proves(testScope())); len(issues) == 0 {
			t.Errorf("if %s: %s is not reported", condition, dirty)
		}
	}
}

func proved(t *testing.T, condition string) *Scope {
	t.Helper()
	x, issues := Parse(condition)
	if len(issues) > 0 {
		t.Fatalf("Parse(%s): %s", condition, describe(issues))
	}
	if issues := x.CheckCondition(testScope()); len(issues) > 0 && !strings.Contains(condition, "??") {
		t.Errorf("CheckCondition(%s): %s", condition, describe(issues))
	}
	return x.Proves(testScope())
}

func TestScopeNarrowReplacesTheTypeOfAPath(t *testing.T) {
	scope := testScope().Narrow([]string{"blob", "x"}, schema.Of(schema.Int))
	x, _ := Parse(`blob.x`)
	if got, _ := x.Check(scope); got.Kind != schema.Int {
		t.Errorf("blob.x has type %s", got)
	}
	hidden := scope.With("blob", schema.Of(schema.Any))
	if got, _ := x.Check(hidden); got.Kind != schema.Any {
		t.Errorf("a new blob still has what was known of the old one: %s", got)
	}
}

func TestCheckIsBoundedOnTypesThatDouble(t *testing.T) {
	var doubling strings.Builder
	doubling.WriteString("let a0 = {x: 1};")
	for i := 1; i < 150; i++ {
		fmt.Fprintf(&doubling, "let a%d = {x: a%d, y: a%d};", i, i-1, i-1)
	}
	doubling.WriteString("a149 == [a149, a148][0]")
	nested := "1"
	for range 40 {
		nested = "reduce([1], " + nested + ", 0)"
	}
	for _, source := range []string{doubling.String(), nested} {
		x, issues := Parse(source)
		if len(issues) > 0 {
			t.Fatal(describe(issues))
		}
		x.Check(NewScope())
	}
}
