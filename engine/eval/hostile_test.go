package eval

import (
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// hostileEnv has values of the size that a plugin may answer with.
func hostileEnv() map[string]any {
	big, rows, texts := make([]any, 1000), make([]any, 10_000), make([]any, 2000)
	for i := range big {
		big[i] = i
	}
	for i := range rows {
		rows[i] = map[string]any{"host": fmt.Sprintf("host%d.example.com", i), "n": i}
	}
	for i := range texts {
		texts[i] = strings.Repeat("x", 1000)
	}
	deep := any(1)
	for range 900 {
		deep = []any{deep}
	}
	return map[string]any{
		"big": big, "rows": rows, "texts": texts, "deep": deep,
		"long": strings.Repeat("ab", 2<<20), "s": strings.Repeat("a", 10_000),
	}
}

// dag doubles a value 22 times: 2^22 elements that share their parts.
const dag = `reduce(1..22, [#acc, #acc], [1])`

// hostile are expressions that must end early with a named error. An empty name
// means that a value is an answer too.
func hostile() map[string]string {
	const steps, text, units, size = "too many steps", "too much text", "too large", "too large"
	return map[string]string{
		`1..1000000000`: units, `map(1..1000, map(1..1000, #))`: steps, `repeat("a", 1000000000)`: text, `repeat(repeat("a", 100000), 100000)`: text,
		`all(big, all(big, all(big, all(big, true))))`: steps, `count(rows, any(rows, .n == -1)) > 0`: steps, `reduce(1..40, #acc + #acc, "aaaaaaaa")`: text,
		letDoubling(40, `"aaaaaaaa"`, "+"): text, `join(map(1..90000, "x"), s)`: text, `join(map(1..200, s))`: text, `toJSON(` + dag + `)`: size,
		dag: "", `string(` + dag + `)`: "string expects", dag + ` == ` + dag: "", `let d = ` + dag + `; d == d`: "", `flatten(` + dag + `)`: "", `len(flatten(` + dag + `))`: "",
		`let d = reduce(1..60, {{a: #acc, b: #acc}}, {}); toJSON(d)`: size, `let d = reduce(1..60, {{a: #acc, b: #acc}}, {}); d == d`: "", `[` + dag + `] in [` + dag + `]`: "",
		`reduce(1..60000, [#acc], 1)`: "nested deeper", `reduce(1..40000, {{a: #acc}}, 1)`: "nested deeper", `flatten(reduce(1..60000, [#acc], 1))`: "nested deeper", `toJSON(deep)`: "nested deeper",
		`min(` + dag + `)`: "", `mean(` + dag + `)`: "", `sum(flatten(` + dag + `))`: "", `uniqueBy(map(1..100000, {{"a": #}}), "a")`: "", `reduce(1..1000, toBase64(#acc), "aaaa")`: text,
		`map(rows, toJSON(rows))`: text, `map(rows, mdTable(rows))`: "", `map(rows, toCSV(rows))`: "", `cross(rows, rows)`: units, `cross(big, big)`: units, `map(big, cross(big, [1]))`: units,
		`len(filter(rows, .host in map(rows, .host)))`: "", `filter(rows, len(filter(rows, true)) > 0)`: "", `sort(map(1..90000, -#))`: "", `map(big, sort(big))`: steps, `map(big, reverse(big))`: units, `map(big, concat(big, big))`: units,
		`map(big, split(s, ""))`: "", `map(big, replace(s, "a", s))`: text, `replace(s, "", s)`: text, `map(big, upper(s))`: text, `upper(long)`: text, `toBase64(long)`: text, `sha256(long)`: text, `map(big, sha256(s))`: text,
		`map(1..100000, len(long))`: steps, `map(big, long contains "zz")`: steps, `map(big, indexOf(long, "zz"))`: steps, `map(big, long == long + "")`: text, `map(big, trim(long, "abcdefgh"))`: steps, `trim(long, long)`: steps,
		`s matches "(a+)+$"`: "", `map(big, s matches "(a|a)*b")`: steps, `long matches "(x{0,30}){0,30}y"`: steps, `s matches "(((a{1,100}){1,100}){1,100})"`: "pattern", `s matches "` + strings.Repeat("(.{1000})", 50) + `"`: "too large",
		`map(big, s matches ("(a{1,50}){1,20}b" + string(#)))`: steps, `s matches "((a?){30}){30}b"`: "", `fromJSON(repeat("[", 100000))`: "", `fromJSON(repeat("[", 1000) + repeat("]", 1000))`: "", `fromJSON("[" + repeat("[],", 99000) + "1]")`: "",
		`map(1..90000, {{}})`: units, `map(1..50000, {{a: {b: {c: 1}}}})`: units, `map(1..1000, map(1..100, {{a: [1, 2, 3]}}))`: "", `groupBy(map(1..90000, {{"a": #}}), string(.a))`: "", `2 ** 100000`: "finite", `9223372036854775807 + 1`: "64-bit",
		`reduce(1..90, #acc * 3, 1)`: "64-bit", `map(1..100000, formatTime(now(), "2006", "Etc/GMT+" + string(# % 12)))`: "", `map(1..100000, formatTime(now(), "2006", "Z" + string(#)))`: "time zone", `map(1..100000, formatTime(now(), s))`: "",
		`addTime(now(), repeat("9999d", 1000))`: "too far", `parseTime(s, s)`: "", `map(1..90000, duration("1h"))`: "", `get(deep, repeat("0.", 100000))`: "", `map(1..90000, get(deep, "0.0.0.0.0.0.0"))`: "",
		`keys(fromPairs(map(1..60000, [string(#), #])))`: "", `map(big, keys(fromPairs(map(big, [string(#), #]))))`: "", `mdTable(map(1..100, fromPairs(map(1..1000, [string(#), #]))))`: "", `toCSV(map(1..5000, {{(string(#)): 1}}))`: "",
		`reduce(1..20, groupBy(concat(#acc, #acc), 1), [1])`: "", `string(1) + ` + `repeat("\u0000", 300000)`: "", `toJSON(repeat("\u0000", 300000))`: text, `map(1..3000, take(rows, 10000))`: "too large", `map(1..90000, rows)`: "too large",
		nestedBodies(): "", `reduce(1..100000, #acc + 1, 0)`: "", `let f = map(1..30000, {{a: 1}}); f == f`: "",
	}
}

func letDoubling(n int, start, operator string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "let a0 = %s;", start)
	for i := 1; i <= n; i++ {
		fmt.Fprintf(&b, "let a%d = a%d %s a%d;", i, i-1, operator, i-1)
	}
	fmt.Fprintf(&b, "a%d", n)
	return b.String()
}

