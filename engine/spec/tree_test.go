package spec

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseReportsWordsWithPlaces(t *testing.T) {
	const head = "flowrun: v1\nsteps:\n"
	const rest = "  - {id: z, uses: core.log}\n"
	tests := map[string]struct {
		src  string
		want []string
		hint string
	}{
		"whole":                     {head + rest, nil, ""},
		"not a map":                 {"- a\n", []string{"FR1012 1:1"}, "flowrun: v1"},
		"no version":                {"name: x\nsteps:\n" + rest, []string{"FR1016 1:1"}, "flowrun: v1"},
		"later version":             {"flowrun: v2\nsteps:\n" + rest, []string{"FR1016 1:10"}, "flowrun: v1"},
		"no steps":                  {"flowrun: v1\n", []string{"FR1017 1:1"}, ""},
		"steps without value":       {"flowrun: v1\nsteps:\n", []string{"FR1012 2:1"}, ""},
		"no element":                {"flowrun: v1\nsteps: []\n", []string{"FR1018 2:8"}, ""},
		"steps as a map":            {"flowrun: v1\nsteps: {a: b}\n", []string{"FR1012 2:8"}, ""},
		"unknown key":               {head + rest + "finaly: []\n", []string{"FR1011 4:1"}, "`finally`"},
		"on":                        {"on: x\n" + head + rest, []string{"FR1011 1:1"}, "`triggers`"},
		"unknown key of a step":     {head + "  - uses: a.b\n    wiht: {}\n", []string{"FR1011 4:5"}, "`with`"},
		"shell step":                {head + "  - run: ls\n", []string{"FR1011 3:5"}, "no shell steps"},
		"step is text":              {head + "  - core.log\n", []string{"FR1012 3:5"}, ""},
		"step does nothing":         {head + "  - id: a\n", []string{"FR1015 3:5"}, "uses"},
		"two kinds":                 {head + "  - uses: a.b\n    let: {x: 1}\n", []string{"FR1013 4:5"}, "two steps"},
		"action with foreach":       {head + "  - id: a\n    uses: a.b\n    foreach: [1]\n    as: x\n", []string{"FR1013 5:5"}, "the loop's `steps`"},
		"key of another kind":       {head + "  - let: {x: 1}\n    timeout: 5s\n", []string{"FR1014 4:5"}, ""},
		"retry at a loop":           {head + "  - foreach: [1]\n    retry: {attempts: 2}\n    steps:\n    - uses: a.b\n", []string{"FR1014 4:5"}, "inside the loop"},
		"loop without list":         {head + "  - id: a\n    steps:\n    - uses: a.b\n", []string{"FR1017 3:5"}, ""},
		"loop without steps":        {head + "  - id: a\n    foreach: [1]\n", []string{"FR1017 3:5"}, ""},
		"with is text":              {head + "  - uses: a.b\n    with: x\n", []string{"FR1012 4:11"}, ""},
		"empty with":                {head + "  - uses: a.b\n    with:\n", []string{"FR1012 4:5"}, "leave the key out"},
		"if is a list":              {head + "  - uses: a.b\n    if: [x]\n", []string{"FR1012 4:9"}, ""},
		"let without values":        {head + "  - let: {}\n", []string{"FR1018 3:10"}, ""},
		"let with wrong keys":       {head + "  - let: {1: 2}\n", []string{"FR1007 3:11"}, ""},
		"problems inside a loop":    {head + "  - foreach: [1]\n    steps:\n    - usess: a.b\n      uses: a.b\n", []string{"FR1011 5:7"}, "`uses`"},
		"problems inside a handler": {head + rest + "finally:\n  - ues: core.log\n", []string{"FR1011 5:5"}, "`uses`"},
		"triggers need one":         {head + rest + "triggers: {}\n", []string{"FR1018 4:11"}, ""},
		"YAML and words together":   {head + "  - uses: a.b\n    if: !x\n    uses: c.d\n    wiht: {}\n", []string{"FR1009 4:9", "FR1006 5:5", "FR1011 6:5"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := Parse("x.yaml", []byte(test.src))
			if diff := cmp.Diff(test.want, places(problems)); diff != "" {
				t.Fatalf("places (-want +got):\n%s%v", diff, problems)
			}
			if len(problems) > 0 && !strings.Contains(problems[0].Hint.Text, test.hint) {
				t.Errorf("hint %q lacks %q", problems[0].Hint.Text, test.hint)
			}
		})
	}
}

func TestParseFillsTheTree(t *testing.T) {
	src := "flowrun: v1\nname: n\ninputs: {a: {type: string}}\nsteps:\n  - id: loop\n    foreach: [1, 2]\n    steps:\n      - uses: a.b\n        with: {x: 1}\n        if: !bad\nfinally:\n  - let: {y: 2}\n"
	tree, _ := Parse("x.yaml", []byte(src))
	inner := tree.Steps[0].Steps[0]
	switch {
	case tree.Name.Text != "n" || tree.Inputs == nil || tree.File != "x.yaml":
		t.Errorf("head is wrong: %+v", tree)
	case tree.Steps[0].Kind != LoopStep || inner.Kind != ActionStep || tree.Finally[0].Kind != LetStep:
		t.Error("kinds are wrong")
	case inner.With.Get("x").Text != "1":
		t.Error("with is wrong")
	case inner.If != nil || !inner.Written("if"):
		t.Error("a bad `if` must be left out, but known as written")
	}
}
