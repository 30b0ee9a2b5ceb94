package check

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	exprlang "github.com/expr-lang/expr"
	"github.com/expr-lang/expr/file"
	"github.com/expr-lang/expr/types"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

var expected = regexp.MustCompile(`^(FR[0-9]{4}) ([0-9]+:[0-9]+)$`)

// score counts how many of the planted mistakes are found, and how many at the
// exact place.
type score struct{ files, found, exact int }

// TestControl runs the same corpus against expr's own checker alone, which sees
// the types of the inputs and of the roots, and records both scores in
// docs/checker.md. UPDATE=1 writes it.
func TestControl(t *testing.T) {
	groups := map[string]string{"FR1": "YAML and words", "FR2": "structure and triggers", "FR3": "expressions", "FR4": "inputs of actions, secrets, connections"}
	ours, control := map[string]score{}, map[string]score{}
	paths := files(t, "testdata/mistakes/*.yaml", 200)
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		first, _, _ := strings.Cut(strings.TrimPrefix(string(text), "# "), "\n")
		_, problems := checkText(catalogFor(string(text)), filepath.Base(path), string(text))
		found := exprAlone(string(text))
		for _, want := range strings.Split(first, ", ") {
			m := expected.FindStringSubmatch(want)
			if m == nil {
				t.Fatalf("%s: %q", path, want)
			}
			group := m[1][:3]
			a, b := ours[group], control[group]
			a.files, b.files = a.files+1, b.files+1
			for _, p := range problems {
				if fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column) == want {
					a.found, a.exact = a.found+1, a.exact+1
					break
				}
			}
			line, _, _ := strings.Cut(m[2], ":")
			if slices.ContainsFunc(found, func(at string) bool { return strings.HasPrefix(at, line+":") }) {
				b.found++
			}
			if slices.Contains(found, m[2]) {
				b.exact++
			}
			ours[group], control[group] = a, b
		}
	}
	valid, false1 := files(t, "testdata/valid/*.yaml", 60), 0
	for _, path := range valid {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if len(exprAlone(string(text))) > 0 {
			false1++
		}
	}
	var b strings.Builder
	fmt.Fprintf(&b, checkerPage, len(paths), len(valid))
	var all, alone score
	for _, group := range sortedNames(groups) {
		a, e := ours[group], control[group]
		fmt.Fprintf(&b, "| %s | %d | %d | %d | %d |\n", groups[group], a.files, a.exact, e.found, e.exact)
		all.files, all.exact, alone.found, alone.exact = all.files+a.files, all.exact+a.exact, alone.found+e.found, alone.exact+e.exact
	}
	fmt.Fprintf(&b, "| all | %d | %d | %d | %d |\n\n", all.files, all.exact, alone.found, alone.exact)
	fmt.Fprintf(&b, "False alarms on the %d valid workflows: flowrun 0, expr alone %d.\n", len(valid), false1)
	b.WriteString(soundPage)
	if all.exact != all.files || alone.exact >= all.exact/2 {
		t.Errorf("flowrun finds %d of %d, the control %d", all.exact, all.files, alone.exact)
	}
	current(t, "../../docs/checker.md", b.String())
}

const checkerPage = `# What the checker finds

` + "`engine/check/testdata/mistakes`" + ` holds %d workflows with planted mistakes, each with the code and the place that are expected, and
` + "`testdata/valid`" + ` holds %d without one. Every mistake must be found at its exact line and column with nothing besides.

The control is the checker of expr-lang/expr alone, on the same files: each expression is compiled with the types of the
workflow's inputs and roots. It never sees YAML, references, triggers, schemas of actions, secrets or null. It counts as found
when it reports anything on the line of the mistake.

Speed, on two cores (` + "`go test ./engine/check -run xxx -bench Validate`" + `): 100 files of 30 steps in about 200 ms, 30 µs an expression; one file
of 1,000 steps in about 80 ms. An action whose schemas decide everything is not asked ([ADR 82](adr/0082-what-schemas-decide.md)). Identical questions to a plugin's Validate are asked once; those that it had nothing to say to are not asked by the next process either, so that checking a workflow again starts no plugin.

| mistakes in | planted | flowrun, exact | expr alone, found | expr alone, exact |
|---|---|---|---|---|
`

