package eval

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/schema"
)

var testTime = time.Date(2026, 3, 28, 10, 30, 15, 500, time.UTC)

func testEnv(t testing.TB) map[string]any {
	t.Helper()
	v, err := schema.Of(schema.Any).Decode([]byte(`{
		"inputs": {"n": 7, "site": "äpfel", "sites": ["b", "a", "c"], "days": [3, 1, 2], "big": 9007199254740993, "huge": 123456789012345678901234567890, "dry_run": false, "note": null},
		"rows": [{"host": "b", "visits": 2, "tag": "x|y"}, {"host": "a", "visits": 5}, {"host": "b", "visits": 1, "tag": "=1+1"}],
		"m": {"z": 1, "a": 2, "k": 3}, "none": null}`))
	if err != nil {
		t.Fatal(err)
	}
	env, _ := v.(map[string]any)
	env["at"] = testTime
	env["secrets"] = map[string]any{"KEY": schema.SecretRef("KEY")}
	return env
}

func run(t testing.TB, source string) (any, error) {
	t.Helper()
	program, err := Compile(source)
	if err != nil {
		t.Fatalf("Compile(%s): %v", source, err)
	}
	v, err := program.Run(testEnv(t), testTime)
	return asValues(v), err
}

// asValues puts values in the place of stored lists.
func asValues(v any) any {
	switch v := v.(type) {
	case *schema.Encoded:
		values, err := v.Values()
		if err != nil {
			return err
		}
		return asValues(values)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = asValues(v[i])
		}
		return all
	case map[string]any:
		all := make(map[string]any, len(v))
		for name := range v {
			all[name] = asValues(v[name])
		}
		return all
	}
	return v
}

