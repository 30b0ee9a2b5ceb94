package spec

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
)

func places(problems diag.List) []string {
	var got []string
	for _, p := range problems {
		got = append(got, fmt.Sprintf("%s %d:%d", p.Code, p.Line, p.Column))
	}
	return got
}

func TestParseNodeReportsWithPlaces(t *testing.T) {
	many := strings.Builder{}
	for i := range 1001 {
		fmt.Fprintf(&many, "k%d:\n", i)
	}
	tests := map[string]struct {
		src  string
		want []string
		hint string // part of the first hint
	}{
		"empty file":                       {"", []string{"FR1004 1:1"}, ""},
		"comments only":                    {"# a\n\n", []string{"FR1004 1:1"}, ""},
		"start sign only":                  {"---\n", []string{"FR1004 1:1"}, ""},
		"UTF-16":                           {"\xFF\xFEa\x00", []string{"FR1002 1:1"}, "UTF-8"},
		"UTF-16 without mark":              {"a\x00:\x00", []string{"FR1002 1:1"}, "UTF-8"},
		"UTF-8 mark is taken off":          {"\xEF\xBB\xBFa: 1\n", nil, ""},
		"not UTF-8":                        {"a: b\nc: \xC3\n", []string{"FR1002 2:4"}, "UTF-8"},
		"control character":                {"a: b\x07\n", []string{"FR1002 1:5"}, "escape"},
		"old line break":                   {"a: b\u2028\n", []string{"FR1002 1:5"}, "escape"},
		"carriage return alone":            {"a: b\rc: d\n", []string{"FR1002 1:5"}, "line feed"},
		"too large":                        {"a: " + strings.Repeat("x", 256<<10), []string{"FR1003 1:1"}, ""},
		"too many keys":                    {"a:\n- x\n- y\nb:\n " + strings.ReplaceAll(many.String(), "\n", "\n "), []string{"FR1021 5:2"}, ""},
		"too deep":                         {strings.Repeat("[", 65) + strings.Repeat("]", 65), []string{"FR1020 1:65"}, ""},
		"too many values":                  {"[" + strings.Repeat("a,", 50_000) + "]", []string{"FR1019 1:100000"}, ""},
		"text too long":                    {"a: " + strings.Repeat("x", 64<<10+1), []string{"FR1022 1:4"}, ""},
		"second document":                  {"a: b\n---\nc: d\n", []string{"FR1005 2:1"}, "file of its own"},
		"end sign":                         {"a: b\n...\n", nil, ""},
		"duplicate key":                    {"a: 1\nb: 2\na: 3\n", []string{"FR1006 3:1"}, ""},
		"duplicate quoted key":             {"{a: 1, 'a': 3}\n", []string{"FR1006 1:8"}, ""},
		"number key":                       {"a: {1: x}\n", []string{"FR1007 1:5"}, `"1"`},
		"boolean key":                      {"true: x\n", []string{"FR1007 1:1"}, `"true"`},
		"yes and on are texts":             {"yes: x\non: y\n2026-01-02: z\n", nil, ""},
		"map as key":                       {"{a: b}: x\n", []string{"FR1007 1:1"}, ""},
		"empty key":                        {"a: {b: c, ~: x}\n", []string{"FR1007 1:11"}, ""},
		"anchor and aliases":               {"a: &x 1\nb: *x\nc: [*x]\n", []string{"FR1008 1:4"}, "let"},
		"anchor on a map":                  {"a: &x\n  b: &y 1\n", []string{"FR1008 1:4", "FR1008 2:6"}, ""},
		"anchor on a list item":            {"a:\n  - &x b\n", []string{"FR1008 2:5"}, ""},
		"alias without anchor":             {"a: *x\n", []string{"FR1008 1:4"}, "quotes"},
		"merge of an alias":                {"a: &x {b: c}\nd:\n  <<: *x\n", []string{"FR1008 1:4"}, ""},
		"merge key":                        {"a:\n  <<: {b: c}\n", []string{"FR1008 2:3"}, "write the keys out"},
		"negation":                         {"if: !ready\n", []string{"FR1009 1:5"}, "`not ready`"},
		"negation with more":               {"if: !ready and x\n", []string{"FR1009 1:5"}, "`not ready and x`"},
		"negation with a space":            {"if: ! ready\n", []string{"FR1009 1:5"}, "`not ready`"},
		"negation with brackets":           {"if: !(a or b)\n", []string{"FR1009 1:5"}, "`not (a or b)`"},
		"negation and &&":                  {"if: !a && b\n", []string{"FR1009 1:5"}, "`not`"},
		"ampersand":                        {"a: b\nc: && d\n", []string{"FR1008 2:4"}, "quotes"},
		"binary":                           {"a: !!binary aGVsbG8=\n", []string{"FR1009 1:4"}, ""},
		"tag and anchor":                   {"a: !t &x b\n", []string{"FR1008 1:7", "FR1009 1:4"}, ""},
		"core tags":                        {"a: !!str 5\nb: !!map {c: !!int 5}\n", nil, ""},
		"tag on a map":                     {"a: !t {b: c}\n", []string{"FR1009 1:4"}, ""},
		"not a number":                     {"a: .nan\nb: -.inf\nc: '.inf'\nd: .infinity\n", []string{"FR1010 1:4", "FR1010 2:4"}, "quote"},
		"unclosed bracket":                 {"a: b\nc: [1, 2\nd: 3\n", []string{"FR1001 2:4"}, ""},
		"unclosed brace at the end":        {"a: {b: c\n", []string{"FR1001 1:4"}, ""},
		"unclosed quote":                   {"a: b\nc: \"x\nd: e\n", []string{"FR1001 2:4"}, ""},
		"unclosed single quote":            {"a: 'x\n", []string{"FR1001 1:4"}, ""},
		"unquoted ternary":                 {"if: a ? b : c\n", []string{"FR1001 1:11"}, "into quotes"},
		"colon in a text":                  {"a: see: b\n", []string{"FR1001 1:7"}, "quote"},
		"expression in flow map":           {"a: {domain: ${{ x }}}\n", []string{"FR1001 1:13"}, `"${{`},
		"expression in flow list":          {"a: [${{ x }}]\n", []string{"FR1001 1:5"}, `"${{`},
		"tab":                              {"a:\n\tb: c\n", []string{"FR1001 2:1"}, "spaces"},
		"tab after a text":                 {"a: b\n\tc: d\n", []string{"FR1001 2:1"}, "spaces"},
		"backtick":                         {"a: `x`\n", []string{"FR1001 1:4"}, "quote"},
		"at sign":                          {"a: b\ne: é @\nc: @x\n", []string{"FR1001 3:4"}, "quote"},
		"missing colon":                    {"a: b\nc\nd: e\n", []string{"FR1001 2:1"}, "colon"},
		"item without space":               {"- a\n-b\n", []string{"FR1001 2:1"}, "`- ` with a space"},
		"text after quote":                 {"a: 'it's'\n", []string{"FR1001 1:8"}, "quote twice"},
		"wrong indentation":                {"a:\n  - b\n c: d\n", []string{"FR1001 3:2"}, "indentation"},
		"unknown escape":                   {`a: "\q"` + "\n", []string{"FR1001 1:5"}, ""},
		"item on the key's line":           {"a: - b\n", []string{"FR1001 1:4"}, ""},
		"closing bracket too much":         {"a: [b]]\n", []string{"FR1001 1:7"}, ""},
		"problems at several places":       {"a: 1\na: 2\nc: !x\nd: &y 1\n", []string{"FR1006 2:1", "FR1009 3:4", "FR1008 4:4"}, ""},
		"wide characters before the place": {"ключ: {значение: &x 1}\n", []string{"FR1008 1:18"}, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, problems := ParseNode("x.yaml", []byte(test.src), DefaultLimits())
			got := places(problems)
			if name == "tag and anchor" {
				got = []string{got[1], got[0]}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Fatalf("places (-want +got):\n%s%v", diff, problems)
			}
			if len(problems) > 0 && !strings.Contains(problems[0].Hint.Text, test.hint) {
				t.Errorf("hint %q lacks %q", problems[0].Hint.Text, test.hint)
			}
		})
	}
}