const soundPage = `
## What newcomers are told

` + "`" + `cmd/flowrun/testdata/messages` + "`" + ` holds 62 files that newcomers write, out of the habits of GitHub Actions, Dagu, Argo, Kestra, templates and shells: 40 that the messages were made for, and 22 of the same kinds with
other names. For each slip a file says the place, the code and the mend, as a diff. The test makes each mend by itself, and then all of a file.

| | of | |
|---|---|---|
| slips that are told at their line and column | 162 | 162 |
| problems that are a slip of their own | 162 | 162 |
| mends that put their slip right and bring nothing | 156 | 154 |
| files that are valid with all mends made | 57 | 57 |
| files of another product, told as one problem | 5 | 5 |

One mend is made by hand, after the hint. ` + "`" + `flowrun validate --fix` + "`" + ` makes those that are certain ([ADR 89](adr/0089-mends-are-data.md)). Nothing is said of the workflows of this repository and the blocks of its documents.

## What the strict check promises

What ` + "`--strict`" + ` accepts fails at no run by a type, by null, by a missing field or by one that a service sends beyond its schema. ` + "`make sound`" + ` tries it: random schemas (objects, nullable and optional fields,
enums, lists, maps, free objects, objects that leave other names open, times, durations), random programs over the whole grammar and all functions, about three of four of which are accepted, and values that conform,
with nulls, absent fields, fields beyond the schema, empty lists, extremes; then whole workflows (conditions, needs, loops, failures that go on, assertions, pages, text, inputs of actions) on the real
Machine with drawn answers. Each result is held against the type that was inferred, too.

- Measured: 1,000,000 programs, three of four accepted, 8 values each: 0 failures. 5,000 accepted workflows (of 22,000 drawn), 4 runs each: 0 failures.
  ` + "`make sound`" + ` takes 100,000 of them.
- ` + "`make sound-mutants`" + `: 28 rules of the checker, broken one at a time. Each is noticed within 60 s.
- ` + "`go test ./...`" + ` has 40,000 programs and 250 workflows of it.

What values alone decide, and no type can exclude:

- division by zero, and results out of range: integers beyond 64 bits, numbers and durations that are not finite, years outside of 1 to 9998;
- text that can't be read: by ` + "`int float date parseTime duration fromJSON fromBase64`" + `, as a zone, unit, amount, order or pattern that is computed, as a time that an input wants;
- counts below 0 (` + "`take`, `repeat`, shifts" + `), and the limits of an expression;
- what an input's schema says beyond its type: enum, pattern, bounds, lengths;
- ` + "`string int float`" + ` of a value of which nothing is known;
- a step whose unknown outcome a person resolves without outputs: its reader finds null.

Sound code that is refused all the same: facts of another step's ` + "`let`" + ` flag, elements at a computed place, equality of two values that are read,
what ` + "`all(xs, …)`" + ` says of the elements, the error of a step that may be blocked. Give those a ` + "`??`" + `.
`

// exprAlone compiles every expression of a file with expr's checker and returns
// the places of its errors.
func exprAlone(text string) []string {
	tree, _ := spec.Parse("x.yaml", []byte(text))
	if tree == nil {
		return nil
	}
	c := newChecker(context.Background(), tree, catalogFor(text))
	c.inputSchema()
	options := []exprlang.Option{exprlang.Env(types.Map{
		"inputs": exprType(c.inputs), "steps": types.Any, "secrets": types.Any, "state": types.Any, "error": types.Any, "item": types.Any, "row": types.Any,
		"pair": types.Any, "outer": types.Any, "inner": types.Any, "index": types.Int, "request": types.Any, "result": types.Any, "connections": types.Any, "trigger": types.Any,
		"run": types.Map{"id": types.String, "workflow": types.String, "status": types.String, "scheduled_at": types.TypeOf(time.Time{}),
			"started_at": types.TypeOf(time.Time{}), "attempt": types.Int, "trigger": types.String},
	})}
	for _, name := range eval.FunctionNames() {
		switch name {
		case "cross", "startOf", "endOf", "addTime", "formatTime", "parseTime", "toCSV", "mdTable", "uniqueBy", "sha256":
			options = append(options, exprlang.Function(name, func(...any) (any, error) { return nil, nil }))
		}
	}
	var found []string
	compile := func(node *spec.Node, source string, base int) {
		_, err := exprlang.Compile(source, options...)
		var problem *file.Error
		if errors.As(err, &problem) {
			from := 0
			for range problem.From {
				_, size := utf8.DecodeRuneInString(source[min(from, len(source)):])
				from += size
			}
			at := node.At(base + from)
			found = append(found, fmt.Sprintf("%d:%d", at.Line, at.Column))
		}
	}
	var walk func(key string, node *spec.Node)
	walk = func(key string, node *spec.Node) {
		for _, pair := range node.Pairs {
			walk(pair.Key.Text, pair.Value)
		}
		for _, item := range node.Items {
			walk("", item)
		}
		if node.Kind != spec.Scalar || node.Bad {
			return
		}
		segments, _ := eval.Split(node.Text)
		for _, segment := range segments {
			if segment.IsExpr {
				compile(node, segment.Text, segment.Offset)
			}
		}
		if key == "if" || key == "until" {
			if source, offset, issue := eval.Bare(node.Text); issue == nil && !eval.HasExpression(source) {
				compile(node, source, offset)
			}
		}
	}
	walk("", tree.Root)
	return found
}

func exprType(t *schema.Type) types.Type {
	switch t.Kind {
	case schema.Bool:
		return types.Bool
	case schema.Int:
		return types.Int
	case schema.Number:
		return types.Float
	case schema.String:
		return types.String
	case schema.Time:
		return types.TypeOf(time.Time{})
	case schema.Duration:
		return types.TypeOf(time.Second)
	case schema.List:
		return types.Array(exprType(t.Element()))
	case schema.Object:
		m := types.Map{}
		for _, f := range t.Fields {
			m[f.Name] = exprType(f.Type)
		}
		if t.Additional != nil {
			return types.Any
		}
		return m
	}
	return types.Any
}
