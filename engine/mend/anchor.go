package mend

import (
	"regexp"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
)

var (
	anchorName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^&([\w-]+) *`) })
	aliasUse   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(<<: *)?\*([\w-]+)`) })
)

// anchor writes out what an anchor names, or quotes what only looks like an alias.
func anchor(f *file, p *diag.Problem) *mend {
	at := f.offset(p.Line, p.Column)
	if at >= len(f.src) {
		return nil
	}
	if f.src[at] == '*' {
		return f.quoteValue(at, p)
	}
	name := anchorName().FindStringSubmatch(f.src[at:])
	if name == nil {
		return nil
	}
	line := f.lineOf(at)
	inline := strings.TrimSpace(f.src[at+len(name[0]) : f.end(line)])
	block, blockIndent := f.blockBelow(line)
	edits := []diag.Edit{f.edit(f.beforeBlank(at, inline == ""), at+len(name[0]), "")}
	for n := range len(f.lines) {
		text := f.at(n + 1)
		if f.blank(n + 1) {
			continue
		}
		for _, use := range aliasUse().FindAllStringSubmatchIndex(text, -1) {
			if text[use[4]:use[5]] != name[1] {
				continue
			}
			written := f.writtenOut(use[2] >= 0, inline, block, use[0], blockIndent)
			if written == "" {
				return nil
			}
			edits = append(edits, f.edit(f.start(n+1)+use[0], f.start(n+1)+use[1], written))
		}
	}
	return &mend{edits: edits, certain: true}
}

// beforeBlank is the offset of an anchor with the space before it, where nothing follows
// on its line.
func (f *file) beforeBlank(at int, last bool) int {
	if last && at > 0 && f.src[at-1] == ' ' {
		return at - 1
	}
	return at
}

// blockBelow are the lines that stand deeper than one, and their indentation.
func (f *file) blockBelow(line int) (lines []string, indent int) {
	indent = -1
	for n := line + 1; n <= f.below(line, max(f.keyColumn(line), f.indent(line))); n++ {
		if f.blank(n) {
			continue
		}
		if indent < 0 {
			indent = f.indent(n)
		}
		lines = append(lines, f.at(n))
	}
	return lines, indent
}

// writtenOut is what stands in the place of an alias, "" where it can't be said.
func (f *file) writtenOut(merged bool, inline string, block []string, column, indent int) string {
	switch {
	case merged && strings.HasPrefix(inline, "{") && strings.HasSuffix(inline, "}"):
		return strings.TrimSpace(inline[1 : len(inline)-1])
	case !merged:
		return inline
	}
	out := ""
	for i, line := range block {
		if len(line) < indent {
			return ""
		}
		if i > 0 {
			out += "\n" + spaces(column)
		}
		out += line[indent:]
	}
	return out
}
