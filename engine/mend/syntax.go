package mend

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/spec"
)

// syntaxRules are those for a file that YAML can't read. They know the text alone.
func syntaxRules() []rule {
	return []rule{tabs, deeperKey, betweenLevels, openQuote, openBracket, colonMissing, unquoted}
}

var keyLine = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^(\s*(?:- +)*)("[^"]*"|'[^']*'|[\w.$-]+) *:(?:\s|$)`)
})

// isKeyLine reports whether a line begins with a key, or an item of a list.
func (f *file) isKeyLine(line int) bool {
	text := f.at(line)
	return keyLine().MatchString(text) || strings.HasPrefix(strings.TrimSpace(text), "- ")
}

// keyColumn is the column of the key that a line begins with, behind the signs of a list;
// -1 where it begins with none.
func (f *file) keyColumn(line int) int {
	found := keyLine().FindStringSubmatch(f.at(line))
	if found == nil {
		return -1
	}
	return len(found[1])
}

// next is the first line behind another that is not blank; 0 = none.
func (f *file) next(line int) int {
	for line++; line <= len(f.lines); line++ {
		if !f.blank(line) {
			return line
		}
	}
	return 0
}

func tabs(f *file, p *diag.Problem) *mend {
	if !strings.Contains(p.Message, "a tab can't indent") {
		return nil
	}
	var edits []diag.Edit
	for line := range len(f.lines) {
		text := f.at(line + 1)
		head := text[:len(text)-len(strings.TrimLeft(text, " \t"))]
		if strings.Contains(head, "\t") && head != text {
			from := f.start(line + 1)
			edits = append(edits, f.edit(from, from+len(head), strings.ReplaceAll(head, "\t", "  ")))
		}
	}
	return &mend{edits: edits, certain: true}
}

// deeperKey moves a key that is indented deeper than those it belongs to.
func deeperKey(f *file, p *diag.Problem) *mend {
	if !strings.Contains(p.Message, "is indented deeper than the key above it") {
		return nil
	}
	depth := f.indent(p.Line)
	for line := p.Line - 1; line > 0; line-- {
		if f.blank(line) {
			continue
		}
		column := f.keyColumn(line)
		if column < 0 || column >= depth {
			return nil
		}
		return &mend{edits: f.shift(p.Line, f.below(p.Line, depth-1), column-depth), certain: true}
	}
	return nil
}

// betweenLevels moves lines that stand between two levels: one column off.
func betweenLevels(f *file, p *diag.Problem) *mend {
	if !strings.Contains(p.Message, "is expected here") || !f.isKeyLine(p.Line) || f.offset(p.Line, p.Column) != f.start(p.Line)+f.indent(p.Line) {
		return nil
	}
	depth, levels := f.indent(p.Line), []int{}
	item := strings.HasPrefix(strings.TrimSpace(f.at(p.Line)), "- ")
	for line := p.Line - 1; line > 0; line-- {
		column := f.keyColumn(line)
		if item {
			column = f.indent(line)
			if !strings.HasPrefix(f.at(line)[column:], "- ") {
				continue
			}
		}
		if column >= 0 && !f.blank(line) && !slices.Contains(levels, column) {
			levels = append(levels, column)
		}
	}
	near := slices.DeleteFunc(levels, func(level int) bool { return max(level-depth, depth-level) != 1 })
	if len(near) != 1 {
		return nil
	}
	return &mend{
		edits: f.shift(p.Line, f.below(p.Line, depth-1), near[0]-depth), certain: true,
		hint: "it stands between two levels: indent it by " + diag.Count(near[0], "space") + "; until then nothing else in this file is checked",
	}
}

