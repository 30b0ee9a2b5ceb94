package eval

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestParseSaysWhatIsWrongAtItsPlace marks the place with «».
func TestParseSaysWhatIsWrongAtItsPlace(t *testing.T) {
	for marked, want := range map[string]string{
		`«»`:                   CodeSyntax + " the expression is empty",
		`«(»1 + 2`:             CodeUnclosed + " the bracket `(` is not closed",
		`len(«[»1, 2)`:         CodeUnclosed + " the bracket `[` is not closed; `)` stands where `]` should close it",
		`1 + 2«)»`:             CodeSyntax + " `)` closes nothing",
		`a == «"»x`:            CodeUnclosed + ` the quote " is not closed`,
		`a == «'»x`:            CodeUnclosed + " the quote ' is not closed",
		`a «/*» b`:             CodeUnclosed + " the comment `/*` is not closed",
		`a «=» 1`:              CodeSyntax + " unexpected `=`; compare with `==`",
		`"ä" «=» 1`:            CodeSyntax + " unexpected `=`; compare with `==`",
		`a «b»`:                CodeSyntax + " unexpected `b`",
		`a ?? b «==» c`:        CodeSyntax + " `??` needs parentheses beside another operator; write `(a ?? b) == c`",
		`«"\q"»`:               "",
		`a«@»`:                 CodeSyntax + " unexpected character U+0040 '@'",
		`99999999999999999999`: "",
	} {
		source := strings.NewReplacer("«", "", "»", "").Replace(marked)
		x, issues := Parse(source)
		if len(issues) != 1 || x != nil {
			t.Errorf("%s: %v, want one issue", marked, issues)
			continue
		}
		if want == "" {
			continue
		}
		issue := issues[0]
		if diff := cmp.Diff(want, issue.Code+" "+issue.Error()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", marked, diff)
		}
		if start, end := strings.Index(marked, "«"), strings.Index(marked, "»")-len("«"); issue.Start != start || issue.End != end {
			t.Errorf("%s: at %d-%d, want %d-%d", marked, issue.Start, issue.End, start, end)
		}
	}
	if _, issues := Parse("1 +"); len(issues) != 1 || issues[0].Message != "the expression ends too early" {
		t.Errorf("1 +: %v", issues)
	}
}

func TestReadsFindsEveryRootAndItsMembers(t *testing.T) {
	type read struct {
		path    string
		dynamic bool
	}
	for source, want := range map[string][]read{
		`steps.a.outputs.x + inputs.n`:                    {{"steps.a.outputs.x", false}, {"inputs.n", false}},
		`steps["a"].outputs["b c"]`:                       {{"steps.a.outputs.b c", false}},
		`steps.a?.outputs?.x ?? 1`:                        {{"steps.a?.outputs?.x", false}},
		`steps[inputs.which].x`:                           {{"inputs.which", false}, {"steps", true}},
		`steps.a.rows[0].x`:                               {{"steps.a.rows", true}},
		`filter(steps.a.rows, .x == steps.b.y and # > 1)`: {{"steps.a.rows", false}, {"steps.b.y", false}},
		`let x = steps.a; x.y + inputs.x`:                 {{"steps.a", false}, {"inputs.x", false}},
		`steps.a.at.Year() + len(steps.b)`:                {{"steps.a.at", false}, {"steps.b", false}},
		`{a: steps.x, (inputs.k): [steps.y]}`:             {{"steps.x", false}, {"inputs.k", false}, {"steps.y", false}},
		`steps.a.text[1:inputs.n]`:                        {{"steps.a.text", false}, {"inputs.n", false}},
		`(steps.a).b`:                                     {{"steps.a.b", false}},
		`find(steps.a, true)?.x`:                          {{"steps.a", false}},
		`secrets.KEY`:                                     {{"secrets.KEY", false}},
		`steps.a ? steps.b : steps.c`:                     {{"steps.a", false}, {"steps.b", false}, {"steps.c", false}},
		`now()`:                                           nil,
	} {
		x, issues := Parse(source)
		if len(issues) > 0 {
			t.Fatalf("%s: %s", source, describe(issues))
		}
		var got []read
		for _, r := range x.Reads() {
			path := ""
			for i, part := range r.Path {
				if r.Optional[i] {
					path += "?"
				}
				if i > 0 {
					path += "."
				}
				path += part
				if text := source[r.Places[i][0]:r.Places[i][1]]; strings.Trim(text, `"`) != part {
					t.Errorf("%s: part %s stands at %q", source, part, text)
				}
			}
			got = append(got, read{path, r.Dynamic})
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(read{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", source, diff)
		}
	}
}

func TestLiteralIsTheValueOfAWrittenOutExpression(t *testing.T) {
	for source, want := range map[string]any{`"a"`: "a", `1`: 1, `true`: true, `nil`: nil, `1.5`: 1.5} {
		x, _ := Parse(source)
		if got, ok := x.Literal(); !ok || got != want {
			t.Errorf("%s: %v %v", source, got, ok)
		}
	}
	x, _ := Parse("1 + 1")
	if _, ok := x.Literal(); ok {
		t.Error("1 + 1 is no literal")
	}
}