func TestRunGivesTheValueOfEveryKindOfExpression(t *testing.T) {
	day := func(y, m, d int) time.Time { return time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC) }
	for source, want := range map[string]any{
		`inputs.n + 1`: 8, `1 + 0.5`: 1.5, `7 / 2`: 3.5, `7 % 4`: 3, `2 ** 10`: 1024.0, `-inputs.n`: -7, `+3`: 3, `"a" + "b"`: "ab", `0x10`: 16, `1_000`: 1000,
		`inputs.big`: 9007199254740993, `inputs.big + 1`: 9007199254740994, `inputs.huge == inputs.huge`: true, `inputs.huge > inputs.big`: true,
		`1 == 1.0`: true, `"a" < "b"`: true, `nil == none`: true, `[1, {a: 2}] == [1.0, {a: 2}]`: true, `{a: 1} == {a: 2}`: false, `1 == "1"`: false, `1 < 2 < 3`: true, `1 < 2 < 2`: false,
		`not true or true`: true, `false and missing.x`: false, `true or missing.x`: true, `none ?? 5`: 5, `none?.a.b.c ?? "x"`: "x", `inputs?.note?.x`: nil, `inputs.note`: nil, `inputs.missing`: nil,
		`"b" in inputs.sites`: true, `"z" not in inputs.sites`: true, `"n" in inputs`: true, `"äpfel" matches "^ä"`: true, `"abc" contains "b"`: true, `"abc" startsWith "ab"`: true, `"abc" endsWith "x"`: false,
		`inputs.sites[-1]`: "c", `inputs.sites[0:2]`: []any{"b", "a"}, `inputs.sites[:-1]`: []any{"b", "a"}, `inputs.sites[5:]`: []any{}, `inputs.site[0:1]`: "ä", `inputs["si" + "te"]`: "äpfel",
		`1..3`: []any{1, 2, 3}, `3..1`: []any{}, `{"a": 1, (inputs.site): 2}`: map[string]any{"a": 1, "äpfel": 2}, `inputs.dry_run ? 1 : 2`: 2, `if inputs.n > 5 {"big"} else {"small"}`: "big",
		`let x = 2; let y = x * 3; x + y`: 8, `1; 2`: 2, `map([1, 2], let y = # * 2; y + 1)`: []any{3, 5}, `inputs.note != nil ? inputs.note : "none"`: "none",
		// predicates
		`filter(rows, .visits > 1) | map(.host)`: []any{"b", "a"}, `map(rows, {{"h": .host, "i": #index}})[1]`: map[string]any{"h": "a", "i": 1}, `sum(rows, .visits)`: 8, `sum([])`: 0, `sum([0.5, 1])`: 1.5,
		`count(rows, .host == "b")`: 2, `count([true, false])`: 1, `all(rows, .visits > 0)`: true, `all([], false)`: true, `none(rows, .visits > 9)`: true, `any(rows, .visits == 5)`: true, `one(rows, .host == "a")`: true,
		`find(rows, .host == "b").visits`: 2, `findLast(rows, .host == "b").visits`: 1, `findIndex(rows, .host == "a")`: 1, `findLastIndex(rows, .host == "b")`: 2, `findIndex(rows, false)`: nil,
		`map(sortBy(rows, .host), .visits)`: []any{5, 2, 1}, `map(sortBy(rows, .visits, "desc"), .visits)`: []any{5, 2, 1}, `reduce(inputs.days, #acc * 10 + #, 0)`: 312, `reduce(inputs.days, #acc + #)`: 6,
		`keys(groupBy(rows, .host))`: []any{"a", "b"}, `len(groupBy(rows, .host).b)`: 2, `map([[1, 2], [3]], map(#, # + 1))`: []any{[]any{2, 3}, []any{4}}, `map([1, 2], reduce([1, 2], #acc + #, 0) + #)`: []any{4, 5},
		`reduce([1, 2], reduce([10], #acc + #, #acc), 0)`: 20,
		// lists and objects
		`len("äöü")`: 3, `len(m)`: 3, `first([])`: nil, `last(inputs.sites)`: "c", `take(inputs.sites, 9)`: []any{"b", "a", "c"}, `reverse(inputs.days)`: []any{2, 1, 3}, `sort(inputs.days)`: []any{1, 2, 3}, `sort(inputs.sites, "desc")`: []any{"c", "b", "a"},
		`concat([1], [2, 3])`: []any{1, 2, 3}, `chunk([1, 2, 3], 2)`: []any{[]any{1, 2}, []any{3}}, `chunk([1, 2], 2)`: []any{[]any{1, 2}}, `chunk([], 2)`: []any{}, `len(chunk(1..250, 100))`: 3, `flatten([1, [2, [3]]])`: []any{1, 2, 3}, `keys(m)`: []any{"a", "k", "z"}, `values(m)`: []any{2, 3, 1}, `toPairs(m)[0]`: []any{"a", 2}, `fromPairs([["a", 1], ["b", 2]])`: map[string]any{"a": 1, "b": 2},
		`cross(["x", "y"], [1, 2])`: []any{[]any{"x", 1}, []any{"x", 2}, []any{"y", 1}, []any{"y", 2}}, `map(uniqueBy(rows, "host"), .visits)`: []any{2, 5}, `max(inputs.days)`: 3, `min(4, [2, 3])`: 2, `max([])`: nil, `mean(inputs.days)`: 2.0, `median([4, 1, 3, 2])`: 2.5,
		`get(rows, "1.host")`: "a", `get(rows, -1).visits`: 1, `get(inputs, "a.b.c")`: nil, `get(nil, "a")`: nil, `get({"a.b": 1}, "a.b")`: 1,
		// text
		`trim("  a ")`: "a", `trim("xax", "x")`: "a", `trimPrefix("v1", "v")`: "1", `upper("ä")`: "Ä", `replace("aaa", "a", "b", 2)`: "bba", `repeat("ab", 3)`: "ababab", `split("a,b,c", ",", 2)`: []any{"a", "b,c"}, `join(inputs.sites, "-")`: "b-a-c",
		`indexOf("äb", "b")`: 1, `lastIndexOf("abab", "b")`: 3, `indexOf("a", "x")`: -1, `string(1.0)`: "1", `string(true)`: "true", `string(duration("90m"))`: "1h30m", `int("42")`: 42, `int(2.9)`: 2, `float("1.5")`: 1.5, `int(round(2.5))`: 3, `type(1.5)`: "float",
		`toJSON({b: 1, a: "<x>"})`: "{\n  \"a\": \"<x>\",\n  \"b\": 1\n}", `fromJSON("{\"n\": 9007199254740993}").n`: 9007199254740993, `toBase64("hé")`: "aMOp", `fromBase64("aMOp")`: "hé", `sha256("a")`: "ca978112ca1bbdcafac231b39a23dc4da786eff8147c4e72b9807785afee48bb",
		// times
		`now()`: testTime, `formatTime(at, "2006-01-02 15:04", "Europe/Berlin")`: "2026-03-28 11:30", `parseTime("28.03.2026", "02.01.2006")`: day(2026, 3, 28), `date("2026-03-28") == parseTime("2026-03-28", "2006-01-02")`: true,
		`startOf(at, "month")`: day(2026, 3, 1), `startOf(at, "week")`: day(2026, 3, 23), `startOf(at, "quarter")`: day(2026, 1, 1), `startOf(at, "year")`: day(2026, 1, 1), `startOf(at, "hour")`: time.Date(2026, 3, 28, 10, 0, 0, 0, time.UTC),
		`endOf(at, "month") == startOf(addTime(at, "1mo"), "month") - duration("1ns")`: true, `addTime(date("2026-01-31"), "1mo")`: day(2026, 2, 28), `addTime(date("2024-01-31"), "1mo")`: day(2024, 2, 29), `addTime(date("2026-03-31"), "-1mo")`: day(2026, 2, 28), `addTime(date("2024-02-29"), "1y")`: day(2025, 2, 28), `addTime(date("2026-01-01"), "1w2d")`: day(2026, 1, 10),
		// the clock moves on at 02:00 on 29 March 2026 in Berlin: that day has 23 hours
		`endOf(date("2026-03-29"), "day", "Europe/Berlin") - startOf(date("2026-03-29"), "day", "Europe/Berlin") + duration("1ns")`: 23 * time.Hour, `addTime(at, "1d", "Europe/Berlin") - at`: 23 * time.Hour, `addTime(at, "24h", "Europe/Berlin") - at`: 24 * time.Hour,
		`at - duration("168h") == addTime(at, "-7d")`: true, `(at - startOf(at, "day")).Hours() > 10`: true, `at.Month() * 100 + at.Day()`: 328, `duration("1h") * 1.5`: 90 * time.Minute, `duration("1h") / duration("30m")`: 2.0, `duration("1h") > duration("59m")`: true, `duration("PT20M")`: 20 * time.Minute,
		// tables
		`mdTable(rows)`: "| host | tag | visits |\n| --- | --- | --- |\n| b | x\\|y | 2 |\n| a |  | 5 |\n| b | =1+1 | 1 |\n", `mdTable([])`: "",
		`toCSV([{a: "x,y", b: nil, c: [1]}, {a: "=1", d: -5}])`: "a,b,c,d\r\n\"x,y\",,[1],\r\n'=1,,,-5\r\n", `toCSV([{a: "-5"}, {a: "+49 30 1"}, {a: "-x"}])`: "a\r\n-5\r\n+49 30 1\r\n'-x\r\n",
		// a secret passes whole
		`secrets.KEY`: map[string]any{"$secret": "KEY"},
	} {
		got, err := run(t, source)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

// TestRunNamesWhatIsWrong marks the place with «».
func TestRunNamesWhatIsWrong(t *testing.T) {
	for marked, want := range map[string]string{
		`1 «/» 0`: "division by zero", `1 «%» 0`: "division by zero", `9223372036854775807 «+» 1`: "+: the result does not fit a 64-bit integer", `9223372036854775807 «*» 2`: "*: the result does not fit a 64-bit integer",
		`2 «**» 100000`: "the result is no finite number", `«nope».x`: "unknown name `nope`", `inputs.note.«x»`: "`inputs.note` is null, so it has no field `x`; read it with `?.`, and give a value for that case with `??`",
		`inputs.sites[«9»]`: "`inputs.sites` has no element 9: it has 3 elements; get(list, 9) gives null there", `inputs.n.«x»`: "`inputs.n` is an integer, which has no field `x`", `«inputs.n» ? 1 : 2`: "a condition must be true or false, got an integer",
		`not «inputs.n»`: "what `not` turns over must be true or false, got an integer", `inputs.n «+» "a"`: "`+` is not defined on an integer and text", `inputs.note «+» 1`: "`+` is not defined on null and an integer; give a value for null with `??`",
		`inputs.huge «+» 1`: "`+` can't work with an integer beyond 64 bits", `«filter»(rows, .visits)`: "the condition of filter must be true or false, got an integer", `«upper»(inputs.n)`: "upper expects text, got an integer", `«upper»(inputs.note)`: "upper expects text, got null; give a value for that case with `??`",
		`«filter»(m, true)`: "filter expects a list, got an object; values(x) and toPairs(x) make lists of an object", `«sort»(["a", 1, nil])`: "can't order an integer and text", `«reduce»([], #acc)`: "reduce of an empty list needs an initial value; write it as the third argument",
		`«startOf»(at, "dya" + "")`: "\"dya\" is not a unit of time; write one of minute, hour, day, week, month, quarter, year", `«formatTime»(at, "2006", "Local" + "")`: "\"Local\" is not a time zone; write an IANA name such as Europe/Berlin, or UTC",
		`«formatTime»(at, "2006", "../../../etc/passwd" + "")`: "\"../../../etc/passwd\" is not a time zone; write an IANA name such as Europe/Berlin, or UTC", `«fromJSON»("{" + "")`: "fromJSON: invalid JSON: it ends too early: a bracket or a quote is not closed", `«int»("x")`: "int: \"x\" is no integer",
		`at.«foo»()`: "a time has no method `foo`", `«toJSON»(secrets.KEY)`: "a secret can't be written as JSON", `«parseTime»("x", "2006")`: "parseTime: \"x\" does not have the layout \"2006\"", `«join»([1])`: "join expects texts, got an integer; map(list, string(#)) makes texts of the elements",
		`at «-» duration("300y")`: "", `«addTime»(at, "99999y")`: "addTime: \"99999y\" is too far", `«int»(1.0e300)`: "the number 1e+300 does not fit an integer", `"a" «matches» ("(" + "")`: "the pattern can't be read: missing closing ) \"(\"",
		`1 «<» "a"`: "can't order an integer and text", `1 «in» 2`: "`in` needs a list or an object on the right, got an integer",
	} {
		start := strings.Index(marked, "«")
		source := strings.NewReplacer("«", "", "»", "").Replace(marked)
		_, err := run(t, source)
		var failure *RunError
		if !errors.As(err, &failure) {
			t.Errorf("%s: no *RunError: %v", marked, err)
			continue
		}
		if want == "" {
			continue
		}
		if failure.Error() != want {
			t.Errorf("%s (-want +got):\n%s", marked, cmp.Diff(want, failure.Error()))
		}
		if end := strings.Index(marked, "»") - len("«"); failure.Start != start || failure.End != end {
			t.Errorf("%s: at %d-%d, want %d-%d", marked, failure.Start, failure.End, start, end)
		}
		if failure.Reason != "expression" {
			t.Errorf("%s: reason %q", marked, failure.Reason)
		}
	}
}

func TestRunDoesNotChangeTheEnvironment(t *testing.T) {
	env := testEnv(t)
	before, err := schema.Encode(map[string]any{"inputs": env["inputs"], "rows": env["rows"], "m": env["m"]})
	if err != nil {
		t.Fatal(err)
	}
	for _, source := range []string{`sort(inputs.days)`, `reverse(inputs.days)`, `concat(inputs.days[0:1], [9])`, `map(chunk(inputs.days, 1), concat(#, [9]))`, `sortBy(rows, .visits)`, `map(rows, {{"a": #}})`, `flatten([inputs.days])`, `inputs.days[0:1] | concat([5, 6])`} {
		program, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Run(env, testTime); err != nil {
			t.Errorf("%s: %v", source, err)
		}
	}
	after, err := schema.Encode(map[string]any{"inputs": env["inputs"], "rows": env["rows"], "m": env["m"]})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(before), string(after)); diff != "" {
		t.Errorf("environment (-before +after):\n%s", diff)
	}
}

