package importer

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/spec"
)

// value is a part of a file that is written.
type value struct {
	kind  spec.Kind
	text  string // of a scalar
	bare  bool   // a number, boolean, duration or null: it stands as it is
	pairs []pair
	items []*value
	plain bool // outside of { } and [ ] it stands without quotes
	block bool // never on one line
}

type pair struct {
	key   string
	value *value
	above []string // comments
}

// text is a scalar of type text.
func text(s string) *value { return &value{kind: spec.Scalar, text: s} }

// bare is a scalar that stands as it is.
func bare(s string) *value { return &value{kind: spec.Scalar, text: s, bare: true} }

func number(n int) *value { return bare(strconv.Itoa(n)) }

func list(items ...*value) *value { return &value{kind: spec.Sequence, items: items} }

func texts(items []string) *value {
	out := list()
	for _, item := range items {
		out.items = append(out.items, text(item))
	}
	return out
}

func mapping(pairs ...pair) *value { return &value{kind: spec.Mapping, pairs: pairs} }

func field(key string, v *value) pair { return pair{key: key, value: v} }

// add adds a pair, unless its value is nil.
func (v *value) add(key string, value *value) *value {
	if value != nil {
		v.pairs = append(v.pairs, pair{key: key, value: value})
	}
	return v
}

// widest is how long a map or list on one line may be, with what stands before it.
const widest = 118

// flow is the value on one line; false where it needs more.
func (v *value) flow() (string, bool) {
	switch {
	case v.block:
		return "", false
	case v.kind == spec.Scalar:
		return v.scalar(true), v.bare || !strings.Contains(v.text, "\n")
	}
	parts := make([]string, 0, len(v.items)+len(v.pairs))
	for _, item := range v.items {
		part, ok := item.flow()
		if !ok {
			return "", false
		}
		parts = append(parts, part)
	}
	for _, p := range v.pairs {
		part, ok := p.value.flow()
		if !ok || len(p.above) > 0 {
			return "", false
		}
		parts = append(parts, key(p.key)+": "+part)
	}
	open, end := "{", "}"
	if v.kind == spec.Sequence {
		open, end = "[", "]"
	}
	return open + strings.Join(parts, ", ") + end, true
}

// writer writes block style.
type writer struct{ out strings.Builder }

func (w *writer) line(indent int, text string) {
	w.out.WriteString(strings.TrimRight(strings.Repeat(" ", indent)+text, " "))
	w.out.WriteByte('\n')
}

func (w *writer) comments(indent int, lines []string) {
	for _, line := range lines {
		for _, part := range wrapped(cleanComment(line), widest-indent-2) {
			w.line(indent, "# "+part)
		}
	}
}

// pairs writes the pairs of a map. lead stands before the first one, where it is an item
// of a list.
func (w *writer) pairs(indent int, lead string, pairs []pair) {
	for i, p := range pairs {
		before := strings.Repeat(" ", len(lead))
		if i == 0 {
			before = lead
		}
		if i > 0 || lead == "" {
			w.comments(indent+len(lead), p.above)
		}
		w.behind(indent, before+key(p.key)+":", p.value)
	}
}

// behind writes a value behind its key, whose column is indent; the key's own text may have
// the dash of a list before it.
func (w *writer) behind(indent int, before string, v *value) {
	width := indent + len(before)
	inner := indent + len(before) - len(strings.TrimLeft(before, "- ")) + 2
	if v.kind == spec.Scalar {
		w.scalar(indent, before+" ", inner, v)
		return
	}
	if one, ok := v.flow(); ok && (width+1+utf8.RuneCountInString(one) <= widest || len(v.items)+len(v.pairs) == 0) {
		w.line(indent, before+" "+one)
		return
	}
	w.line(indent, before)
	if v.kind == spec.Mapping {
		w.pairs(inner, "", v.pairs)
		return
	}
	w.items(inner, v.items)
}

func (w *writer) items(indent int, items []*value) {
	for _, item := range items {
		one, ok := item.flow()
		switch {
		case item.kind == spec.Scalar:
			w.scalar(indent, "- ", indent+2, item)
		case ok && indent+2+utf8.RuneCountInString(one) <= widest:
			w.line(indent, "- "+one)
		case item.kind == spec.Mapping && len(item.pairs) > 0:
			w.pairs(indent, "- ", item.pairs)
		default:
			w.line(indent, "-")
			w.items(indent+2, item.items)
		}
	}
}

