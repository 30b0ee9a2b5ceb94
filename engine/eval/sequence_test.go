package eval_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
)

// twin is a list of rows as values, and the same kept as text.
func twin(t *testing.T, count int) (plain []any, kept *schema.Encoded) {
	t.Helper()
	var parts []schema.EncodedPart
	row := rowOf(t)
	for at := 0; at < count; {
		var b strings.Builder
		b.WriteString("[")
		for n := 0; n < 100 && at < count; n, at = n+1, at+1 {
			if n > 0 {
				b.WriteString(", ")
			}
			fmt.Fprintf(&b, `{"n":%d,"k":"k%d","f":%g,"at":"2026-03-%02dT00:00:00Z","deep":{"list":[%d,2]}}`, at, at*7%13, float64(at)/4, at%28+1, at%3)
		}
		b.WriteString("]")
		parts = append(parts, schema.EncodedPart{Text: []byte(b.String()), Element: row})
	}
	kept, err := schema.NewEncoded(parts...)
	if err != nil {
		t.Fatal(err)
	}
	if plain, err = kept.Values(); err != nil {
		t.Fatal(err)
	}
	return plain, kept
}

func rowOf(t *testing.T) *schema.Type {
	t.Helper()
	row, err := schema.FromJSON([]byte(`{"type":"object","properties":{"n":{"type":"integer"},"k":{"type":"string"},"f":{"type":"number"},"at":{"type":"string","format":"date-time"},"deep":{}}}`))
	if err != nil {
		t.Fatal(err)
	}
	return row
}

// shown is a value with its lists decoded.
func shown(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case *schema.Encoded:
		values, err := v.Values()
		if err != nil {
			t.Fatal(err)
		}
		return shown(t, values)
	case []any:
		all := make([]any, len(v))
		for i := range v {
			all[i] = shown(t, v[i])
		}
		return all
	case map[string]any:
		all := map[string]any{}
		for name := range v {
			all[name] = shown(t, v[name])
		}
		return all
	}
	return v
}

// writer writes random programs over `rows`.
type writer struct{ rng *rand.Rand }

func (w *writer) pick(from ...string) string { return from[w.rng.IntN(len(from))] }

func (w *writer) list(depth int) string {
	if depth == 0 {
		return w.pick("rows", "rows", "rows", "some", "none")
	}
	l := w.list(depth - 1)
	return w.pick(
		l, "filter("+l+", "+w.test()+")", fmt.Sprintf("take(%s, %d)", l, w.rng.IntN(90)), fmt.Sprintf("%s[%d:%d]", l, w.rng.IntN(40)-20, w.rng.IntN(80)-20),
		"reverse("+l+")", "sortBy("+l+", "+w.pick(".n", ".k", ".f", ".at", "-.n")+`, "`+w.pick("asc", "desc")+`")`, `uniqueBy(`+l+`, "`+w.pick("k", "n", "deep.list.0")+`")`,
		"concat("+l+", "+w.list(depth-1)+")", fmt.Sprintf("(chunk(%s, %d)[%d:] ?? [])[0] ?? []", l, 1+w.rng.IntN(30), w.rng.IntN(4)), fmt.Sprintf("flatten(chunk(%s, %d))", l, 1+w.rng.IntN(30)),
		"map("+l+", #)", `(groupBy(`+l+`, .k)["k3"] ?? [])`, "(let x = "+l+"; len(x) > 5 ? x : rows)", "flatten(values(groupBy("+l+", .k)))",
	)
}

func (w *writer) test() string {
	return w.pick(fmt.Sprintf(".n > %d", w.rng.IntN(150)), `.k == "k3"`, ".f < 20 and #index > 3", `.at < date("2026-03-10T00:00:00Z")`, ".deep.list[0] == 1", "any(rows[:3], .n == 1)", "#.n in [1, 5, 9]")
}

func (w *writer) program() string {
	l, n := w.list(w.rng.IntN(4)), w.rng.IntN(40)-10
	return w.pick(
		l, "len("+l+")", "sum("+l+", .n)", "count("+l+", "+w.test()+")", w.pick("any", "all", "none", "one", "find", "findLast", "findIndex", "findLastIndex")+"("+l+", "+w.test()+")",
		w.pick("first", "last")+"("+l+")", fmt.Sprintf("%s[%d]", l, n), fmt.Sprintf("%s[%d] ?? 0", l, n), fmt.Sprintf("get(%s, %d)", l, n), fmt.Sprintf(`get(%s, "%d.k")`, l, n),
		l+" == "+w.list(2), l+" != rows", "rows[3] in "+l, "groupBy("+l+", .k)", "map("+l+", {{n: .n, i: #index}})", "mean(map("+l+", .f))", "max(map("+l+", .n))",
		`toCSV(`+l+`, ["n", "k"])`, "toJSON("+l+")", "mdTable("+l+`, ["f"])`, "reduce("+l+", #acc + .n, 0)", "reduce("+l+", #.n > #acc.n ? # : #acc)", fmt.Sprintf("chunk(%s, %d)", l, 1+w.rng.IntN(20)),
		fmt.Sprintf("map(chunk(%s, %d), len(#))", l, 1+w.rng.IntN(20)), "cross("+l+"[:3], "+l+"[:2])", "kindOf("+l+")", "type("+l+")", `join(map(`+l+`, .k), ",")`, "sort(map("+l+", .k))", "len(toPairs(groupBy("+l+", .k)))",
		"{rows: "+l+"}", "["+l+"]", "toJSON({a: "+l+"})", l+"."+w.pick("k", "n"), "fromPairs(chunk(map("+l+", .k)[:4], 2))", "concat(map("+l+", [#]), [[1]])[0]", "upper("+l+")", "string("+l+")",
		"flatten(["+l+"[:2], 1])", l+" ?? 1", "not "+l, "-"+l, l+" + 1", "sum("+l+")", "chunk("+l+", 0)", "take("+l+", -1)", `uniqueBy(map(`+l+`, .n), "n")`, "sort("+l+")",
	)
}

