package view

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

const filledForm = `{"type":"object","required":["token","n","s"],"additionalProperties":false,"properties":{
	"token":{"type":"string","writeOnly":true},"n":{"type":"integer","description":"how many of them"},
	"label":{"enum":["stale","waiting"],"default":"waiting"},"s":{"type":["string","null"]},
	"o":{"type":"object","properties":{"a":{"type":"integer"}}}}}`

func filling(t *testing.T) *Filling {
	t.Helper()
	fields, err := workspace.FormOf(json.RawMessage(filledForm))
	if err != nil {
		t.Fatal(err)
	}
	return NewFilling(json.RawMessage(filledForm), "approves", fields)
}

// types presses the letters of a text, and Enter.
func (f *Filling) types(text string) (done bool) {
	for _, letter := range text {
		f.Press(term.Key(letter))
	}
	done, _ = f.Press(term.KeyEnter)
	return done
}

// TestAFormIsFilledInFieldByField: a secret is never shown, Enter takes a default and leaves
// out what may be left out, Esc goes back a field and then away.
func TestAFormIsFilledInFieldByField(t *testing.T) {
	f := filling(t)
	for _, letter := range "canary" {
		f.Press(term.Key(letter))
	}
	if shown := strings.Join(f.lines(80, term.Style{}), "\n"); strings.Contains(shown, "canary") || !strings.Contains(shown, "not shown") {
		t.Errorf("a secret is shown:\n%s", shown)
	}
	f.types("")
	if f.types("x"); f.wrong == "" || f.at != 1 {
		t.Errorf("x is taken for an integer: %+v", f)
	}
	f.Press(term.KeyClear)
	f.types("7")
	if _, left := f.Press(term.KeyEscape); left || f.at != 1 {
		t.Errorf("Esc goes to field %d", f.at)
	}
	f.types("8")
	if shown := strings.Join(f.lines(80, term.Style{}), "\n"); !strings.Contains(shown, "› waiting") || strings.Contains(shown, "› stale") {
		t.Errorf("the default is not marked:\n%s", shown)
	}
	f.types("")
	f.types("")
	if !f.types("") {
		t.Fatal("the form is not filled in")
	}
	got, _ := json.Marshal(f.Given())
	want := `{"label":{"json":"waiting"},"n":{"text":"8"},"s":{"json":null},"token":{"json":"canary"}}`
	if string(got) != want {
		t.Errorf("it holds %s\nwant %s", got, want)
	}
	if _, left := filling(t).Press(term.KeyEscape); !left {
		t.Error("Esc at the first field does not leave")
	}
}

// TestAFieldFitsAnyWidth: no line is wider than the terminal, and no word of it is cut.
func TestAFieldFitsAnyWidth(t *testing.T) {
	for _, width := range []int{20, 39, 79, 199} {
		f := filling(t)
		f.types("secret")
		f.types("a long text that is no integer at all")
		lines := f.lines(width, term.Style{})
		for _, line := range lines {
			if term.Width(line) > width {
				t.Errorf("width %d: a line has %d cells: %s", width, term.Width(line), line)
			}
		}
		words := strings.Join(strings.Fields(strings.Join(lines, " ")), " ")
		for _, part := range []string{"n: an integer", "how many of them", "Enter takes it · Esc goes back"} {
			if !strings.Contains(words, part) {
				t.Errorf("width %d: %q is not there:\n%s", width, part, strings.Join(lines, "\n"))
			}
		}
	}
}