// nestedBodies has a body that is as large as an expression may be.
func nestedBodies() string {
	return `count(1..100000, ` + strings.Repeat("# > 0 and ", 480) + `true)`
}

func TestHostileExpressionsEndEarlyWithANamedError(t *testing.T) {
	env := hostileEnv()
	for source, want := range hostile() {
		name := source
		if len(name) > 60 {
			name = name[:60]
		}
		program, err := Compile(source)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		attempt := func() error {
			_, err := program.Run(env, testTime)
			return err
		}
		took, used, err := measured(attempt)
		for i := 0; i < 2 && took > 250*time.Millisecond*slowdown; i++ { // a busy machine is no fault of the expression
			if again, _, _ := measured(attempt); again < took {
				took = again
			}
		}
		t.Logf("%8v %4d MiB  %s  (%v)", took.Round(time.Microsecond), used>>20, name, err)
		if took > 250*time.Millisecond*slowdown {
			t.Errorf("%s: took %v", name, took)
		}
		if used > 64<<20 && slowdown == 1 { // the race detector empties pools at random
			t.Errorf("%s: allocated %d MiB", name, used>>20)
		}
		if want == "" {
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", name, err, want)
		}
	}
}

// measured returns the time that a run took of the processor, where the system
// tells that: a busy machine is no fault of the expression.
func measured(run func() error) (took time.Duration, allocated uint64, err error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	start := processorTime()
	err = run()
	took = processorTime() - start
	runtime.ReadMemStats(&after)
	return took, after.TotalAlloc - before.TotalAlloc, err
}

