package importer

import (
	"fmt"
	"slices"
	"strings"
)

// kind is what is known of the type of an expression's value.
type kind uint8

const (
	kindAny kind = iota
	kindText
	kindNumber
	kindBool
	kindList
	kindObject
	kindNull
)

// expr is an expression of flowrun's.
type expr struct {
	source string
	kind   kind
	joined bool         // it needs brackets as an operand
	absent bool         // it may be null
	secret string       // the secret that it is
	parts  []translated // of a text that is joined of literal text and expressions
}

// scope is what expressions of one product mean at a place of its file.
type scope interface {
	// read gives what a path of names means.
	read(path []string) (expr, error)
	// call gives what a function gives.
	call(name string, args []*node, t *translator) (expr, error)
}

// comparer is a scope in which some comparisons mean something of their own.
type comparer interface {
	compare(op string, a, b *node) (e expr, ok bool)
}

// translator makes expressions of another product those of flowrun.
type translator struct {
	scope   scope
	dialect dialect
	truthy  bool // `a || b` gives a or b, not true or false
}

// expression translates the text of an expression.
func (t *translator) expression(source string) (expr, error) {
	n, err := parseExpression(strings.TrimSpace(source), t.dialect)
	if err != nil {
		return expr{}, err
	}
	return t.value(n)
}

// condition translates the text of a condition.
func (t *translator) condition(source string) (string, error) {
	e, err := t.expression(source)
	if err != nil {
		return "", err
	}
	return e.condition(), secretAlone(e)
}

func secretAlone(e expr) error {
	if e.secret != "" {
		return fmt.Errorf("a secret is read in no expression: it stands alone in a secret field")
	}
	return nil
}

// operand is the expression as a part of another.
func (e expr) operand() string {
	if e.joined {
		return "(" + e.source + ")"
	}
	return e.source
}

// present is the expression with something in place of null.
func (e expr) present() expr {
	if !e.absent {
		return e
	}
	instead := `""`
	switch e.kind {
	case kindNumber:
		instead = "0"
	case kindBool:
		instead = "false"
	case kindList:
		instead = "[]"
	case kindObject:
		instead = "{}"
	case kindAny, kindText, kindNull:
	}
	return expr{source: e.operand() + " ?? " + instead, kind: e.kind, joined: true}
}

// condition is true where the other product takes the value for true.
func (e expr) condition() string {
	switch e = e.present(); e.kind {
	case kindBool:
		return e.source
	case kindText:
		return e.operand() + ` != ""`
	case kindNumber:
		return e.operand() + " != 0"
	case kindList:
		return "len(" + e.source + ") > 0"
	case kindNull:
		return "false"
	case kindAny, kindObject:
	}
	return "not (" + e.operand() + ` in [nil, false, "", 0])`
}

// asText is the value as a text.
func (e expr) asText() string {
	switch e = e.present(); e.kind {
	case kindText:
		return e.source
	case kindList, kindObject:
		return "toJSON(" + e.source + ")"
	case kindNull:
		return `""`
	case kindAny, kindNumber, kindBool:
	}
	return "string(" + e.source + ")"
}

// literalText is the text of an expression that is a text written out.
func (n *node) literalText() (string, bool) {
	return n.text, n.op == "literal" && n.kind == kindText
}

func (t *translator) value(n *node) (expr, error) {
	switch n.op {
	case "literal":
		return literal(n), nil
	case "name", "member", "index", "star":
		return t.readOf(n)
	case "call":
		return t.scope.call(n.text, n.args, t)
	case "filter":
		return t.filter(n)
	case "test":
		return t.test(n)
	case "list":
		return t.listOf(n)
	case "not":
		of, err := t.value(n.args[0])
		if err != nil {
			return of, err
		}
		return expr{source: "not (" + of.condition() + ")", kind: kindBool, joined: true}, secretAlone(of)
	case "negate":
		of, err := t.plain(n.args[0])
		return expr{source: "-" + of.present().operand(), kind: kindNumber, joined: true}, err
	case "ternary":
		return t.ternary(n.args[0], n.args[1], n.args[2])
	}
	return t.binary(n)
}

// plain is value for what may be no secret.
func (t *translator) plain(n *node) (expr, error) {
	e, err := t.value(n)
	if err == nil {
		err = secretAlone(e)
	}
	return e, err
}

