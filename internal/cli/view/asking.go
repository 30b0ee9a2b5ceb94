package view

import (
	"io"

	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/cli/term"
)

// Asking draws a form at the bottom of a terminal while a person fills it in. What was filled
// in stays above it.
type Asking struct {
	screen  *screen
	filling *Filling
	done    int // how many fields stand above
}

// NewAsking returns what draws filling below the lines of a title.
func NewAsking(out io.Writer, size func() (width, height int), style term.Style, filling *Filling, title ...string) *Asking {
	a := &Asking{screen: newScreen(out, size, style, Times{}), filling: filling}
	width, _ := a.screen.room()
	for i, line := range title {
		for _, part := range term.WrapWords(term.Clean(line), width) {
			if i == 0 {
				part = style.Bold(part)
			}
			a.screen.above = append(a.screen.above, part)
		}
	}
	return a
}

// Draw draws it.
func (a *Asking) Draw() {
	width, _ := a.screen.room()
	for ; a.done < a.filling.at; a.done++ {
		field := a.filling.fields[a.done]
		a.screen.above = append(a.screen.above, wrapBelow(nameOfField(field)+" = "+shownInput(field, a.filling.given), width)...)
	}
	a.done = min(a.done, a.filling.at)
	a.screen.draw(a.filling.lines(width, a.screen.style))
}

// Close takes the form from the screen.
func (a *Asking) Close() {
	a.Draw()
	a.screen.draw(nil)
}

// shownInput is what was given for a field, but no secret.
func shownInput(field workspace.FormField, given map[string]workspace.Input) string {
	input, ok := given[field.Name]
	switch {
	case !ok && field.Default != nil:
		return term.Clean(string(field.Default))
	case !ok:
		return "(none)"
	case field.Kind == workspace.FieldSecret:
		return "(not shown)"
	case len(input.JSON) > 0:
		return term.Clean(rawText(input.JSON))
	}
	return term.Clean(input.Text)
}
