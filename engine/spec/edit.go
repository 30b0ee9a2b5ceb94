package spec

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
)

// Change replaces the part [Start, End) of a scalar's Text.
type Change struct {
	Start, End int
	Text       string
}

// Change returns the edits of the file that change parts of a scalar's text, as far as
// the way in which it is written allows: quotes of a text in quotes are written as such,
// and plain text gets quotes where it needs them then. nil = it can't be said how.
func (n *Node) Change(changes ...Change) []diag.Edit {
	if n.source == nil || n.Kind != Scalar || n.end == 0 {
		return nil
	}
	changes = slices.Clone(changes)
	slices.SortStableFunc(changes, func(a, b Change) int { return a.Start - b.Start })
	edits := make([]diag.Edit, 0, len(changes))
	for _, c := range changes {
		text, ok := n.inStyle(c.Text)
		if !ok {
			return n.requoted(changes)
		}
		from, to := n.place(c.Start), n.place(c.Start)
		if c.End > c.Start {
			to = n.place(c.End-1) + n.width(c.End-1)
		}
		if from > to {
			return nil
		}
		edits = append(edits, diag.EditOf(n.source.text, from, to, text))
	}
	return edits
}

// Rewrite returns the edit that puts another value in the place of a scalar, whatever its
// style; text is YAML.
func (n *Node) Rewrite(text string) []diag.Edit {
	if n.source == nil || n.Kind != Scalar || n.end == 0 {
		return nil
	}
	return []diag.Edit{diag.EditOf(n.source.text, n.start, n.end, text)}
}

// inStyle is a part of a text as it stands inside of the scalar; false where it can't.
func (n *Node) inStyle(text string) (string, bool) {
	if strings.ContainsAny(text, "\n\r\t") {
		return "", false
	}
	switch n.Style {
	case Single:
		return strings.ReplaceAll(text, "'", "''"), true
	case Double:
		return strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text), true
	case Plain:
		stays := !strings.Contains(text, ": ") && !strings.Contains(text, " #") && !strings.HasSuffix(text, ":")
		return text, stays && (!strings.ContainsAny(text, "{}[],") || n.holdsBraces())
	}
	return text, true
}

// holdsBraces reports whether plain text has signs of YAML's flow style already: then it
// stands in none, where they would end it.
func (n *Node) holdsBraces() bool {
	return strings.Contains(n.Text, "{{") && !strings.Contains(n.Text, ": ")
}

// requoted puts plain text as a whole into quotes, changed.
func (n *Node) requoted(changes []Change) []diag.Edit {
	if n.Style != Plain {
		return nil
	}
	text, at := "", 0
	for _, c := range changes {
		if c.Start < at || c.End > len(n.Text) {
			return nil
		}
		text += n.Text[at:c.Start] + c.Text
		at = c.End
	}
	quoted, ok := Quoted(text + n.Text[at:])
	if !ok {
		return nil
	}
	return n.Rewrite(quoted)
}

// Quoted is a text of one line in quotes, in those that need no escapes where there are
// some; false for more than a line.
func Quoted(text string) (string, bool) {
	switch {
	case strings.ContainsAny(text, "\n\r\t"):
		return "", false
	case !strings.ContainsAny(text, `"\`):
		return `"` + text + `"`, true
	case !strings.Contains(text, "'"):
		return "'" + text + "'", true
	}
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(text) + `"`, true
}