func openQuote(f *file, p *diag.Problem) *mend {
	if !strings.HasPrefix(p.Message, "the quote `") {
		return nil
	}
	at := f.offset(p.Line, p.Column)
	if at >= len(f.src) {
		return nil
	}
	quote, next := f.src[at:at+1], f.next(p.Line)
	end := f.start(p.Line) + len(strings.TrimRight(f.at(p.Line), " \t"))
	if next != 0 && !f.isKeyLine(next) || end <= at+1 {
		return nil // a text of several lines: where it ends nobody knows
	}
	for strings.HasPrefix(f.src[:end][at:], "{") {
		return nil
	}
	inside := f.src[at+1 : end]
	if tail := strings.TrimRight(inside, "}]"); tail != inside && strings.Count(f.src[f.start(p.Line):at], "{")+strings.Count(f.src[f.start(p.Line):at], "[") > 0 {
		end -= closers(inside, f.src[f.start(p.Line):at])
	}
	return &mend{
		edits: []diag.Edit{f.insert(end, quote)}, certain: true,
		hint: "close it at the end of the text; until then nothing else in this file is checked",
	}
}

// closers is how many brackets at the end of a text close those that were opened before
// it.
func closers(text, before string) int {
	open := strings.Count(before, "{") + strings.Count(before, "[")
	n := 0
	for n < len(text) && n < open && strings.IndexByte("}]", text[len(text)-1-n]) >= 0 {
		n++
	}
	return n
}

func openBracket(f *file, p *diag.Problem) *mend {
	if !strings.HasPrefix(p.Message, "the bracket `") {
		return nil
	}
	next := f.next(p.Line)
	if next != 0 && !f.isKeyLine(next) {
		return nil
	}
	var open []byte
	quote := byte(0)
	line := strings.TrimRight(f.at(p.Line), " \t")
	for i := range len(line) {
		switch b := line[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '{':
			open = append(open, '}')
		case b == '[':
			open = append(open, ']')
		case (b == '}' || b == ']') && len(open) > 0:
			open = open[:len(open)-1]
		}
	}
	if len(open) == 0 || quote != 0 {
		return nil
	}
	slices.Reverse(open)
	return &mend{
		edits: []diag.Edit{f.insert(f.start(p.Line)+len(line), string(open))}, certain: true,
		hint: "close it with `" + string(open) + "`; until then nothing else in this file is checked",
	}
}

