package eval

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

func TestSplitFindsWhereExpressionsEnd(t *testing.T) {
	literal := func(text string, offset int) Segment { return Segment{Text: text, Offset: offset} }
	source := func(text string, offset int) Segment { return Segment{Text: text, IsExpr: true, Offset: offset} }
	for text, want := range map[string][]Segment{
		"":                               nil,
		"plain }} text $ {{":             {literal("plain }} text $ {{", 0)},
		"${{ a }}":                       {source("a", 4)},
		"${{a}}":                         {source("a", 3)},
		"ä ${{ a }} b ${{c}}":            {literal("ä ", 0), source("a", 7), literal(" b ", 11), source("c", 17)},
		`${{ map(rows, {{"n": .x}}) }}!`: {source(`map(rows, {{"n": .x}})`, 4), literal("!", 29)},
		`${{ {a: {b: 1}} }}`:             {source(`{a: {b: 1}}`, 4)},
		`${{ {a: {b: 1}}}}`:              {source(`{a: {b: 1}}`, 4)},
		`${{ "}}" + '}}' }}`:             {source(`"}}" + '}}'`, 4)},
		"${{ `}} \"` }}":                 {source("`}} \"`", 4)},
		"${{ `a``}}` }}":                 {source("`a``}}`", 4)},
		`${{ "a\"}}" }}`:                 {source(`"a\"}}"`, 4)},
		"${{ a /* }} ' */ + 1 }}":        {source("a /* }} ' */ + 1", 4)},
		"${{ a // }}\n + 1 }}":           {source("a // }}\n + 1", 4)},
		"$${{ x }} ${{ y }}":             {literal("${{ x }} ", 0), source("y", 14)},
		"a$${{":                          {literal("a${{", 0)},
		"$$${{ x }}":                     {literal("$${{ x }}", 0)},
		"${{ }}":                         {source("", 4)},
	} {
		got, issue := Split(text)
		if issue != nil {
			t.Errorf("Split(%q): %v", text, issue)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("Split(%q) (-want +got):\n%s", text, diff)
		}
	}
}

func TestSplitPointsAtWhatIsNotClosed(t *testing.T) {
	for marked, want := range map[string]string{
		"a «${{» b":            "`${{` is not closed; end the expression with `}}`; a literal `${{` is written `$${{`",
		"«${{» b }":            "`${{` is not closed; end the expression with `}}`; a literal `${{` is written `$${{`",
		"${{ «'»abc }}":        "the quote ' is not closed",
		"ä ${{ x + «\"»a\n }}": "the quote \" is not closed",
		"${{ a «/*» }}":        "the comment `/*` is not closed",
		"«${{» a // b }}":      "`${{` is not closed; the comment from `//` on hides the `}}`; use /* */ inside a line",
		"${{ a }} «${{» {}}":   "`${{` is not closed; end the expression with `}}`; a literal `${{` is written `$${{`",
	} {
		start, end := strings.Index(marked, "«"), strings.Index(marked, "»")-len("«")
		_, issue := Split(strings.NewReplacer("«", "", "»", "").Replace(marked))
		if issue == nil || issue.Start != start || issue.End != end || issue.Error() != want || issue.Code != CodeUnclosed {
			t.Errorf("%s: %+v, want %d-%d %s", marked, issue, start, end, want)
		}
	}
}

func TestBareTakesOffOneWholeExpression(t *testing.T) {
	for text, want := range map[string]Segment{
		" a > 1 ":        {Text: "a > 1", Offset: 1},
		" ${{ a > 1 }} ": {Text: "a > 1", Offset: 5},
		"{a: 1}.a == 1":  {Text: "{a: 1}.a == 1"},
	} {
		source, offset, issue := Bare(text)
		if issue != nil || source != want.Text || offset != want.Offset {
			t.Errorf("Bare(%q) = %q, %d, %v", text, source, offset, issue)
		}
	}
	if _, _, issue := Bare("${{ a "); issue == nil {
		t.Error("an unclosed ${{ is accepted")
	}
}

func TestHasExpression(t *testing.T) {
	for text, want := range map[string]bool{"a": false, "${{ a }}": true, "$${{ a }}": false, "$${{ a }} ${{ b }}": true, "x${{": true} {
		if got := HasExpression(text); got != want {
			t.Errorf("HasExpression(%q) = %v", text, got)
		}
	}
}

// FuzzSplit: segments and issues lie inside the text, an expression is what
// stands at its offset, and text without `${{` comes back whole.
func FuzzSplit(f *testing.F) {
	for _, seed := range []string{"${{ a }}", "$${{ x }}", "a ${{ {b: '}}'} }} c", "${{ `", "${{ /* }}"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		segments, issue := Split(text)
		if issue != nil && (issue.Start < 0 || issue.End > len(text) || issue.Start > issue.End) {
			t.Fatalf("issue %+v outside the text", issue)
		}
		whole := ""
		for _, segment := range segments {
			if segment.Offset < 0 || segment.Offset > len(text) {
				t.Fatalf("segment %+v outside the text", segment)
			}
			if segment.IsExpr && !strings.HasPrefix(text[segment.Offset:], segment.Text) {
				t.Fatalf("segment %+v is not at its offset", segment)
			}
			whole += segment.Text
		}
		if !strings.Contains(text, opening) && whole != text {
			t.Fatalf("text changed to %q", whole)
		}
	})
}

// FuzzCompileRun: no source panics or runs long, and every place lies inside
// the source, also in a check.
func FuzzCompileRun(f *testing.F) {
	for _, seed := range []string{`a.b + 1`, `filter(rows, .visits > 1)`, `let x = 1; x ?? nil`, `"ä" in {ä: 1}`, `rows | map(.host) | join(",")`, `a ? b : c`, "b'x'", `reduce(1..9, [#acc, #], 1)`, `if a {1} else {2}`} {
		f.Add(seed)
	}
	for source := range hostile() {
		f.Add(source)
	}
	env, scope := testEnvironment, testScope()
	f.Fuzz(func(t *testing.T, source string) {
		x, issues := Parse(source)
		if len(issues) == 0 {
			var checked []Issue
			_, checked = x.Check(scope)
			issues = append(issues, checked...)
			for _, read := range x.Reads() {
				if read.Start < 0 || read.End > len(source) || read.Start > read.End || len(read.Path) != len(read.Places) {
					t.Fatalf("read %+v outside %q", read, source)
				}
			}
			x.Proves(scope)
			value, err := x.Compile().Run(env, testTime)
			failure, ok := err.(*RunError)
			if err != nil && (!ok || failure.Start < 0 || failure.End > len(source) || failure.Start > failure.End) {
				t.Fatalf("error %+v of %q", err, source)
			}
			if ok && strings.Contains(failure.Message, "can't be evaluated: ") {
				t.Fatalf("%q panicked: %v", source, failure)
			}
			_ = value
		}
		for _, issue := range issues {
			if issue.Start < 0 || issue.End > len(source) || issue.Start > issue.End || issue.Code == "" || issue.Message == "" {
				t.Fatalf("issue %+v of %q", issue, source)
			}
			if utf8.ValidString(source) && !utf8.ValidString(source[issue.Start:issue.End]) {
				t.Fatalf("issue %+v cuts a character of %q", issue, source)
			}
		}
	})
}