func TestRunIsDeterministicOnMaps(t *testing.T) {
	big := map[string]any{}
	for i := range 50 {
		big[strings.Repeat(string(rune('a'+i%26)), 1+i/26)] = i
	}
	env := map[string]any{"m": big, "rows": []any{big, map[string]any{"zz": 1, "a": 2}}}
	for _, source := range []string{`keys(m)`, `values(m)`, `toPairs(m)`, `toJSON(m)`, `toCSV(rows)`, `mdTable(rows)`, `map(toPairs(m), #[0])`, `groupBy(values(m), # % 7)`, `reduce(keys(m), #acc + #, "")`, `sortBy(toPairs(m), #[1] % 5)`, `string(len(m)) + join(keys(m))`, `m == fromPairs(toPairs(m))`} {
		program, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		first := ""
		for range 1000 {
			v, err := program.Run(env, testTime)
			if err != nil {
				t.Fatalf("%s: %v", source, err)
			}
			encoded, err := schema.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			if first == "" {
				first = string(encoded)
			} else if first != string(encoded) {
				t.Fatalf("%s gave %s, then %s", source, first, encoded)
			}
		}
	}
}

func TestRunIsSafeForConcurrentUse(t *testing.T) {
	program, err := Compile(`sum(filter(rows, .visits > 1), .visits) + len(inputs.sites)`)
	if err != nil {
		t.Fatal(err)
	}
	env := testEnv(t)
	done := make(chan error, 8)
	for range 8 {
		go func() {
			for range 200 {
				if v, err := program.Run(env, testTime); v != 10 || err != nil {
					done <- errors.Join(err, errors.New("wrong value"))
					return
				}
			}
			done <- nil
		}()
	}
	for range 8 {
		if err := <-done; err != nil {
			t.Error(err)
		}
	}
}