var (
	itemWithoutSpace  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*-(\w)`) })
	valueWithoutSpace = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:- +)?[a-z_]+:([^\s:/])`) })
	keyWithoutColon   = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\s*(?:- +)?([a-z_]+)( +\S|$)`) })
)

// colonMissing is for a line that is no key and no item.
func colonMissing(f *file, p *diag.Problem) *mend {
	if !strings.HasPrefix(p.Message, "the line is neither") && !strings.Contains(p.Message, "is expected here") {
		return nil
	}
	line := f.at(p.Line)
	insert := func(at int, what string) *mend {
		return &mend{edits: []diag.Edit{f.insert(f.start(p.Line)+at, what)}, certain: true}
	}
	if at := itemWithoutSpace().FindStringSubmatchIndex(line); at != nil {
		return insert(at[2], " ")
	}
	if at := valueWithoutSpace().FindStringSubmatchIndex(line); at != nil {
		return insert(at[2], " ")
	}
	if at := keyWithoutColon().FindStringSubmatchIndex(line); at != nil && isWord(line[at[2]:at[3]]) {
		return insert(at[3], ":")
	}
	return nil
}

// isWord reports whether a text is a key of the language.
func isWord(text string) bool {
	language := spec.V1()
	return slices.ContainsFunc([]string{"workflow", "step"}, func(name string) bool { return language.Map(name).Key(text) != nil })
}

// unquoted puts a value into quotes that YAML takes for something else.
func unquoted(f *file, p *diag.Problem) *mend {
	switch {
	case strings.Contains(p.Message, "needs quotes"), strings.HasPrefix(p.Message, "`: ` inside an unquoted text"), strings.HasPrefix(p.Message, "a text can't start with"):
		return f.quoteValue(f.offset(p.Line, p.Column), p)
	}
	return nil
}

// quoteValue puts the whole value around an offset into quotes: inside of brackets as far
// as the comma or the bracket, else as far as the line goes.
func (f *file) quoteValue(at int, p *diag.Problem) *mend {
	line := f.lineOf(at)
	from, to, ok := f.flowValue(at)
	if !ok {
		found := keyLine().FindStringIndex(f.at(line))
		if found == nil || f.start(line)+found[1] > at {
			return nil
		}
		from, to = f.start(line)+found[1], f.end(line)
	}
	for from < to && f.src[from] == ' ' {
		from++
	}
	value := strings.TrimRight(f.src[from:to], " \t")
	if value == "" || strings.Contains(value, " #") || value[0] == '"' || value[0] == '\'' {
		return nil
	}
	quoted, ok := spec.Quoted(value)
	if !ok {
		return nil
	}
	m := &mend{edits: []diag.Edit{f.edit(from, from+len(value), quoted)}, certain: true}
	if p.Hint.Text == "" || !strings.Contains(p.Hint.Text, "quote") {
		m.hint = "put the whole value into quotes"
	}
	return m
}

// flowValue is the value around an offset where it stands inside of { } or [ ] on one
// line.
func (f *file) flowValue(at int) (from, to int, ok bool) {
	line := f.lineOf(at)
	start, end := f.start(line), f.end(line)
	depth, quote, opened := 0, byte(0), -1
	from = -1
	i := start
	for i < at {
		if strings.HasPrefix(f.src[i:], "${{") {
			i = spec.ExpressionEnd(f.src[:end], i)
			continue
		}
		switch b := f.src[i]; {
		case quote != 0:
			if b == quote {
				quote = 0
			}
		case b == '"' || b == '\'':
			quote = b
		case b == '{' || b == '[':
			depth, opened, from = depth+1, i, i+1
		case (b == '}' || b == ']') && depth > 0:
			depth--
		case depth > 0 && (b == ',' || b == ':' && i+1 < end && f.src[i+1] == ' '):
			if b == ',' || !f.hasValue(from, i) {
				from = i + 1
			}
		}
		i++
	}
	if depth == 0 || opened < 0 || from < 0 || quote != 0 {
		return 0, 0, false
	}
	to = from
	for round := 0; to < end; {
		if strings.HasPrefix(f.src[to:], "${{") {
			to = spec.ExpressionEnd(f.src[:end], to)
			continue
		}
		b := f.src[to]
		if b == '(' {
			round++
		} else if b == ')' {
			round--
		} else if round <= 0 && strings.IndexByte(",}]", b) >= 0 {
			return from, to, true
		}
		to++
	}
	return 0, 0, false
}

// hasValue reports whether a value, not a key, stands between a place behind `: ` or a
// comma and another colon: `a: b: c`.
func (f *file) hasValue(from, colon int) bool {
	before := strings.TrimRight(f.src[:from], " ")
	return strings.HasSuffix(before, ":") && strings.TrimSpace(f.src[from:colon]) != ""
}

func emptyFile(f *file, _ *diag.Problem) *mend {
	text := "flowrun: v1\nsteps:\n  - uses: core.log\n    with: {text: hello}\n"
	if f.src != "" && !strings.HasSuffix(f.src, "\n") {
		text = "\n" + text
	}
	return &mend{
		edits: []diag.Edit{f.insert(len(f.src), text)},
		hint:  "a workflow begins with `flowrun: v1` and has `steps`; `flowrun new workflow NAME` writes one",
	}
}

func noVersion(f *file, p *diag.Problem) *mend {
	if !strings.Contains(p.Message, "is missing") {
		pair, ok := f.root.Pair("flowrun")
		if !ok {
			return nil
		}
		return &mend{edits: pair.Value.Rewrite(spec.Version)}
	}
	if f.root.Flow {
		return nil
	}
	return &mend{edits: []diag.Edit{f.insert(f.start(p.Line), "flowrun: "+spec.Version+"\n")}, certain: true}
}

// negated writes `not` where YAML takes `!` for a tag.
func negated(f *file, p *diag.Problem) *mend {
	at := f.offset(p.Line, p.Column)
	if at+1 >= len(f.src) || f.src[at] != '!' || f.src[at+1] == '!' {
		return nil
	}
	return &mend{edits: []diag.Edit{f.edit(at, at+1, "not ")}, certain: true}
}
