package eval

import (
	"fmt"
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
)

// determinismEnv has what the functions' examples read: rows and objects with
// many keys, so that an order that came from a Go map would show.
func determinismEnv() map[string]any {
	var rows []any
	for i := range 6 {
		row := map[string]any{"host": string(rune('a' + i%7)), "visits": i % 5, "country": string(rune('p' + i%4))}
		for k := range 8 {
			row[fmt.Sprintf("extra%02d", (k*5)%8)] = i * k
		}
		rows = append(rows, row)
	}
	outputs := map[string]any{"meta": map[string]any{"owner": "robin", "team": "web"}, "rows": rows, "items": rows}
	step := map[string]any{"outputs": outputs}
	return map[string]any{
		"rows": rows, "inputs": map[string]any{"sites": []any{"ABCDEFGH", "KLMNOPQR"}}, "run": map[string]any{"scheduled_at": testTime},
		"steps": map[string]any{"a": step, "domains": step, "traffic": step},
	}
}

// TestEveryFunctionGivesOneResult evaluates the example of each function, which
// `flowrun explain` shows, and the function over an object's parts where it takes a list.
func TestEveryFunctionGivesOneResult(t *testing.T) {
	env := determinismEnv()
	env["m"] = env["rows"].([]any)[1]
	for _, function := range Functions() {
		sources := []string{function.Example, "toJSON([" + function.Example + "])"}
		if function.Name != "cross" { // its own size is the point of its limit
			sources = append(sources, "map(toPairs(m), string(#[0]) + toJSON(["+function.Example+"]))")
		}
		for _, source := range sources {
			once(t, env, source)
		}
	}
}

// evaluations are those of one source. Without the sorting of names, each source that has
// two results shows it by the eleventh.
const evaluations = 200

// once fails when a source has two results.
func once(t *testing.T, env map[string]any, source string) {
	t.Helper()
	program, err := Compile(source)
	if err != nil {
		t.Errorf("%s: %v", source, err)
		return
	}
	first := ""
	for i := range evaluations {
		v, err := program.Run(env, testTime)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			return
		}
		encoded, err := schema.Encode(v)
		if err != nil {
			t.Errorf("%s: %v", source, err)
			return
		}
		if i == 0 {
			first = string(encoded)
		} else if first != string(encoded) {
			t.Errorf("%s gave %s, then %s", source, first, encoded)
			return
		}
	}
}
