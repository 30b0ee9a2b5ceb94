package eval

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/schema"
)

// storedRows are rows of about 300 bytes, as a step stored them.
func storedRows(n int) []any {
	rows, note := make([]any, n), strings.Repeat("note ", 40)
	for i := range rows {
		rows[i] = map[string]any{"id": i, "email": fmt.Sprintf("customer.%06d@example.org", i), "n": i % 100, "note": note + fmt.Sprint(i)}
	}
	return rows
}

func numbers1(n int) []any {
	list := make([]any, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// over runs an expression over stored rows and returns what stays of the memory that it
// takes.
func over(t testing.TB, source string, env map[string]any, limits Limits) (result any, kept int64, err error) {
	t.Helper()
	program, compileErr := Compile(source)
	if compileErr != nil {
		t.Fatalf("%s: %v", source, compileErr)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	result, err = program.RunWithin(env, testTime, limits)
	runtime.GC()
	runtime.ReadMemStats(&after)
	return result, int64(after.HeapAlloc) - int64(before.HeapAlloc), err
}

// TestIssue17ExpressionsWorkWithStoredLists: what people do with 10,000 rows of 300 bytes
// fits into the defaults, and with 50,000 into what a project may set. What is chosen is
// places, not copies. In the control the list is no stored one.
func TestIssue17ExpressionsWorkWithStoredLists(t *testing.T) {
	raised := Limits{Steps: MostSteps, Result: MostResult}
	for _, size := range []struct {
		rows   int
		limits Limits
	}{{10_000, Limits{}}, {50_000, raised}} {
		env := map[string]any{"steps": map[string]any{"r": map[string]any{"items": storedRows(size.rows)}, "s": map[string]any{"seen": numbers1(9_000)}}}
		for source, most := range map[string]int{
			`filter(steps.r.items, .n > 10)`:                                  8,
			`filter(steps.r.items, .n > 10 and .email contains "1" or .n==3)`: 8,
			`sortBy(steps.r.items, .n, "desc")`:                               8,
			`uniqueBy(steps.r.items, "id")`:                                   8,
			`chunk(steps.r.items, 500)`:                                       1,
			`steps.r.items[5:]`:                                               1,
			`groupBy(steps.r.items, string(.n))`:                              16,
			`let l = steps.r.items; filter(l, .n > 10)`:                       8,
			`filter(steps.r.items ?? [], not (.id in steps.s.seen))`:          8,
			`len(filter(steps.r.items, not (.id in steps.s.seen)))`:           1,
			`map(steps.r.items, {{id: .id, email: .email}})`:                  600,
			`{rows: filter(steps.r.items, .n > 10), all: steps.r.items}`:      8,
		} {
			_, kept, err := over(t, source, env, size.limits)
			if err != nil {
				t.Errorf("%s over %d rows: %v", source, size.rows, err)
			}
			if kept > int64(most*size.rows+1<<20) {
				t.Errorf("%s over %d rows keeps %d bytes", source, size.rows, kept)
			}
			if _, _, err := over(t, source, env, Limits{Plain: true}); err == nil && !strings.Contains(source, "len(") && !strings.Contains(source, "chunk") {
				t.Errorf("%s over %d rows goes well where nothing is stored: the test shows nothing", source, size.rows)
			}
		}
	}
}

// TestIssue17PassesAreBounded: passes over stored lists bring steps, but not in the body
// of another one, and not without end.
func TestIssue17PassesAreBounded(t *testing.T) {
	env := map[string]any{"big": numbers1(10_000), "half": numbers1(60_000)}
	many := "count(half, # < 0)" + strings.Repeat(" + count(half, # < 0)", 150)
	for source, want := range map[string]string{
		`count(big, any(big, # == -1))`:      "too many steps (at most 150000)",
		many:                                 "too many steps",
		`map(1..20, map(1..20, big))`:        "too large",
		`map(1..9000, filter(big, # > -1))`:  "too many steps",
		`map(1..9000, {{a: big}})`:           "holds stored lists more than once",
		`map(1..9000, take(big, 10000 - #))`: "holds stored lists more than once",
	} {
		program, err := Compile(source)
		if err != nil {
			t.Fatal(source, err)
		}
		_, steps, err := program.counted(env, testTime, Limits{})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v, want %s", source, err, want)
		}
		if most := maxSteps + maxElements*sortSteps + 2*maxUnits; steps > most {
			t.Errorf("%.60s takes %d steps", source, steps)
		}
	}
}

// TestIssue17WhatIsMadeIsMeasured: what an expression makes is none of the lists that
// somebody else keeps, whatever names it goes by.
func TestIssue17WhatIsMadeIsMeasured(t *testing.T) {
	made := "map(1..9000, # == 0 ? \"\" : \"a text of forty characters, or near that\")"
	for _, source := range []string{
		made, "let x = " + made + "; filter(x, # != \"b\")", "let x = {list: " + made + "}; x.list[1:]", "take(" + made + ", 8999)", "map([" + made + "], filter(#, # != \"b\"))[0]", "true ? " + made + " : []",
	} {
		program, err := Compile(source)
		if err != nil {
			t.Fatal(source, err)
		}
		if _, err := program.Run(nil, testTime); err == nil || !strings.Contains(err.Error(), "the result is too large") {
			t.Errorf("%s: %v", source, err)
		}
	}
}

// TestIssue17LimitsNameTheirKey: each failure says what a project may set, up to what.
func TestIssue17LimitsNameTheirKey(t *testing.T) {
	steps, result := "`limits: {expression_steps: …}` in flowrun.yaml raises it, up to 2000000", "`limits: {expression_result: …}` in flowrun.yaml raises it, up to 4 MiB"
	for source, hint := range map[string]string{
		`count(1..1000, any(1..200, # < 0))`: steps, `repeat("a", 2000000)`: steps, `1..300000`: steps, `map(1..60000, "abcd")`: result,
	} {
		program, err := Compile(source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := program.Run(nil, testTime); err == nil || !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: %v, want %s", source, err, hint)
		}
		if _, err := program.RunWithin(nil, testTime, Limits{Steps: MostSteps, Result: MostResult}); err != nil {
			t.Errorf("%s within the ceilings: %v", source, err)
		}
	}
	program, err := Compile(`map(1..490000, "abcdefgh")`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.RunWithin(nil, testTime, Limits{Steps: 10 * MostSteps, Result: 10 * MostResult}); err == nil || !strings.Contains(err.Error(), "`expression_result` is at its ceiling of 4 MiB") {
		t.Errorf("above the ceiling: %v", err)
	}
}

// TestIssue17InIsEqualityWhateverTheTable: a table answers as the comparison with each
// element does.
func TestIssue17InIsEqualityWhateverTheTable(t *testing.T) {
	utc := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	pool := []any{
		nil, true, false, 0, 1, -1, 1 << 53, 1<<53 + 1, float64(1 << 53), 1.0, 1.5, -0.5, 1e300, 9.3e18, "", "1", "true", "a", "b", utc, utc.In(time.FixedZone("", 3600)), utc.Add(1), time.Hour, time.Duration(1),
		json.Number("9223372036854775808"), json.Number("1e20"), 9223372036854775808.0, []any{1}, []any{1.0}, []any{}, map[string]any{}, map[string]any{"a": 1},
	}
	program, err := Compile(`map(asked, # in list)`)
	if err != nil {
		t.Fatal(err)
	}
	source, found, tables := rand.New(rand.NewPCG(17, 1)), 0, 0 //nolint:gosec // a test's
	for range 300 {
		list := make([]any, 10+source.IntN(30))
		for i := range list {
			list[i] = pool[source.IntN(len(pool))]
		}
		env := map[string]any{"asked": pool, "list": list}
		if source.IntN(2) == 0 {
			env["list"] = schema.Stored(list)
		}
		got, gotErr := program.Run(env, testTime)
		want, wantErr := program.RunWithin(env, testTime, Limits{Plain: true})
		if diff := cmp.Diff(want, got); gotErr != nil || wantErr != nil || diff != "" {
			t.Fatalf("%v %v (-compared +table)\n%s\n%v", gotErr, wantErr, diff, list)
		}
		for _, one := range got.([]any) {
			if one == true {
				found++
			}
		}
		if len(list) >= leastHashed {
			tables++
		}
	}
	if found < 1000 || tables < 100 {
		t.Errorf("%d elements are found, %d lists are long enough for a table", found, tables)
	}
}

// TestIssue17InTakesAStepForAQuestion: the steps of many questions grow with the
// questions and the list, not with both multiplied.
func TestIssue17InTakesAStepForAQuestion(t *testing.T) {
	program, err := Compile(`count(rows, # in seen)`)
	if err != nil {
		t.Fatal(err)
	}
	took := func(n int, limits Limits) int {
		_, steps, err := program.counted(map[string]any{"rows": numbers1(n), "seen": numbers1(n)}, testTime, limits)
		if err != nil && !limits.Plain {
			t.Fatal(err)
		}
		return steps
	}
	small, large := took(1_000, Limits{}), took(8_000, Limits{})
	if large > 9*small {
		t.Errorf("1,000 questions take %d steps, 8,000 take %d", small, large)
	}
	if small, large := took(300, Limits{Plain: true}), took(2_400, Limits{Plain: true}); large < 12*small {
		t.Errorf("the control: without a table 300 take %d, 2,400 take %d", small, large)
	}
}

// BenchmarkStored is what people do with 10,000 stored rows.
func BenchmarkStored(b *testing.B) {
	env := map[string]any{"rows": storedRows(10_000), "seen": numbers1(9_000)}
	for name, source := range map[string]string{
		"filter": `filter(rows, .n > 10)`, "map": `map(rows, {{id: .id, email: .email}})`, "dedupe": `filter(rows, not (.id in seen))`, "sortBy": `sortBy(rows, .email)`,
	} {
		b.Run(name, func(b *testing.B) {
			program, err := Compile(source)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := program.Run(env, testTime); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
