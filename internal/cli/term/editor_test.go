package term

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func TestTabMakesAWordLonger(t *testing.T) {
	words := []string{"inputs", "inputs.name", "startsWith(", "steps"}
	complete := func(line string) (string, []string) {
		word := line[strings.LastIndex(line, " ")+1:]
		return word, slices.DeleteFunc(slices.Clone(words), func(w string) bool { return !strings.HasPrefix(w, word) || word == "" })
	}
	for _, c := range []struct {
		line, longer string
		pos, at      int
		choices      int
	}{
		{"1 + inp", "1 + inputs", 7, 10, 0},
		{"inputs.n", "inputs.name", 8, 11, 0},
		{"st", "st", 2, 2, 2},
		{"sta x", "startsWith( x", 3, 11, 0},
		{"nothing", "nothing", 7, 7, 0},
		{"", "", 0, 0, 0},
	} {
		longer, at, choices := completed(c.line, c.pos, complete)
		if longer != c.longer || at != c.at || len(choices) != c.choices {
			t.Errorf("%q at %d becomes %q at %d, %q", c.line, c.pos, longer, at, choices)
		}
	}
}

func TestOnlyATerminalIsEdited(t *testing.T) {
	if _, err := OpenEditor(strings.NewReader("x"), &strings.Builder{}, "> ", nil); !errors.Is(err, ErrNoTerminal) {
		t.Errorf("a reader was asked: %v", err)
	}
}
