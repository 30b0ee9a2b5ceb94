package eval

import (
	"strings"
	"testing"
)

func TestAnExpressionIsCutWhereItJoinsAndCompares(t *testing.T) {
	for source, want := range map[string]string{
		"a":                                 "a",
		"a and b":                           "a|b",
		"a && b\nand c":                     "a|b|c",
		"(a and b)":                         "(a and b)",
		"(a and b) and c":                   "(a and b)|c",
		"a and (b or c)":                    "a|(b or c)",
		"a or b and c":                      "a or b and c",
		`"x and y" == a and len([b and c])`: `"x and y" == a|len([b and c])`,
		"ä == 1 and not b":                  "ä == 1|not b",
	} {
		x, issues := Parse(source)
		if len(issues) > 0 && x == nil {
			t.Fatalf("%s: %v", source, issues)
		}
		if got := strings.Join(x.Conjuncts(), "|"); got != want {
			t.Errorf("%s is cut into %s, want %s", source, got, want)
		}
	}
	for source, want := range map[string]string{
		"a == b": "a|b", "ü[0].x ==\n[1, 2]": "ü[0].x|[1, 2]", "a and b == c": "", "(a == b)": "", "a != b": "", "(a + 1) == (b or c)": "(a + 1)|(b or c)",
	} {
		x, _ := Parse(source)
		left, right, ok := x.Compared()
		if got := strings.Trim(left+"|"+right, "|"); got != want || ok != (want != "") {
			t.Errorf("%s compares %s, want %s", source, got, want)
		}
	}
}
