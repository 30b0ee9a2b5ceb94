package importer

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// node is a part of an expression of another product.
type node struct {
	op   string // literal, name, member, index, star, call, not, negate, ternary, filter, list, map, test, or a binary operator
	text string // of a literal, a name, a member, a call, a filter, a test
	kind kind   // of a literal
	args []*node
}

// dialect is how a product writes expressions. One grammar reads all of them: what a
// product has not got is no mistake that an importer has to find.
type dialect struct {
	hyphens bool // names may have `-` in them
	doubled bool // 'it''s', without escapes
	filters bool // a | f(b)
}

const deepest = 60 // brackets in brackets

// parseExpression reads an expression.
func parseExpression(source string, d dialect) (*node, error) {
	p := &parser{dialect: d}
	if err := p.scan(source); err != nil {
		return nil, err
	}
	n, err := p.ternary()
	if err != nil {
		return nil, err
	}
	if token := p.peek(); token.text != "" || token.kind != 0 {
		return nil, fmt.Errorf("`%s` is not expected there", token.text)
	}
	return n, nil
}

// token is a word of an expression; kind tells texts and numbers from signs and names.
type token struct {
	text string
	kind kind
	name bool
}

type parser struct {
	dialect dialect
	tokens  []token
	at      int
	depth   int
}

var signs = []string{"||", "&&", "==", "!=", "<=", ">=", "??", "?.", "..", "=~"}

func (p *parser) scan(source string) error {
	runes := []rune(source)
	for i := 0; i < len(runes); {
		r := runes[i]
		switch {
		case unicode.IsSpace(r):
			i++
		case r == '\'' || r == '"' || r == '`':
			end, err := p.quoted(runes, i)
			if err != nil {
				return err
			}
			i = end
		case r >= '0' && r <= '9':
			i = p.number(runes, i)
		case isNameRune(r) || r == '$':
			from := i
			for i++; i < len(runes) && (isNameRune(runes[i]) || runes[i] >= '0' && runes[i] <= '9' || p.dialect.hyphens && runes[i] == '-'); i++ {
			}
			p.tokens = append(p.tokens, token{text: string(runes[from:i]), name: true})
		default:
			sign := string(r)
			if i+1 < len(runes) && slices.Contains(signs, string(runes[i:i+2])) {
				sign = string(runes[i : i+2])
			}
			i += len([]rune(sign))
			p.tokens = append(p.tokens, token{text: sign})
		}
	}
	return nil
}

func isNameRune(r rune) bool { return r == '_' || unicode.IsLetter(r) }

func (p *parser) quoted(runes []rune, from int) (int, error) {
	var b strings.Builder
	quote := runes[from]
	for i := from + 1; i < len(runes); i++ {
		switch r := runes[i]; {
		case r == quote && p.dialect.doubled && i+1 < len(runes) && runes[i+1] == quote:
			b.WriteRune(quote)
			i++
		case r == quote:
			p.tokens = append(p.tokens, token{text: b.String(), kind: kindText})
			return i + 1, nil
		case r == '\\' && !p.dialect.doubled && i+1 < len(runes):
			i++
			switch runes[i] {
			case 'n':
				b.WriteByte('\n')
			case 't':
				b.WriteByte('\t')
			default:
				b.WriteRune(runes[i])
			}
		default:
			b.WriteRune(r)
		}
	}
	return 0, fmt.Errorf("a text is not closed")
}

func (p *parser) number(runes []rune, from int) int {
	i := from
	for i < len(runes) && (runes[i] >= '0' && runes[i] <= '9' || runes[i] == '.' && i+1 < len(runes) && runes[i+1] >= '0' && runes[i+1] <= '9') {
		i++
	}
	p.tokens = append(p.tokens, token{text: string(runes[from:i]), kind: kindNumber})
	return i
}