func TestHostileSourcesAreRefusedBeforeTheParser(t *testing.T) {
	for source, want := range map[string]string{
		strings.Repeat("(", 1<<20): CodeTooLarge, strings.Repeat("(", 4000): CodeTooLarge, strings.Repeat("[", 4000): CodeTooLarge, strings.Repeat("{", 4000): CodeTooLarge, strings.Repeat("!", 4000): CodeTooLarge, strings.Repeat("-", 4000): CodeTooLarge, strings.Repeat("not ", 2000): CodeTooLarge,
		strings.Repeat("-\n", 2000): CodeTooLarge, strings.Repeat("- /**/", 1000): CodeTooLarge, strings.Repeat("(", 100) + "1" + strings.Repeat(")", 100): "", strings.Repeat("1+", 2000) + "1": CodeTooLarge, strings.Repeat("1?", 1500): CodeSyntax, strings.Repeat("a.", 2500) + "a": CodeTooLarge,
		strings.Repeat("a**", 2000) + "a": CodeTooLarge, strings.Repeat("let a=", 1000): CodeSyntax, strings.Repeat("map(a,", 101): CodeTooLarge, strings.Repeat("a|", 3000): CodeSyntax, "if " + strings.Repeat("a {1} else if ", 500): "", `"` + strings.Repeat(`\`, 3000): CodeUnclosed,
	} {
		took, used, err := measured(func() error {
			x, issues := Parse(source)
			if len(issues) > 0 {
				return &issues[0]
			}
			x.Check(testScope())
			x.Compile()
			return nil
		})
		if took > 250*time.Millisecond*slowdown || used > 64<<20 {
			t.Errorf("%.20s…: took %v and %d MiB", source, took, used>>20)
		}
		if issue, _ := err.(*Issue); want != "" && (issue == nil || issue.Code != want && !(want == CodeTooLarge && slices.Contains([]string{CodeNested, CodeParts}, issue.Code))) {
			t.Errorf("%.20s…: %v, want %s", source, err, want)
		}
	}
}

func TestForbiddenNamesAreRefused(t *testing.T) {
	for marked, want := range map[string]string{
		`toJSON(«$env»)`: CodeForbidden, `«$env».x`: CodeForbidden, `«$env»["x"]`: CodeForbidden, `«__tick»`: CodeForbidden, `let «__x» = 1; 2`: CodeForbidden, `«uniq»([1])`: CodeForbidden, `«timezone»("UTC")`: CodeForbidden, `«b"x"»`: CodeForbidden,
		`map([1], «#acc»)`: CodeName, `map([1], «#foo»)`: CodeName, `reduce([[1]], map(#, «#acc»), 0)`: CodeName, `«foo»(1)`: CodeFunction, `1 | «foo»()`: CodeFunction, `«always»()`: CodeFunction, `map([1], «uppr»("a"))`: CodeFunction, `::«uniq»([1])`: CodeForbidden,
	} {
		start := strings.Index(marked, "«")
		source := strings.NewReplacer("«", "", "»", "").Replace(marked)
		_, issues := Parse(source)
		if len(issues) != 1 || issues[0].Code != want {
			t.Errorf("%s: %s, want one %s", marked, describe(issues), want)
			continue
		}
		if end := strings.Index(marked, "»") - len("«"); issues[0].Start != start || issues[0].End != end && issues[0].Code != CodeName {
			t.Errorf("%s: at %d-%d, want %d-%d", marked, issues[0].Start, issues[0].End, start, end)
		}
	}
}

func TestMethodsOfGoValuesCanNotBeCalled(t *testing.T) {
	for _, source := range []string{`at.GobEncode()`, `at.In(nil)`, `at.Format("2006")`, `inputs.Exec("rm")`, `rows.Len()`, `at.String()`, `at.wall`} {
		program, err := Compile(source)
		if err != nil {
			continue
		}
		if v, err := program.Run(testEnv(t), testTime); err == nil {
			t.Errorf("%s gave %v", source, v)
		}
	}
}
