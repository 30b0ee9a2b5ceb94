package eval

import (
	"regexp"
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

func (c *checker) unary(n *ast.UnaryNode, scope *Scope) *schema.Type {
	if n.Operator == "not" || n.Operator == "!" {
		c.condition(n.Node, scope, "what `"+n.Operator+"` turns over")
		return schema.Of(schema.Bool)
	}
	t := c.present(n.Node, scope)
	if wrong := misfit(t, numbers|1<<schema.Duration); wrong != nil {
		return c.report(c.issueAt(n, CodeOperator, "`%s` needs a number, got %s", n.Operator, wrong.Article()))
	}
	c.mustKnow(n.Node, t, "`"+n.Operator+"` can't be checked")
	var result *schema.Type
	for _, one := range t.Each() {
		result = joined(result, schema.Of(one.Kind))
	}
	return result
}

func (c *checker) binary(n *ast.BinaryNode, scope *Scope) *schema.Type {
	if c.choice(n, scope) {
		return Faulty
	}
	switch n.Operator {
	case "and", "&&":
		c.condition(n.Left, scope, "each side of `"+n.Operator+"`")
		c.condition(n.Right, assume(n.Left, true, scope), "each side of `"+n.Operator+"`")
		return schema.Of(schema.Bool)
	case "or", "||":
		c.condition(n.Left, scope, "each side of `"+n.Operator+"`")
		c.condition(n.Right, assume(n.Left, false, scope), "each side of `"+n.Operator+"`")
		return schema.Of(schema.Bool)
	case "??":
		return c.coalesce(n, scope)
	case "==", "!=":
		c.equality(n, c.tolerant(n.Left, scope), c.tolerant(n.Right, scope))
		return schema.Of(schema.Bool)
	case "in":
		c.membership(n, scope)
		return schema.Of(schema.Bool)
	}
	if c.twoDots(n, scope) {
		return Faulty
	}
	left, right := c.value(n.Left, scope), c.value(n.Right, scope)
	if c.textForTime(n, left, right) {
		return Faulty
	}
	left, right = c.nonNull(n.Left, left), c.nonNull(n.Right, right)
	if left == Faulty || right == Faulty {
		return Faulty
	}
	c.known(n, n.Left, left)
	c.known(n, n.Right, right)
	switch n.Operator {
	case "<", ">", "<=", ">=":
		c.ordering(n, left, right)
		return schema.Of(schema.Bool)
	case "matches", "contains", "startsWith", "endsWith":
		c.textTest(n, left, right)
		return schema.Of(schema.Bool)
	}
	return c.arithmetic(n, left, right)
}

// twoDots reports a member that is read with a dot too many: `inputs..site`.
func (c *checker) twoDots(n *ast.BinaryNode, scope *Scope) bool {
	field, ok := memberPath(n.Right)
	path, isPath := memberPath(n.Left)
	if n.Operator != ".." || !ok || !isPath || scope.binding(field[0]) != nil || scope.binding(path[0]) == nil {
		return false
	}
	start, end := c.x.span(n.Left)
	c.report(c.issueAt(n, CodeOperator, "a field is read with one dot").
		hint("write `%s.%s`; `a..b` lists the integers from a to b", c.x.source[start:end], field[0]))
	return true
}

// known refuses, in the strict check, an operand of which nothing is known.
func (c *checker) known(n *ast.BinaryNode, operand ast.Node, t *schema.Type) {
	c.mustKnow(operand, t, "`"+n.Operator+"` can't be checked")
}

// coalesce is a ?? b: what a is when it is not null, else b.
func (c *checker) coalesce(n *ast.BinaryNode, scope *Scope) *schema.Type {
	left, right := c.tolerant(n.Left, scope), c.value(n.Right, scope)
	if left.Kind == schema.Null {
		return right
	}
	return c.bounded(schema.Join(schema.NonNull(left), right))
}

func (c *checker) equality(n *ast.BinaryNode, left, right *schema.Type) {
	if !isNil(n.Left) && !isNil(n.Right) && (c.secretInside(n.Left, left) || c.secretInside(n.Right, right)) {
		return
	}
	if !canEqual(left, right) {
		issue := c.issueAt(n, CodeOperator, "can't compare %s with %s", left.Article(), right.Article())
		switch {
		case left.Kind == schema.Time || right.Kind == schema.Time:
			issue.Hint = diag.Say("date(x) makes a time of text")
		case left.Kind == schema.String || right.Kind == schema.String:
			issue.Hint = diag.Say("string(x) makes text of a value, int(x) an integer of text")
		}
		c.report(issue)
		return
	}
	if !left.MayBeNull() || !right.MayBeNull() {
		c.neverEqual(n, left, right)
	}
}

// secretInside reports a value with a secret somewhere in it, which can't be
// compared.
func (c *checker) secretInside(node ast.Node, t *schema.Type) bool {
	if !t.HasSecret() {
		return false
	}
	c.report(c.issueOver(node, CodeSecret, "%s has a secret in it, which can't be compared", c.text(node)))
	return true
}

// neverEqual reports a comparison of texts that have no value in common, where
// one of them is written out.
func (c *checker) neverEqual(n *ast.BinaryNode, left, right *schema.Type) {
	if left.Kind != schema.String || right.Kind != schema.String || left.Enum == nil || right.Enum == nil {
		return
	}
	_, leftWritten := n.Left.(*ast.StringNode)
	_, rightWritten := n.Right.(*ast.StringNode)
	if leftWritten == rightWritten {
		return
	}
	literal, known := right, left
	if leftWritten {
		literal, known = left, right
	}
	misfit := literal.Fits(schema.Nullable(known))
	if misfit == nil {
		return
	}
	issue := c.issueAt(n, CodeNeverEqual, "this is never equal: the value %s", misfit.Message)
	issue.Hint = misfit.Hint
	text, node := rightText(n), n.Right
	if leftWritten {
		text, node = n.Left.(*ast.StringNode).Value, n.Left
	}
	if word, sure := meantWord(text, misfit.Hint.Near, known.Enum); word != "" {
		issue.Hint = diag.Meant(word)
		start, end := c.x.span(node)
		issue = issue.mend(sure, Change{start + 1, end - 1, word})
	}
	c.report(issue)
}

func rightText(n *ast.BinaryNode) string {
	if text, ok := n.Right.(*ast.StringNode); ok {
		return text.Value
	}
	return ""
}

// canEqual reports whether values of two types can be equal at all.
func canEqual(a, b *schema.Type) bool {
	for _, left := range a.Each() {
		for _, right := range b.Each() {
			if kindsCanEqual(left, right) {
				return true
			}
		}
	}
	return false
}

func kindsCanEqual(a, b *schema.Type) bool {
	switch {
	case a.Kind == schema.Any, b.Kind == schema.Any, a.Kind == schema.Null, b.Kind == schema.Null, a.Kind == b.Kind:
		return true
	}
	return isNumber(a) && isNumber(b)
}

func isNumber(t *schema.Type) bool { return t.Kind == schema.Int || t.Kind == schema.Number }

func (c *checker) membership(n *ast.BinaryNode, scope *Scope) {
	left, right := c.value(n.Left, scope), c.present(n.Right, scope)
	if c.secretInside(n.Left, left) || c.secretInside(n.Right, right) {
		return
	}
	c.known(n, n.Right, right)
	for _, one := range right.Each() {
		if issue := c.notIn(n, left, one); issue != nil {
			c.report(issue)
			return
		}
	}
}

// notIn says what is wrong with `left in right`, nil when nothing is.
func (c *checker) notIn(n *ast.BinaryNode, left, right *schema.Type) *Issue {
	switch right.Kind {
	case schema.Any:
	case schema.List:
		if !canEqual(left, right.Element()) {
			return c.issueAt(n, CodeOperator, "%s can't be in %s", left.Article(), right.Article())
		}
	case schema.Object:
		c.known(n, n.Left, left)
		switch wrong := misfit(left, texts); {
		case wrong != nil:
			return c.issueAt(n, CodeOperator, "an object's names are text, got %s", wrong.Article())
		case left.MayBeNull():
			return c.issueOver(n.Left, CodeNull, "%s may be null, and an object's names are text", c.text(n.Left)).
				hint("give a value for that case with `??`, or test it with `!= nil` first")
		}
	case schema.String:
		return c.issueAt(n, CodeOperator, "`in` needs a list or an object on the right, got text").
			hint("`text contains part` looks into text")
	default:
		return c.issueAt(n, CodeOperator, "`in` needs a list or an object on the right, got %s", right.Article())
	}
	return nil
}

func (c *checker) ordering(n *ast.BinaryNode, left, right *schema.Type) {
	left, right, ok := eachPair(left, right, func(a, b *schema.Type) bool {
		return misfit(a, ordered) == nil && misfit(b, ordered) == nil && canEqual(a, b)
	})
	if ok {
		return
	}
	issue := c.issueAt(n, CodeOperator, "`%s` can't compare %s with %s", n.Operator, left.Article(), right.Article())
	switch {
	case left.Kind == schema.Time && right.Kind == schema.String, left.Kind == schema.String && right.Kind == schema.Time:
		issue.Hint = diag.Say("date(x) makes a time of text")
	case left.Kind == schema.List && isNumber(right), isNumber(left) && right.Kind == schema.List:
		issue.Hint = diag.Say("len(x) counts the elements")
	case left.Kind == schema.String && isNumber(right), isNumber(left) && right.Kind == schema.String:
		issue.Hint = diag.Say("int(x) makes an integer of text")
	}
	c.report(issue)
}

// eachPair tries all that two operands can be. It returns the first pair that
// does not fit, or true.
func eachPair(left, right *schema.Type, fits func(a, b *schema.Type) bool) (a, b *schema.Type, ok bool) {
	for _, a := range left.Each() {
		for _, b := range right.Each() {
			if !fits(a, b) {
				return a, b, false
			}
		}
	}
	return left, right, true
}

func (c *checker) textTest(n *ast.BinaryNode, left, right *schema.Type) {
	for i, side := range slices.Concat(left.Each(), right.Each()) {
		if side.Kind == schema.String || side.Kind == schema.Any {
			continue
		}
		issue := c.issueAt(n, CodeOperator, "`%s` needs text on both sides, got %s", n.Operator, side.Article())
		if i < len(left.Each()) && side.Kind == schema.List && n.Operator == "contains" {
			issue.Hint = diag.Say("`x in list` looks into a list")
		}
		c.report(issue)
		return
	}
	pattern, ok := n.Right.(*ast.StringNode)
	if n.Operator != "matches" || !ok {
		return
	}
	if _, err := regexp.Compile(pattern.Value); err != nil {
		c.report(c.issueAt(n.Right, CodeConstant, "the pattern can't be read: %s", regexpMessage(err)))
	} else if regexpSize(pattern.Value) > maxPattern {
		c.report(c.issueAt(n.Right, CodeConstant, "the pattern is too large"))
	}
}

func (c *checker) arithmetic(n *ast.BinaryNode, left, right *schema.Type) *schema.Type {
	if divisor, ok := n.Right.(*ast.IntegerNode); ok && divisor.Value == 0 && (n.Operator == "/" || n.Operator == "%") {
		return c.report(c.issueAt(n.Right, CodeConstant, "division by zero"))
	}
	var result *schema.Type
	left, right, ok := eachPair(left, right, func(a, b *schema.Type) bool {
		kind, defined := arithmeticKind(n.Operator, a.Kind, b.Kind)
		result = joined(result, schema.Of(kind))
		return defined
	})
	if ok && n.Operator == ".." {
		return schema.ListOf(schema.Of(schema.Int))
	}
	if ok {
		return result
	}
	issue := c.issueAt(n, CodeOperator, "`%s` is not defined on %s and %s", n.Operator, left.Article(), right.Article())
	switch {
	case n.Operator == "+" && (left.Kind == schema.String || right.Kind == schema.String):
		issue.Hint = diag.Say("string(x) makes text of a value")
		other, t := n.Right, right
		if right.Kind == schema.String {
			other, t = n.Left, left
		}
		if t.Kind == schema.Int || t.Kind == schema.Number || t.Kind == schema.Bool {
			issue = issue.mend(true, c.wrap(other, "string(", ")")...)
		}
	case n.Operator == "+" && left.Kind == schema.List && right.Kind == schema.List:
		issue.Hint = diag.Say("concat(a, b) joins lists")
	case left.Kind == schema.Time && isNumber(right):
		issue.Hint = diag.Say(`write the number as a duration, such as duration("24h")`)
	}
	return c.report(issue)
}

// arithmeticKind is the kind of the result of an arithmetic operator; false
// when it is not defined on the operands. With an operand of unknown kind it is
// Any unless all possible results are of one kind.
func arithmeticKind(operator string, left, right schema.Kind) (schema.Kind, bool) {
	var found []schema.Kind
	for _, rule := range arithmeticRules(operator) {
		if (left == schema.Any || left == rule[0]) && (right == schema.Any || right == rule[1]) {
			found = append(found, rule[2])
		}
	}
	if len(found) == 0 {
		return schema.Any, false
	}
	for _, other := range found[1:] {
		if other != found[0] {
			return schema.Any, true
		}
	}
	return found[0], true
}

// arithmeticRules lists left, right and result of an operator.
func arithmeticRules(operator string) [][3]schema.Kind {
	const (
		i = schema.Int
		f = schema.Number
		s = schema.String
		t = schema.Time
		d = schema.Duration
	)
	switch operator {
	case "+":
		return [][3]schema.Kind{{i, i, i}, {i, f, f}, {f, i, f}, {f, f, f}, {s, s, s}, {t, d, t}, {d, t, t}, {d, d, d}}
	case "-":
		return [][3]schema.Kind{{i, i, i}, {i, f, f}, {f, i, f}, {f, f, f}, {t, t, d}, {t, d, t}, {d, d, d}}
	case "*":
		return [][3]schema.Kind{{i, i, i}, {i, f, f}, {f, i, f}, {f, f, f}, {d, i, d}, {i, d, d}, {d, f, d}, {f, d, d}}
	case "/":
		return [][3]schema.Kind{{i, i, f}, {i, f, f}, {f, i, f}, {f, f, f}, {d, d, f}, {d, i, d}, {d, f, d}}
	case "%", "..":
		return [][3]schema.Kind{{i, i, i}}
	case "**", "^":
		return [][3]schema.Kind{{i, i, f}, {i, f, f}, {f, i, f}, {f, f, f}}
	}
	return nil
}
