package check

import (
	"fmt"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

// beyondLimits are files that are too large for a page: one for each limit of
// YAML and of expressions.
func beyondLimits() map[string]string {
	var keys, loops strings.Builder
	for i := range 1_001 {
		fmt.Fprintf(&keys, "  k%d: a\n", i)
	}
	indent := ""
	for i := range 9 {
		fmt.Fprintf(&loops, "%ssteps:\n%s  - foreach: [1]\n%s    as: i%d\n", indent, indent, indent, i)
		indent += "    "
	}
	fmt.Fprintf(&loops, "%ssteps:\n%s  - let: {x: 1}\n", indent, indent)
	expression := func(text string) string { return "steps:\n  - let: {x: \"${{ " + text + " }}\"}\n" }
	return map[string]string{
		spec.CodeEncoding:    "name: a\x01\n",
		spec.CodeLimit:       "name: " + strings.Repeat("a", 256<<10) + "\n",
		spec.CodeNodes:       "labels: {a: [" + strings.Repeat("a,", 50_000) + "]}\n",
		spec.CodeNesting:     "labels: {a: " + strings.Repeat("[", 70) + strings.Repeat("]", 70) + "}\n",
		spec.CodeKeys:        "labels:\n" + keys.String(),
		spec.CodeScalarBytes: "name: " + strings.Repeat("a", 64<<10+1) + "\n",
		CodeDepth:            loops.String(),
		eval.CodeTooLarge:    expression("1" + strings.Repeat(" + 1", 3_000)),
		eval.CodeNested:      expression(strings.Repeat("(", 101) + "1" + strings.Repeat(")", 101)),
		eval.CodeParts:       expression("1" + strings.Repeat("+1", 2_000)),
	}
}

// TestRule7EveryCodeHasAGolden shows what an author sees for each code.
// UPDATE=1 writes it.
func TestRule7EveryCodeHasAGolden(t *testing.T) {
	var b strings.Builder
	limits, without := beyondLimits(), []string{}
	for _, page := range diag.Pages() {
		text := page.Wrong
		if large, ok := limits[page.Code]; ok {
			text = large
		}
		if needsProject(page.Code) {
			continue
		}
		if text == "" {
			without = append(without, page.Code)
			continue
		}
		source := example(text)
		_, problems := checkText(docCatalog(text), "w.yaml", source)
		if page.Code == eval.CodeAny {
			problems = strictly(text)
		}
		if advised(page.Code) {
			problems = append(problems, adviceFor(text)...)
		}
		if len(problems) != 1 || problems[0].Code != page.Code {
			t.Errorf("%s: %.300v", page.Code, problems)
			continue
		}
		shown := func(string) ([]byte, bool) { return []byte(source), len(source) < 2_000 }
		if err := (diag.Renderer{Source: shown}).Write(&b, problems); err != nil {
			t.Fatal(err)
		}
		b.WriteByte('\n')
	}
	if len(without) > 0 {
		t.Errorf("codes without a golden: %v", without)
	}
	current(t, "testdata/codes.golden", b.String())
}
