package format

import (
	"bytes"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

var plainKey = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]*$`) })

// rewrite notes what a scalar is written as, where that is something else.
func (p *printer) rewrite(node *spec.Node, start, end int, flow bool) {
	if p.bare[start] && p.strip(node, start, end, flow) {
		return
	}
	if node.Style != spec.Single && node.Style != spec.Double || !p.unescaped(node, start, end) {
		return
	}
	if isPlainText(node.Text, flow) {
		p.edits = append(p.edits, edit{start, end, node.Text})
	}
}

// unescaped reports whether the text of a quoted scalar stands on one line and
// shows what it holds: an escape may hide a character that no editor shows.
func (p *printer) unescaped(node *spec.Node, start, end int) bool {
	raw := p.text[start:end]
	if bytes.IndexByte(raw, '\n') >= 0 {
		return false
	}
	return node.Style == spec.Single || !bytes.Contains(bytes.ReplaceAll(raw, []byte(`\"`), nil), []byte(`\`))
}

// strip takes `${{ }}` off a bare field; false when there is none.
func (p *printer) strip(node *spec.Node, start, end int, flow bool) bool {
	text := node.Text
	inner, at, issue := eval.Bare(text)
	if issue != nil || inner == "" || inner == strings.TrimSpace(text) {
		return false
	}
	oneLine := bytes.IndexByte(p.text[start:end], '\n') < 0
	if oneLine && isPlainText(inner, flow) && (node.Style != spec.Double || p.unescaped(node, start, end)) {
		p.edits = append(p.edits, edit{start, end, inner})
		return true
	}
	if oneLine && node.Style == spec.Plain {
		p.edits = append(p.edits, edit{start, end, quoted(inner)})
		return true
	}
	if node.Style == spec.Plain && !isPlainStart(inner) {
		return false
	}
	opening := strings.Index(text, "${{")
	if strings.ContainsAny(text[opening:at], "\n") || strings.Contains(strings.TrimRight(text, "\n")[at+len(inner):], "\n") {
		return false // it stands on a line of its own
	}
	closing := at + len(inner) + strings.Index(text[at+len(inner):], "}}")
	p.edits = append(p.edits,
		edit{node.Offset(opening), node.Offset(at), ""},
		edit{node.Offset(at+len(inner)-1) + 1, node.Offset(closing+1) + 1, ""})
	return true
}

// quoted writes a text of one line in quotes.
func quoted(text string) string {
	if !strings.ContainsAny(text, `"\`) {
		return `"` + text + `"`
	}
	return "'" + strings.ReplaceAll(text, "'", "''") + "'"
}

// isPlainText reports whether a text may stand without quotes and is text then
// for every reader of YAML: one that might pass for a number, a time or a
// boolean keeps its quotes.
func isPlainText(text string, flow bool) bool {
	if !isPlainStart(text) || strings.HasSuffix(text, " ") || strings.HasSuffix(text, ":") {
		return false
	}
	if strings.Contains(text, ": ") || strings.Contains(text, " #") || flow && strings.ContainsAny(text, ",[]{}?") {
		return false
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return false
		}
	}
	switch strings.ToLower(text) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n":
		return false
	}
	return true
}

// isPlainStart reports whether a plain text may start as this one does.
func isPlainStart(text string) bool {
	first, _ := utf8.DecodeRuneInString(text)
	return unicode.IsLetter(first) || first == '_' || first == '/' || first == '(' || first == '$'
}

// Scalar writes a text as a value of one line: without quotes where it needs
// none. flow says that it stands inside of { } or [ ].
func Scalar(text string, flow bool) string {
	if isPlainText(text, flow) {
		return text
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return strconv.Quote(text) // YAML's double quotes know Go's escapes
		}
	}
	return quoted(text)
}
