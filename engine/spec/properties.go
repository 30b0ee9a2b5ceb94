package spec

import (
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"gopkg.in/yaml.v3"
)

// properties reports the anchor and the tag that stand before a node, and moves
// n.start and n.Pos on to the node's own first character.
func (w *walker) properties(n *Node, from *yaml.Node) {
	text := w.source.text
	at := n.start
	for at < len(text) && (text[at] == '&' || text[at] == '!') {
		end := at
		for end < len(text) && !isBlank(text[end]) && !isBreak(text[end]) && !strings.ContainsRune(",[]{}", rune(text[end])) {
			end++
		}
		if text[at] == '&' {
			w.anchor(n, at, end)
		} else {
			w.tag(n, from, at, end)
		}
		if next := w.skipSpace(end); next < len(text) {
			at = next
		} else {
			at = end
			break
		}
	}
	if at == n.start {
		return
	}
	if from.Kind == yaml.ScalarNode && from.Value == "" && from.Style&^yaml.TaggedStyle == 0 {
		return // nothing follows that is the node's own
	}
	n.start = at
	n.Pos = w.source.pos(at)
}

// skipSpace steps over blanks, breaks and comments.
func (w *walker) skipSpace(at int) int {
	text := w.source.text
	for at < len(text) {
		switch {
		case isBlank(text[at]) || isBreak(text[at]):
			at++
		case text[at] == '#':
			for at < len(text) && !isBreak(text[at]) {
				at++
			}
		default:
			return at
		}
	}
	return at
}

func (w *walker) anchor(n *Node, at, end int) {
	w.problems.Errorf(w.source.span(at, end), CodeAnchor, "anchors and aliases are not allowed").Hint =
		diag.Say("write the value out where it is used, or name it in a `let` step")
	n.Bad = true
}

// tag reports a tag. Those of YAML's core schema say nothing that the wanted
// type does not say, except that !!str keeps a plain text from being a number.
func (w *walker) tag(n *Node, from *yaml.Node, at, end int) {
	name := string(w.source.text[at:end])
	switch name {
	case "!!str":
		n.strTag = true
		return
	case "!!int", "!!float", "!!bool", "!!null", "!!map", "!!seq":
		return
	}
	problem := w.problems.Errorf(w.source.span(at, end), CodeTag, "YAML tags such as `%s` are not allowed", name)
	if from.Kind == yaml.ScalarNode && !strings.HasPrefix(name, "!!") && !strings.HasPrefix(name, "!<") {
		negated := strings.TrimSpace(strings.TrimPrefix(name, "!") + " " + from.Value)
		problem.Hint = diag.Say("for the opposite of a condition write `not " + negated + "`; a text that starts with `!` needs quotes")
	}
	n.Bad = true
}