// TestIssue16ProgramsGiveTheSameOverAListThatIsKeptAsText runs random programs over a
// list and over the same list kept as text. Failures are the same too, but for limits,
// which grow with what is read of a list that is kept as text.
func TestIssue16ProgramsGiveTheSameOverAListThatIsKeptAsText(t *testing.T) {
	at := time.Date(2026, time.March, 2, 9, 30, 0, 0, time.UTC)
	plain, kept := twin(t, 230)
	somePlain, someKept := twin(t, 17)
	nonePlain, noneKept := twin(t, 0)
	w, compiled, failed, texts := &writer{rand.New(rand.NewPCG(16, 3))}, 0, 0, 0
	for range 2500 {
		source := w.program()
		program, err := eval.Compile(source)
		if err != nil {
			continue
		}
		compiled++
		want, wantErr := program.Run(map[string]any{"rows": plain, "some": somePlain, "none": nonePlain}, at)
		got, gotErr := program.Run(map[string]any{"rows": kept, "some": someKept, "none": noneKept}, at)
		if wantErr != nil || gotErr != nil {
			if wantErr != nil && strings.Contains(wantErr.Error(), "too ") {
				continue // a limit
			}
			failed++
			if fmt.Sprint(wantErr) != fmt.Sprint(gotErr) {
				t.Fatalf("%s fails with\n%v\nover text with\n%v", source, wantErr, gotErr)
			}
			continue
		}
		if list, stored := got.(*schema.Encoded); stored {
			if _, values := list.Kept(); !values {
				texts++
			}
		}
		if diff := cmp.Diff(shown(t, want), shown(t, got)); diff != "" {
			t.Fatalf("%s differs (-values +text):\n%s", source, diff)
		}
	}
	if compiled < 2000 || failed < 100 || texts < 40 {
		t.Errorf("%d programs, %d of them fail, %d give a list that stays text: the test looks at too little", compiled, failed, texts)
	}
}

// TestIssue16APredicateGoesOverAllOfALongList: what an evaluation may use grows with
// what it reads, up to a bound; the same list as values is too long for one.
func TestIssue16APredicateGoesOverAllOfALongList(t *testing.T) {
	at := time.Now()
	plain, kept := twin(t, 105_000)
	ints, err := schema.NewEncoded(schema.EncodedPart{Text: []byte("[" + strings.Repeat("7,", 4_999) + "7]")})
	if err != nil {
		t.Fatal(err)
	}
	many, err := schema.NewEncoded(schema.EncodedPart{Text: []byte("[" + strings.Repeat("{},", 399_999) + "{}]")})
	if err != nil {
		t.Fatal(err)
	}
	for source, want := range map[string]any{
		"len(rows)": 105_000, `len(filter(rows, .k == "k3" and .n > 5))`: 8077, "sum(rows, .n)": 105_000 * 104_999 / 2, "len(chunk(rows, 100))": 1050,
		`len(uniqueBy(rows, "k"))`: 13, `len(sortBy(rows, .f, "desc"))`: 105_000, `len(map(rows, .n))`: 105_000, "rows[-1].n": 104_999,
		`len(filter(rows, upper(.k) == "K3"))`: 8077,
	} {
		program, err := eval.Compile(source)
		if err != nil {
			t.Fatal(source, err)
		}
		if got, err := program.Run(map[string]any{"rows": kept}, at); err != nil || got != want {
			t.Errorf("%s is %v, %v, want %v", source, got, err, want)
		}
	}
	for source, word := range map[string]string{
		"filter(ints, any(ints, # == -1))": "reads more than 1000000 elements", "toCSV(rows)": "the result is too large", "flatten(many)": "flatten needs all 400000 elements",
	} {
		program, err := eval.Compile(source)
		if err != nil {
			t.Fatal(source, err)
		}
		if _, err := program.Run(map[string]any{"rows": kept, "ints": ints, "many": many}, at); err == nil || !strings.Contains(err.Error(), word) {
			t.Errorf("%s: %v, want %s", source, err, word)
		}
	}
	program, err := eval.Compile(`len(filter(rows, .k == "k3"))`)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := program.RunWithin(map[string]any{"rows": plain}, at, eval.Limits{Plain: true}); err == nil || !strings.Contains(err.Error(), "too many steps") {
		t.Errorf("the control: over values that nobody stored it ends with %v", err)
	}
}