func literal(n *node) expr {
	switch n.kind {
	case kindText:
		return expr{source: quoteText(n.text), kind: kindText}
	case kindNull:
		return expr{source: "nil", kind: kindNull}
	case kindNumber:
		if isInteger(n.text) || strings.Contains(n.text, ".") && strings.Count(n.text, ".") == 1 {
			return expr{source: n.text, kind: kindNumber}
		}
		return expr{source: quoteText(n.text), kind: kindText}
	default:
		return expr{source: n.text, kind: n.kind}
	}
}

// readOf translates a read: a path of names that the scope knows, or a part of a value.
func (t *translator) readOf(n *node) (expr, error) {
	if path, ok := n.path(); ok {
		return t.scope.read(path)
	}
	of, err := t.plain(n.args[0])
	if err != nil {
		return of, err
	}
	switch n.op {
	case "member":
		return member(of, n.text), nil
	case "index":
		index, err := t.plain(n.args[1])
		return expr{source: of.present().operand() + "[" + index.source + "]", kind: kindAny}, err
	}
	return expr{}, fmt.Errorf("`.*` has no counterpart: write map(list, .field)")
}

// member reads a field of a value.
func member(of expr, name string) expr {
	sign := "."
	if of.absent {
		sign = "?."
	}
	if isInteger(name) {
		return expr{source: of.operand() + "[" + name + "]", kind: kindAny}
	}
	if !isField(name) {
		return expr{source: "get(" + of.present().source + ", " + quoteText(name) + ")", kind: kindAny, absent: true}
	}
	return expr{source: of.operand() + sign + name, kind: kindAny, absent: of.absent}
}

func isField(name string) bool {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return false
		}
	}
	return name != "" && !slices.Contains([]string{"in", "not", "and", "or", "matches", "contains", "startsWith", "endsWith", "true", "false", "nil", "let", "if", "else"}, name)
}

func (t *translator) listOf(n *node) (expr, error) {
	items := make([]string, len(n.args))
	for i, arg := range n.args {
		item, err := t.plain(arg)
		if err != nil {
			return item, err
		}
		items[i] = item.source
	}
	return expr{source: "[" + strings.Join(items, ", ") + "]", kind: kindList}, nil
}

func (t *translator) ternary(cond, yes, no *node) (expr, error) {
	c, err := t.plain(cond)
	if err != nil {
		return c, err
	}
	a, err := t.plain(yes)
	if err != nil {
		return a, err
	}
	b, err := t.plain(no)
	if err != nil {
		return b, err
	}
	for _, part := range []expr{c, a, b} {
		if err := secretAlone(part); err != nil {
			return part, err
		}
	}
	return choice(c, a, b), nil
}

func choice(c, a, b expr) expr {
	of := a.kind
	if a.kind != b.kind {
		of = kindAny
	}
	a, b = a.present(), b.present()
	return expr{source: c.condition() + " ? " + a.operand() + " : " + b.operand(), kind: of, joined: true}
}

func (t *translator) binary(n *node) (expr, error) {
	if n.op == "||" && n.args[0].op == "&&" && t.truthy {
		if e, ok, err := t.andOr(n); ok || err != nil {
			return e, err
		}
	}
	if c, ok := t.scope.(comparer); ok && (n.op == "==" || n.op == "!=") {
		if e, ok := c.compare(n.op, n.args[0], n.args[1]); ok {
			return e, nil
		}
	}
	left, err := t.plain(n.args[0])
	if err != nil {
		return left, err
	}
	right, err := t.plain(n.args[1])
	if err != nil {
		return right, err
	}
	if err := secretAlone(left); err != nil {
		return left, err
	}
	if err := secretAlone(right); err != nil {
		return right, err
	}
	return t.join(n.op, left, right)
}

// andOr translates `a && b || c`, the choice of products that have none.
func (t *translator) andOr(n *node) (e expr, ok bool, err error) {
	yes, err := t.plain(n.args[0].args[1])
	if err != nil || yes.kind == kindBool {
		return expr{}, false, err
	}
	e, err = t.ternary(n.args[0].args[0], n.args[0].args[1], n.args[1])
	return e, true, err
}

