package view

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Filling asks a person for the fields of a form, one after the other.
type Filling struct {
	schema json.RawMessage
	fields []workspace.FormField // that are asked for
	last   string                // what Enter does at the last field
	given  map[string]workspace.Input

	at    int // of fields
	typed string
	mark  int    // of what the field can be chosen from
	wrong string // with what was typed last
}

// NewFilling returns what asks for some fields of a form; last says what follows from the
// last one.
func NewFilling(schema json.RawMessage, last string, fields []workspace.FormField) *Filling {
	f := &Filling{schema: schema, fields: fields, last: last}
	f.restart()
	return f
}

// restart asks for all fields anew.
func (f *Filling) restart() {
	f.given = map[string]workspace.Input{}
	f.turnTo(0)
}

// Fields is how many fields are asked for.
func (f *Filling) Fields() int { return len(f.fields) }

// Given is what was filled in so far.
func (f *Filling) Given() map[string]workspace.Input { return maps.Clone(f.given) }

// turnTo asks for one of the fields.
func (f *Filling) turnTo(at int) {
	f.at, f.typed, f.mark, f.wrong = at, "", 0, ""
	if at < len(f.fields) {
		field := f.fields[at]
		f.mark = max(slices.IndexFunc(choicesOf(field), func(c choice) bool { return field.Default != nil && string(c.input.JSON) == string(field.Default) }), 0)
	}
}

// Press takes a key. Done says that all fields are filled in, left that the person does not
// want to.
func (f *Filling) Press(key term.Key) (done, left bool) {
	if f.at >= len(f.fields) {
		return true, false
	}
	choices := choicesOf(f.fields[f.at])
	switch key {
	case term.KeyEscape:
		if f.at == 0 {
			return false, true
		}
		f.turnTo(f.at - 1)
		delete(f.given, f.fields[f.at].Name)
	case term.KeyEnter:
		return f.enter(choices), false
	case term.KeyUp:
		f.mark = max(f.mark-1, 0)
	case term.KeyDown:
		f.mark = max(min(f.mark+1, len(choices)-1), 0)
	case term.KeyClear:
		f.write("", choices)
	case term.KeyBackspace:
		if letters := []rune(f.typed); len(letters) > 0 {
			f.write(string(letters[:len(letters)-1]), choices)
		}
	default:
		if letter, ok := key.Letter(); ok {
			f.write(f.typed+letter, choices)
		}
	}
	return false, false
}

// write takes what is typed now; of choices it marks the first that begins so.
func (f *Filling) write(typed string, choices []choice) {
	f.typed, f.wrong = typed, ""
	if at := slices.IndexFunc(choices, func(c choice) bool { return beginsWith(c.text, typed) }); at >= 0 && typed != "" {
		f.mark = at
	}
}

func beginsWith(text, typed string) bool {
	return strings.HasPrefix(strings.ToLower(text), strings.ToLower(typed))
}

// enter takes what was typed or chosen for the field at hand, and goes to the next one.
func (f *Filling) enter(choices []choice) (done bool) {
	field := f.fields[f.at]
	input, given, err := f.answer(field, choices)
	if err == nil && given && field.Kind != workspace.FieldSecret { // a clear value is none for a schema
		err = f.check(field.Name, input)
	}
	if err != nil {
		f.wrong = err.Error()
		return false
	}
	if given {
		f.given[field.Name] = input
	}
	f.turnTo(f.at + 1)
	return f.at == len(f.fields)
}

func (f *Filling) answer(field workspace.FormField, choices []choice) (input workspace.Input, given bool, err error) {
	if len(choices) == 0 {
		return readTyped(field, f.typed)
	}
	chosen := choices[f.mark]
	if !beginsWith(chosen.text, f.typed) {
		return input, false, fmt.Errorf("no choice begins with `%s`", f.typed)
	}
	return chosen.input, !chosen.out, nil
}

// check says what is wrong with the value of one field.
func (f *Filling) check(name string, input workspace.Input) error {
	wrong, err := workspace.CheckForm(f.schema, map[string]workspace.Input{name: input})
	if err != nil {
		return err
	}
	if fault := wrong[name]; fault != nil {
		return fault
	}
	return nil
}

// mostChosen is how many choices are shown at a time.
const mostChosen = 8

// lines draws the field at hand, at most width cells wide.
func (f *Filling) lines(width int, style term.Style) []string {
	if f.at >= len(f.fields) {
		return nil
	}
	field, choices := f.fields[f.at], choicesOf(f.fields[f.at])
	lines := wrapBelow(fieldLine(field), width)
	lines[0] = strings.Replace(lines[0], nameOfField(field), style.Bold(nameOfField(field)), 1)
	if field.Doc != "" {
		lines = append(lines, painted(style.Dim, indented(field.Doc, width))...)
	}
	if len(choices) > 0 {
		first := max(min(f.mark-mostChosen/2, len(choices)-mostChosen), 0)
		for i, c := range choices[first:min(first+mostChosen, len(choices))] {
			line := term.Truncate("    "+term.Clean(c.text), width)
			if first+i == f.mark {
				line = style.Bold("  › " + strings.TrimPrefix(line, "    "))
			}
			lines = append(lines, line)
		}
	} else {
		lines = append(lines, f.typedLines(field, width)...)
	}
	if f.wrong != "" {
		lines = append(lines, painted(style.Red, indented(f.wrong, width))...)
	}
	return append(lines, painted(style.Dim, indented(f.help(len(choices)), width))...)
}

// typedLines is what was typed, with the cursor: the end of it, where it is long.
func (f *Filling) typedLines(field workspace.FormField, width int) []string {
	typed := term.Clean(f.typed)
	if field.Kind == workspace.FieldSecret {
		typed = ""
	}
	parts := term.Wrap(typed+"▏", max(width-4, 1))
	parts = parts[max(len(parts)-4, 0):]
	for i := range parts {
		parts[i] = "    " + parts[i]
	}
	parts[0] = "  › " + strings.TrimPrefix(parts[0], "    ")
	return parts
}

func (f *Filling) help(choices int) string {
	enter := "Enter takes it"
	if f.at == len(f.fields)-1 {
		enter = "Enter " + f.last
	}
	parts := []string{enter, "Esc goes back"}
	if choices > 0 {
		parts = slices.Insert(parts, 0, "↑ ↓ choose")
	}
	if len(f.fields) > 1 {
		parts = slices.Insert(parts, 0, fmt.Sprintf("%d of %d", f.at+1, len(f.fields)))
	}
	return strings.Join(parts, " · ")
}

func painted(paint func(string) string, lines []string) []string {
	for i := range lines {
		lines[i] = paint(lines[i])
	}
	return lines
}

// indented wraps a text below a name.
func indented(text string, width int) []string {
	lines := term.WrapWords(term.Clean(text), max(width-4, 1))
	for i := range lines {
		lines[i] = "    " + lines[i]
	}
	return lines
}

// wrapBelow wraps a text, and moves all lines but the first to the right.
func wrapBelow(text string, width int) []string {
	lines := term.WrapWords(text, max(width-4, 1))
	for i := range lines {
		if i == 0 {
			lines[i] = "  " + lines[i]
		} else {
			lines[i] = "    " + lines[i]
		}
	}
	return lines
}