func TestTemplateKeepsTypesAndWritesText(t *testing.T) {
	for text, want := range map[string]any{
		"${{ inputs.n }}": 7, "${{ inputs.days }}\n": []any{3, 1, 2}, " ${{ inputs.n }}": " 7", "plain": "plain", "": "", "$${{ x }}": "${{ x }}", "n=${{ inputs.n }}, ${{ at }}!": "n=7, 2026-03-28T10:30:15.0000005Z!",
		"a $${{ b }} ${{ inputs.site }}": "a ${{ b }} äpfel", "${{ 0.1 }}${{ true }}": "0.1true", "${{ duration(\"90m\") }} long": "1h30m long", "${{ inputs.huge }}x": "123456789012345678901234567890x",
	} {
		template, err := compileTemplate(text, NewCache().Compile)
		if err != nil {
			t.Errorf("%q: %v", text, err)
			continue
		}
		got, err := template.run(testEnv(t), testTime)
		if err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%q (-want +got):\n%s", text, diff)
		}
	}
	for text, want := range map[string]string{
		"x ${{ inputs.note }}": "null can't stand inside text; give a value for that case with `??`", "x ${{ rows }}": "a list can't stand inside text; toJSON(x) makes text of it", "x ${{ secrets.KEY }}": "a secret can't stand inside text",
	} {
		template, err := compileTemplate(text, Compile)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := template.run(testEnv(t), testTime); err == nil || err.Error() != want {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	var issue *Issue
	if _, err := compileTemplate("äx ${{ 1 + }}", Compile); !errors.As(err, &issue) || issue.Start < 7 || issue.Start > 10 {
		t.Errorf("a broken expression: %+v", err)
	}
}

func TestFitsTextSaysWhatStandsInText(t *testing.T) {
	for want, typ := range map[string]*schema.Type{
		"": schema.Of(schema.Time), "this may be null, which can't stand inside text": schema.Nullable(schema.Of(schema.Int)),
		"a list of text can't stand inside text": schema.ListOf(schema.Of(schema.String)), "a secret can't stand inside text": schema.SecretText(),
	} {
		got := ""
		if misfit := FitsText(typ); misfit != nil {
			got = misfit.Message
		}
		if got != want {
			t.Errorf("FitsText(%s) = %q, want %q", typ, got, want)
		}
	}
}

func TestEveryFunctionIsDocumentedAndItsExampleCompiles(t *testing.T) {
	docs := Functions()
	if len(docs) != len(FunctionNames()) || len(docs) < 60 {
		t.Fatalf("%d docs, %d names", len(docs), len(FunctionNames()))
	}
	for _, doc := range docs {
		if doc.Signature == "" || doc.Doc == "" || !strings.HasPrefix(doc.Signature, doc.Name+"(") {
			t.Errorf("%s: %+v", doc.Name, doc)
		}
		if !strings.Contains(doc.Example, doc.Name) {
			t.Errorf("%s: example %q", doc.Name, doc.Example)
		}
		if _, err := Compile(doc.Example); err != nil {
			t.Errorf("%s: example %s: %v", doc.Name, doc.Example, err)
		}
	}
	for _, name := range []string{"now", "cross", "startOf", "endOf", "addTime", "formatTime", "parseTime", "toCSV", "mdTable", "uniqueBy", "chunk", "sha256", "get"} {
		if _, ok := functionTable()[name]; !ok {
			t.Errorf("%s of LANGUAGE rule 3 is missing", name)
		}
	}
}

func TestACountedRunTellsWhatItTook(t *testing.T) {
	for source, least := range map[string]int{
		`true`:                               1,
		`all(1..5000, {# > 0})`:              10_000, // as many turns, and a list of 5,000
		`len(repeat("a", 1000000)) > 0`:      1_000_000 / bytesPerStep,
		`len(1..100000) > 0`:                 100_000,
		`1 == 1` + strings.Repeat(" ", 6400): 100,
	} {
		program, err := Compile(source)
		if err != nil {
			t.Fatalf("%.40s: %v", source, err)
		}
		for range 2 { // the same each time
			result, steps, err := program.RunCounted(nil, time.Time{})
			if err != nil || result != true || steps < least || steps > 2*least+1 {
				t.Errorf("%.40s: %v after %d steps, about %d are due: %v", source, result, steps, least, err)
			}
		}
	}
	program, err := Compile(`all(1..90000, {all(1..90000, {# > 0})})`)
	if err != nil {
		t.Fatal(err)
	}
	if _, steps, err := program.RunCounted(nil, time.Time{}); err == nil || steps < maxSteps || steps > maxSteps+2*maxUnits {
		t.Errorf("beyond a limit: %d steps, %v", steps, err)
	}
}
