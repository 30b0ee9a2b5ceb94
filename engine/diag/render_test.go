package diag

import (
	"bytes"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const brief = "a: 1\n    if: steps.reprot.outputs.visits > 100\nб: \t日本 x\n"

func renderer(color bool) Renderer {
	return Renderer{Color: color, Source: func(file string) ([]byte, bool) { return []byte(brief), file == "b.yaml" }}
}

func render(t *testing.T, color bool, problems ...Problem) string {
	t.Helper()
	var b strings.Builder
	if err := renderer(color).Write(&b, problems); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestWriteShowsThePlaceWithCarets(t *testing.T) {
	got := render(t, false,
		Problem{
			Pos: Pos{File: "b.yaml", Line: 2, Column: 15, EndLine: 2, EndColumn: 21}, Code: "FR2004", Severity: Error,
			Message: "no step has the id `reprot`", Hint: Say("did you mean `report`?"),
		},
		Problem{
			Pos: Pos{File: "b.yaml", Line: 3, Column: 8}, Code: "FR2001", Severity: Warning, Message: "narrow", // after wide characters
			Related: []Related{{Pos: Pos{File: "b.yaml", Line: 1, Column: 1}, Message: "first written here"}},
		})
	want := "error[FR2004]: no step has the id `reprot`\n" +
		" --> b.yaml:2:15\n" +
		"  |\n" +
		"2 |     if: steps.reprot.outputs.visits > 100\n" +
		"  |               ^^^^^^\n" +
		"  = help: did you mean `report`?\n" +
		"\n" +
		"warning[FR2001]: narrow\n" +
		" --> b.yaml:3:8\n" +
		"  |\n" +
		"3 | б: \t日本 x\n" +
		"  |    \t     ^\n" +
		"  = note: first written here (b.yaml:1:1)\n"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// The form that docs/codes.md shows, line number included.
func TestWriteLooksLikeTheInterface(t *testing.T) {
	src := strings.Repeat("\n", 10) + "    if: steps.reprot.outputs.visits > 100\n"
	r := Renderer{Source: func(string) ([]byte, bool) { return []byte(src), true }}
	var b strings.Builder
	if err := r.Write(&b, List{{
		Pos:  Pos{File: "workflows/morning-brief.yaml", Line: 11, Column: 15, EndLine: 11, EndColumn: 21},
		Code: "FR2004", Severity: Error, Message: "no step has the id `reprot`", Hint: Say("did you mean `report`?"),
	}}); err != nil {
		t.Fatal(err)
	}
	want := "error[FR2004]: no step has the id `reprot`\n" +
		"  --> workflows/morning-brief.yaml:11:15\n" +
		"   |\n" +
		"11 |     if: steps.reprot.outputs.visits > 100\n" +
		"   |               ^^^^^^\n" +
		"   = help: did you mean `report`?\n"
	if diff := cmp.Diff(want, b.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWriteWithoutTheFile(t *testing.T) {
	got := render(t, false, Problem{Pos: Pos{File: "gone.yaml", Line: 9, Column: 2}, Code: "FR1", Severity: Error, Message: "m"})
	if want := "error[FR1]: m\n --> gone.yaml:9:2\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestWriteSteersNoTerminal(t *testing.T) {
	got := render(t, false, Problem{Pos: Pos{File: "x", Line: 1, Column: 1}, Code: "FR1", Severity: Error, Message: "a\x1b]0;b\u202Ec\n"})
	if strings.ContainsAny(got, "\x1b\u202E") || !strings.Contains(got, `a\u001b]0;b\u202ec`) {
		t.Errorf("got %q", got)
	}
}

func TestWriteColorOnlyWhenAsked(t *testing.T) {
	problem := Problem{Pos: Pos{File: "b.yaml", Line: 1, Column: 1}, Code: "FR1", Severity: Error, Message: "m"}
	if got := render(t, true, problem); !strings.Contains(got, "\x1b[31merror[FR1]\x1b[0m") {
		t.Errorf("no colour in %q", got)
	}
	if got := render(t, false, problem); strings.Contains(got, "\x1b") {
		t.Errorf("colour in %q", got)
	}
}

func TestWriteJSON(t *testing.T) {
	var b bytes.Buffer
	if err := WriteJSON(&b, List{{
		Pos: Pos{File: "a", Line: 1, Column: 2, EndLine: 1, EndColumn: 5}, Code: "FR1", Severity: Error, Message: "<m>", Hint: Say("h"),
		Related: []Related{{Pos: Pos{File: "a", Line: 3, Column: 4}, Message: "r"}},
	}}, 2); err != nil {
		t.Fatal(err)
	}
	want := `{"problems":[{"file":"a","line":1,"column":2,"end_line":1,"end_column":5,"code":"FR1","severity":"error","message":"<m>","hint":"h",` +
		`"related":[{"file":"a","line":3,"column":4,"message":"r"}]}],"files":2}` + "\n"
	if got := b.String(); got != want {
		t.Errorf("got  %swant %s", got, want)
	}
	b.Reset()
	if err := WriteJSON(&b, nil, 0); err != nil || b.String() != `{"problems":[],"files":0}`+"\n" {
		t.Errorf("got %q, %v", b.String(), err)
	}
}

func TestNearest(t *testing.T) {
	for word, want := range map[string]string{"reprot": "report", "wiht": "with", "x": "", "stepz": "steps"} {
		if got := Nearest(word, []string{"steps", "report", "with"}); got != want {
			t.Errorf("%s: got %q, want %q", word, got, want)
		}
	}
}