func (p *parser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

// take steps over a sign or word, if it is the next one.
func (p *parser) take(words ...string) bool {
	if next := p.peek(); next.kind == 0 && slices.Contains(words, next.text) && next.text != "" {
		p.at++
		return true
	}
	return false
}

func (p *parser) want(sign string) error {
	if p.take(sign) {
		return nil
	}
	return fmt.Errorf("`%s` is missing", sign)
}

func (p *parser) ternary() (*node, error) {
	if p.depth++; p.depth > deepest {
		return nil, fmt.Errorf("it is nested too deep")
	}
	defer func() { p.depth-- }()
	n, err := p.binary(0)
	if err != nil || !p.take("?") {
		return n, err
	}
	yes, err := p.ternary()
	if err != nil {
		return nil, err
	}
	no := &node{op: "literal", kind: kindNull}
	if p.take(":") {
		if no, err = p.ternary(); err != nil {
			return nil, err
		}
	}
	return &node{op: "ternary", args: []*node{n, yes, no}}, nil
}

// levels are the binary operators, those that bind least first.
var levels = [][]string{
	{"??"}, {"||", "or"}, {"&&", "and"}, {"==", "!=", "<", "<=", ">", ">=", "is", "contains", "in", "matches", "equals", "startsWith", "endsWith", "=~"},
	{"~"}, {"+", "-"}, {"*", "/", "%"},
}

// sameOperator is the operator that a word is another one for.
func sameOperator(word string) string {
	switch word {
	case "or":
		return "||"
	case "and":
		return "&&"
	case "equals":
		return "=="
	case "=~":
		return "matches"
	}
	return word
}

func (p *parser) binary(level int) (*node, error) {
	if level == len(levels) {
		return p.unary()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		word := p.peek().text
		if !p.take(levels[level]...) {
			return left, nil
		}
		if word == "is" {
			left, err = p.test(left)
			continue
		}
		var right *node
		if right, err = p.binary(level + 1); err != nil {
			break
		}
		left = &node{op: sameOperator(word), args: []*node{left, right}}
	}
	return nil, err
}

// test reads `is not empty` and the like.
func (p *parser) test(of *node) (*node, error) {
	negated := p.take("not")
	name := p.peek()
	if !name.name {
		return nil, fmt.Errorf("a word is missing behind `is`")
	}
	p.at++
	n := &node{op: "test", text: name.text, args: []*node{of}}
	if negated {
		n = &node{op: "not", args: []*node{n}}
	}
	return n, nil
}

func (p *parser) unary() (*node, error) {
	for _, sign := range []struct{ op, sign string }{{"not", "!"}, {"not", "not"}, {"negate", "-"}} {
		if !p.take(sign.sign) {
			continue
		}
		if p.depth++; p.depth > deepest {
			return nil, fmt.Errorf("it is nested too deep")
		}
		defer func() { p.depth-- }()
		of, err := p.unary()
		return &node{op: sign.op, args: []*node{of}}, err
	}
	return p.postfix()
}

func (p *parser) postfix() (*node, error) {
	n, err := p.primary()
	for err == nil {
		switch {
		case p.take(".", "?."):
			next := p.peek()
			p.at++
			switch {
			case next.text == "*" && next.kind == 0:
				n = &node{op: "star", args: []*node{n}}
			case next.name || next.kind == kindNumber:
				n = &node{op: "member", text: next.text, args: []*node{n}}
			default:
				return nil, fmt.Errorf("a name is missing behind a point")
			}
		case p.take("["):
			var index *node
			if p.take("*") {
				n = &node{op: "star", args: []*node{n}}
			} else if index, err = p.ternary(); err == nil {
				if index.op == "literal" && index.kind == kindText {
					n = &node{op: "member", text: index.text, args: []*node{n}}
				} else {
					n = &node{op: "index", args: []*node{n, index}}
				}
			}
			if err == nil {
				err = p.want("]")
			}
		case p.peek().text == "(" && p.peek().kind == 0 && (n.op == "name" || n.op == "member"):
			n, err = p.called(n)
		case p.dialect.filters && p.take("|"):
			name := p.peek()
			if !name.name {
				return nil, fmt.Errorf("a filter is missing behind `|`")
			}
			p.at++
			filter := &node{op: "filter", text: name.text, args: []*node{n}}
			if p.peek().text == "(" && p.peek().kind == 0 {
				var args []*node
				p.at++
				args, err = p.arguments(")")
				filter.args = append(filter.args, args...)
			}
			n = filter
		default:
			return n, nil
		}
	}
	return nil, err
}

// called reads the arguments of a call. A method's receiver is its first argument.
func (p *parser) called(of *node) (*node, error) {
	p.at++
	args, err := p.arguments(")")
	call := &node{op: "call", text: of.text, args: args}
	if of.op == "member" {
		if base := of.args[0]; base.op == "name" { // sprig.upper(x)
			call.text = base.text + "." + of.text
		} else {
			return nil, fmt.Errorf("methods are not known")
		}
	}
	return call, err
}

func (p *parser) arguments(end string) ([]*node, error) {
	var args []*node
	for !p.take(end) {
		if len(args) > 0 && !p.take(",") {
			return nil, fmt.Errorf("`%s` is missing", end)
		}
		if next := p.peek(); next.name && p.at+1 < len(p.tokens) && p.tokens[p.at+1].text == "=" { // delimiter=","
			p.at += 2
		}
		arg, err := p.ternary()
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
	}
	return args, nil
}

func (p *parser) primary() (*node, error) {
	next := p.peek()
	p.at++
	switch {
	case next.kind == kindText || next.kind == kindNumber:
		return &node{op: "literal", text: next.text, kind: next.kind}, nil
	case next.name:
		switch strings.ToLower(next.text) {
		case "true", "false":
			return &node{op: "literal", text: strings.ToLower(next.text), kind: kindBool}, nil
		case "null", "nil", "none":
			return &node{op: "literal", kind: kindNull}, nil
		}
		return &node{op: "name", text: next.text}, nil
	case next.text == "(":
		n, err := p.ternary()
		if err == nil {
			err = p.want(")")
		}
		return n, err
	case next.text == "[":
		items, err := p.arguments("]")
		return &node{op: "list", args: items}, err
	case next.text == "":
		return nil, fmt.Errorf("it ends too early")
	}
	return nil, fmt.Errorf("`%s` is not expected there", next.text)
}

// path is a read as its names: steps.a.outputs.b; false where it is something else, or
// goes on by a computed name.
func (n *node) path() ([]string, bool) {
	switch n.op {
	case "name":
		return []string{n.text}, true
	case "member":
		path, ok := n.args[0].path()
		return append(path, n.text), ok
	case "index":
		if last := n.args[1]; last.op == "literal" && last.kind == kindNumber {
			path, ok := n.args[0].path()
			return append(path, last.text), ok
		}
	}
	return nil, false
}

// quoteText writes a text as an expression has it.
func quoteText(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteString(`\` + string(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\t':
			b.WriteString(`\t`)
		case r < 0x20 || r == 0x7F:
			b.WriteString(" ")
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}

func isInteger(text string) bool {
	_, err := strconv.ParseInt(text, 10, 64)
	return err == nil && (len(text) == 1 || text[0] != '0') && text[0] != '+' && text[0] != '-'
}