func (t *translator) join(op string, a, b expr) (expr, error) {
	switch op {
	case "&&", "||":
		return t.logic(op, a, b), nil
	case "==", "!=":
		return equal(op, a, b), nil
	case "<", "<=", ">", ">=":
		return expr{source: asNumber(a, b).operand() + " " + op + " " + asNumber(b, a).operand(), kind: kindBool, joined: true}, nil
	case "??":
		if !a.absent {
			return a, nil
		}
		return expr{source: a.operand() + " ?? " + b.operand(), kind: max(a.kind, b.kind), joined: true, absent: b.absent}, nil
	case "~":
		return expr{source: expr{source: a.asText(), joined: true}.source + " + " + b.asText(), kind: kindText, joined: true}, nil
	case "+", "-", "*", "/", "%":
		of := kindNumber
		if op == "+" && (a.kind == kindText || b.kind == kindText) {
			return expr{source: a.asText() + " + " + b.asText(), kind: kindText, joined: true}, nil
		}
		return expr{source: a.present().operand() + " " + op + " " + b.present().operand(), kind: of, joined: true}, nil
	case "contains", "in", "matches", "startsWith", "endsWith":
		return expr{source: a.present().operand() + " " + op + " " + b.present().operand(), kind: kindBool, joined: true}, nil
	}
	return expr{}, fmt.Errorf("the operator `%s` has no counterpart", op)
}

// logic joins conditions; where values are meant, it chooses between them.
func (t *translator) logic(op string, a, b expr) expr {
	if !t.truthy || a.kind == kindBool && b.kind == kindBool {
		return expr{source: grouped(op, a) + " " + op + " " + grouped(op, b), kind: kindBool, joined: true}
	}
	if op == "||" {
		return choice(a, a, b)
	}
	return choice(a, b, expr{source: `""`, kind: kindText})
}

// grouped is an operand of `&&` and `||`: comparisons need no brackets there.
func grouped(op string, e expr) string {
	source := e.condition()
	if bindsLess(source) && !(op == "||" && !strings.Contains(source, " ? ")) || op == "||" && strings.Contains(source, " && ") {
		return "(" + source + ")"
	}
	return source
}

// bindsLess reports whether an expression has, outside of brackets and texts, an operator
// that binds less than `&&`.
func bindsLess(source string) bool {
	depth, quote := 0, byte(0)
	for i := 0; i < len(source); i++ {
		b := source[i]
		switch {
		case quote != 0:
			switch b {
			case '\\':
				i++
			case quote:
				quote = 0
			}
		case b == '"':
			quote = b
		case strings.IndexByte("([{", b) >= 0:
			depth++
		case strings.IndexByte(")]}", b) >= 0:
			depth--
		case depth == 0 && b == ' ' && (strings.HasPrefix(source[i:], " || ") || strings.HasPrefix(source[i:], " ? ") || strings.HasPrefix(source[i:], " or ")):
			return true
		}
	}
	return false
}

// equal compares as the other product does: a boolean with 'true', a number with its text.
func equal(op string, a, b expr) expr {
	if a.kind == kindText && b.kind == kindBool || a.kind == kindText && b.kind == kindNumber {
		a, b = b, a
	}
	if a.kind == kindBool && (b.source == `"true"` || b.source == `"false"` || b.source == "true" || b.source == "false") {
		if strings.Contains(b.source, "true") == (op == "==") {
			return expr{source: a.condition(), kind: kindBool, joined: a.joined || a.absent}
		}
		return expr{source: "not (" + a.condition() + ")", kind: kindBool, joined: true}
	}
	if a.source == "true" || a.source == "false" {
		a = expr{source: quoteText(a.source), kind: kindText}
	}
	b = asNumber(b, a)
	if a.kind == kindNumber && b.kind == kindText || a.kind == kindBool && b.kind == kindText {
		a = expr{source: a.asText(), kind: kindText}
	}
	return expr{source: a.operand() + " " + op + " " + b.operand(), kind: kindBool, joined: true}
}

// asNumber is a text of digits as the number that it is compared with.
func asNumber(e, beside expr) expr {
	if e.absent && e.kind == kindText && beside.kind == kindNumber {
		return expr{source: "float(" + e.operand() + ` ?? "0")`, kind: kindNumber}
	}
	if e = e.present(); beside.kind != kindNumber || e.kind == kindNumber {
		return e
	}
	if plain := strings.Trim(e.source, `"`); e.kind == kindText && isInteger(plain) && len(plain) == len(e.source)-2 {
		return expr{source: plain, kind: kindNumber}
	}
	if e.kind == kindText && !strings.HasPrefix(e.source, `"`) {
		return expr{source: "float(" + e.source + ")", kind: kindNumber}
	}
	return e
}