// scalar writes a scalar behind what stands before it on its line; inner is the column of a
// block text.
func (w *writer) scalar(indent int, before string, inner int, v *value) {
	if v.bare || v.plain || !fitsBlock(v.text) {
		w.line(indent, before+v.scalar(false))
		return
	}
	sign := "|-"
	if strings.HasSuffix(v.text, "\n") {
		sign = "|"
	}
	w.line(indent, before+sign)
	for _, line := range strings.Split(strings.TrimSuffix(v.text, "\n"), "\n") {
		if line == "" {
			w.out.WriteByte('\n')
			continue
		}
		w.out.WriteString(strings.Repeat(" ", inner) + line + "\n")
	}
}

// fitsBlock reports whether a text of several lines can stand as a block.
func fitsBlock(text string) bool {
	body := strings.TrimSuffix(text, "\n")
	if !strings.Contains(body, "\n") || strings.HasSuffix(body, "\n") || body[0] == ' ' || body[0] == '\n' {
		return false
	}
	for line := range strings.SplitSeq(body, "\n") {
		if line != "" && strings.TrimSpace(line) == "" || strings.HasPrefix(line, "\t") {
			return false
		}
	}
	for _, r := range body {
		if r != '\n' && r != '\t' && escaped(r) {
			return false
		}
	}
	return true
}

// plainText is what may stand without quotes wherever it stands.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_./][A-Za-z0-9_./@+-]*(?: [A-Za-z0-9_./@+(][A-Za-z0-9_./@+()-]*)*$`)
})

// words are plain texts that YAML readers take for something else.
var otherWords = []string{"true", "false", "null", "yes", "no", "on", "off", "y", "n"}

func key(text string) string { return quotedText(text) }

func (v *value) scalar(inFlow bool) string {
	switch {
	case v.bare || v.plain && !inFlow:
		return v.text
	case !inFlow && isExpression(v.text) && !strings.Contains(v.text, ": ") && !strings.Contains(v.text, " #") && !strings.ContainsFunc(v.text, escaped):
		return v.text
	}
	return quotedText(v.text)
}

// isExpression reports whether a text is one expression and nothing else.
func isExpression(text string) bool {
	return strings.HasPrefix(text, "${{ ") && strings.HasSuffix(text, " }}") && strings.Count(text, "${{") == 1
}

// quotedText is a text with the quotes that it needs.
func quotedText(text string) string {
	if plainText().MatchString(text) && !isOtherWord(text) {
		return text
	}
	if strings.ContainsAny(text, `"\`) && !strings.Contains(text, "'") && !strings.ContainsFunc(text, escaped) {
		return "'" + text + "'"
	}
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range text {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case escaped(r) && r < 0x100:
			fmt.Fprintf(&b, `\x%02X`, r)
		case escaped(r) && r < 0x10000:
			fmt.Fprintf(&b, `\u%04X`, r)
		case escaped(r):
			fmt.Fprintf(&b, `\U%08X`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isOtherWord(text string) bool {
	for _, word := range otherWords {
		if strings.EqualFold(word, text) {
			return true
		}
	}
	return strings.HasPrefix(text, ".") && strings.Trim(text, ".0123456789infaINFAe+-") == "" // .5, .inf
}

// escaped reports whether a character can only stand in a workflow as an escape.
func escaped(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7F && r <= 0xA0, r == 0x2028, r == 0x2029, r == 0xFEFF, r >= 0xFFF0 && r <= 0xFFFF, r >= 0xD800 && r <= 0xDFFF:
		return true
	}
	return false
}

// cleanComment is a comment's line without what may not stand in a file.
func cleanComment(line string) string {
	return strings.Map(func(r rune) rune {
		if escaped(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(line, "?"))
}

// wrapped cuts a line at its blanks. What begins with blanks is laid out by hand and stays.
func wrapped(line string, width int) []string {
	var lines []string
	for !strings.HasPrefix(line, " ") && utf8.RuneCountInString(line) > width {
		at := strings.LastIndex(string([]rune(line)[:width]), " ")
		if at <= 0 {
			break
		}
		lines = append(lines, line[:at])
		line = strings.TrimLeft(line[at:], " ")
	}
	return append(lines, line)
}