func TestDuplicateKeyPointsToTheFirst(t *testing.T) {
	root, problems := ParseNode("x.yaml", []byte("a: 1\nb: 2\na: 3\n"), DefaultLimits())
	if len(problems) != 1 || len(problems[0].Related) != 1 || problems[0].Related[0].Line != 1 {
		t.Fatalf("got %+v", problems)
	}
	if got := root.Get("a").Text; got != "1" || len(root.Pairs) != 2 {
		t.Errorf("kept %q of %d pairs, want the first", got, len(root.Pairs))
	}
}

func TestTextStaysAsWritten(t *testing.T) {
	for src, want := range map[string]string{
		"a: 010\n": "010", "a: 1_000\n": "1_000", "a: 2026-01-02\n": "2026-01-02", "a: yes\n": "yes", "a: 0x10\n": "0x10",
		"a: ~\n": "~", "a: 1e3\n": "1e3", "a: !!str 5\n": "5", "a:\n": "", "a: 12345678901234567890123456\n": "12345678901234567890123456",
	} {
		if n := value(t, src); n.Text != want || n.Bad {
			t.Errorf("%q: got %q", src, n.Text)
		}
	}
	if value(t, "a: !!str 5\n").IsPlain() {
		t.Error("!!str 5 counts as plain, want text")
	}
}

func TestNodeJSON(t *testing.T) {
	src := "a: {n: 1, f: -0.5e3, t: true, s: yes, e: , q: \"1\", l: [~, null, 010, é\"x]}\n"
	want := `{"n":1,"f":-0.5e3,"t":true,"s":"yes","e":null,"q":"1","l":[null,null,"010","é\"x"]}`
	if got := string(value(t, src).JSON()); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"flowrun: v1\nsteps:\n  - id: a\n    uses: x.y\n    with: {b: \"${{ c }}\"}\n", "a: &x [*x]\n", "if: !a\n", "a: |2-\n\n   x\n",
		"? [a\n", "{a: ${{ b }}}", "\"\\\n", "a: >+1\n\n \n", "- - - !t &a\n", "a: 'b\n c'\r\nd: e", "%YAML 1.1\n---\n!!map {}\n--- x",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, src []byte) {
		tree, problems := Parse("x.yaml", src)
		if tree == nil && !problems.HasErrors() {
			t.Fatal("no tree and no problem")
		}
		lines := strings.Split(strings.TrimPrefix(string(src), "\xEF\xBB\xBF"), "\n")
		for _, p := range problems {
			if p.Line < 1 || p.Line > len(lines) || p.Column < 1 || p.Column > len([]rune(lines[p.Line-1]))+1 {
				t.Fatalf("%v is outside of the file", p)
			}
		}
		if tree == nil {
			return
		}
		each(tree.Root, func(n *Node) {
			for _, pos := range []diag.Pos{n.Pos, n.At(0), n.At(len(n.Text))} {
				if pos.Line < 1 || pos.Line > len(lines) || pos.Column > len([]rune(lines[pos.Line-1]))+1 {
					t.Fatalf("node at %v is outside of the file", pos)
				}
			}
		})
	})
}
