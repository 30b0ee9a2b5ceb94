package eval

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

const (
	// maxVisits bounds the inference: reduce looks at its body twice, so that
	// nested ones would double the work at every level.
	maxVisits = 50_000
	// maxWeight bounds the types that are built: shared parts would double at
	// every level.
	maxWeight = 5_000
	// maxTuple is the longest list literal that is known place by place.
	maxTuple = 8
)

// checker infers the types of one expression. Names of `let` and of predicates
// ("#", "#index", "#acc") are names of the scope.
type checker struct {
	x       *Expression
	issues  []Issue
	muted   int // issues are not reported: the part is looked at twice
	strict  bool
	visits  int
	weights map[*schema.Type]int
	handled []*ast.MemberNode     // places whose absence the expression provides for
	tables  map[ast.Node][]string // the order of the columns of calls that name none
}

var anyType = &schema.Type{}

// Faulty is the type of what was found to be wrong. It is like that of any value,
// and nothing more is said of it.
var Faulty = &schema.Type{}

func (c *checker) report(issue *Issue) *schema.Type {
	told := func(other Issue) bool {
		return other.Start == issue.Start && other.End == issue.End && other.Code == issue.Code
	}
	if c.muted > 0 {
		return anyType
	}
	if !slices.ContainsFunc(c.issues, told) {
		c.issues = append(c.issues, *issue)
	}
	return Faulty
}

// issueAt makes an issue at a node's own token: its name or operator.
func (c *checker) issueAt(node ast.Node, code, format string, args ...any) *Issue {
	start, end := c.x.at(node)
	return issuef(start, end, code, format, args...)
}

// issueOver makes an issue at the whole of a node.
func (c *checker) issueOver(node ast.Node, code, format string, args ...any) *Issue {
	start, end := c.x.span(node)
	return issuef(start, end, code, format, args...)
}

// text is the source of a node for messages.
func (c *checker) text(node ast.Node) string {
	if pointer, ok := node.(*ast.PointerNode); ok {
		return "`#" + pointer.Name + "`"
	}
	start, end := c.x.span(node)
	if text := c.x.source[start:end]; len(text) <= 60 && !strings.ContainsAny(text, "\n`") {
		return "`" + text + "`"
	}
	return "this"
}

// infer returns the type of a node; it may be secret or null.
func (c *checker) infer(node ast.Node, scope *Scope) *schema.Type {
	if c.visits++; c.visits > maxVisits {
		return anyType
	}
	switch n := node.(type) {
	case *ast.NilNode:
		return schema.Of(schema.Null)
	case *ast.BoolNode:
		return schema.Of(schema.Bool)
	case *ast.IntegerNode:
		return schema.Of(schema.Int)
	case *ast.FloatNode:
		return schema.Of(schema.Number)
	case *ast.StringNode:
		return schema.EnumOf(n.Value)
	case *ast.IdentifierNode:
		return c.name(n, scope)
	case *ast.PointerNode:
		t, _ := scope.Lookup("#" + n.Name)
		return scope.refine([]string{"#" + n.Name}, orAny(t))
	case *ast.ChainNode:
		return c.chain(n, scope)
	case *ast.MemberNode:
		short := false
		return c.member(n, scope, &short)
	case *ast.SliceNode:
		return c.slice(n, scope)
	case *ast.UnaryNode:
		return c.unary(n, scope)
	case *ast.BinaryNode:
		return c.binary(n, scope)
	case *ast.ConditionalNode:
		return c.conditional(n, scope)
	case *ast.CallNode:
		return c.call(n, scope)
	case *ast.BuiltinNode:
		return c.builtin(n, scope)
	}
	return c.inferComposed(node, scope)
}

func (c *checker) inferComposed(node ast.Node, scope *Scope) *schema.Type {
	switch n := node.(type) {
	case *ast.PredicateNode:
		return c.value(n.Node, scope)
	case *ast.ArrayNode:
		return c.array(n, scope)
	case *ast.MapNode:
		return c.object(n, scope)
	case *ast.VariableDeclaratorNode:
		return c.let(n, scope)
	case *ast.SequenceNode:
		t := anyType
		for _, part := range n.Nodes {
			t = c.value(part, scope)
		}
		return t
	}
	return anyType
}

func orAny(t *schema.Type) *schema.Type {
	if t == nil {
		return anyType
	}
	return t
}

// value is infer where a secret can't stand: everywhere but as the whole
// expression.
func (c *checker) value(node ast.Node, scope *Scope) *schema.Type {
	t := c.infer(node, scope)
	if !t.Secret && (t.Additional == nil || !t.Additional.Secret) {
		return t
	}
	return c.report(c.issueOver(node, CodeSecret, "%s is a secret, which can't be used in an expression", c.text(node)).
		hint("secrets stand only as the whole value of a field that is marked secret"))
}

// present is value where null can't stand.
func (c *checker) present(node ast.Node, scope *Scope) *schema.Type {
	return c.nonNull(node, c.value(node, scope))
}

func (c *checker) nonNull(node ast.Node, t *schema.Type) *schema.Type {
	if !t.MayBeNull() {
		return t
	}
	if t.Kind == schema.Null {
		return c.report(c.issueOver(node, CodeNull, "%s is null, which can't be used here", c.text(node)))
	}
	return c.report(c.issueOver(node, CodeNull, "%s may be null", c.text(node)).
		hint("give a value for that case with `??`, or test it with `!= nil` first").
		mend(false, c.orElse(node, t)...))
}

// mustKnow refuses, in the strict check, a value of which nothing is known where
// its type matters. A part that is wrong already says nothing more.
func (c *checker) mustKnow(node ast.Node, t *schema.Type, so string) {
	if !c.strict || t.Known() || t == Faulty || c.failedIn(node) {
		return
	}
	c.report(c.issueOver(node, CodeAny, "nothing is known of %s, so that %s", c.text(node), so).hint("%s", mendOf(t)))
}

// mendOf says what makes a known type of a value of which nothing is known.
func mendOf(t *schema.Type) string {
	if t.IsBeyond() {
		return "an object may have fields beyond its schema, of any type: name those that are meant, such as [x.a, x.b], or make a known type of each with string(x), int(x), float(x)"
	}
	return "string(x), int(x) and float(x) make a known type of it"
}

// condition checks a part that must be a boolean; what names it in messages.
func (c *checker) condition(node ast.Node, scope *Scope, what string) {
	t := c.value(node, scope)
	switch {
	case !t.Known():
		c.mustKnow(node, t, what+" can't be checked")
	case t.Kind == schema.Bool && t.Nullable:
		c.report(c.issueOver(node, CodeNull, "%s may be null, and %s must be true or false", c.text(node), what).
			hint("write `?? false` behind it").mend(false, c.wrap(node, "(", " ?? false)")...))
	case t.Kind != schema.Bool:
		c.report(c.issueOver(node, CodeCondition, "%s must be true or false, got %s", what, t.Article()).
			hint("%s", conditionHint(t)).mend(false, c.compared(node, t)...))
	}
}

func conditionHint(t *schema.Type) string {
	switch {
	case t.MayBeNull():
		return "compare it, such as `x != nil`"
	case t.Kind == schema.String:
		return "compare it, such as `x != \"\"`"
	case t.Kind == schema.Int, t.Kind == schema.Number:
		return "compare it, such as `x > 0`"
	case t.Kind == schema.List, t.Kind == schema.Object:
		return "compare its length, such as `len(x) > 0`"
	}
	return ""
}

func (c *checker) name(n *ast.IdentifierNode, scope *Scope) *schema.Type {
	t, ok := scope.Lookup(n.Value)
	if ok {
		return scope.refine([]string{n.Value}, t)
	}
	issue := c.issueAt(n, CodeName, "unknown name `%s`", n.Value)
	switch n.Value {
	case "null", "None", "undefined":
		issue.Hint = diag.Say("the value that is nothing is written `nil`")
	case "True", "False":
		issue.Hint = diag.Say("write `" + strings.ToLower(n.Value) + "`")
	default:
		names := scope.visible()
		issue.Hint = diag.DidYouMean(n.Value, names)
		if slices.Contains(FunctionNames(), n.Value) {
			issue.Hint = diag.Say("`" + n.Value + "` is a function: write `" + n.Value + "(…)`")
		} else if issue.Hint.Text == "" && len(names) > 0 && len(names) <= 12 {
			issue.Hint = diag.Say("here one can read " + strings.Join(names, ", "))
		}
	}
	return c.report(issue)
}

func (c *checker) array(n *ast.ArrayNode, scope *Scope) *schema.Type {
	if len(n.Nodes) == 0 {
		return schema.EmptyList()
	}
	if len(n.Nodes) <= maxTuple {
		places := make([]*schema.Type, len(n.Nodes))
		for i, item := range n.Nodes {
			places[i] = c.value(item, scope)
		}
		return c.bounded(schema.TupleOf(places...))
	}
	elem := c.value(n.Nodes[0], scope)
	for _, item := range n.Nodes[1:] {
		elem = schema.Join(elem, c.value(item, scope))
	}
	return c.bounded(schema.ListOf(elem))
}

func (c *checker) object(n *ast.MapNode, scope *Scope) *schema.Type {
	var fields []schema.Field
	var additional *schema.Type
	for _, node := range n.Pairs {
		pair, ok := node.(*ast.PairNode)
		if !ok {
			continue
		}
		value := c.value(pair.Value, scope)
		key, literal := pair.Key.(*ast.StringNode)
		if !literal {
			c.fieldName(pair.Key, scope)
			additional = joined(additional, value)
			for i := range fields { // it may be the name of one of them
				fields[i].Type = schema.Join(fields[i].Type, value)
			}
			continue
		}
		fields = slices.DeleteFunc(fields, func(f schema.Field) bool { return f.Name == key.Value })
		fields = append(fields, schema.Required(key.Value, value))
	}
	whole := schema.ObjectOf(fields...)
	whole.Additional = additional
	return c.bounded(whole)
}

func joined(a, b *schema.Type) *schema.Type {
	if a == nil {
		return b
	}
	return schema.Join(a, b)
}

// fieldName checks a computed name of a field.
func (c *checker) fieldName(node ast.Node, scope *Scope) {
	t := c.present(node, scope)
	if wrong := misfit(t, texts); wrong != nil {
		c.report(c.issueOver(node, CodeArgument, "a field's name must be text, got %s", wrong.Article()).hint("string(x) makes text of it"))
	}
	c.mustKnow(node, t, "the name can't be checked")
}

func (c *checker) let(n *ast.VariableDeclaratorNode, scope *Scope) *schema.Type {
	value := c.value(n.Value, scope)
	if _, taken := scope.Lookup(n.Name); taken {
		c.report(c.issueAt(n, CodeName, "the name `%s` is taken already", n.Name))
	}
	return c.value(n.Expr, scope.meaning(n.Name, value, n.Value))
}

func (c *checker) conditional(n *ast.ConditionalNode, scope *Scope) *schema.Type {
	c.condition(n.Cond, scope, "a condition")
	then := c.value(n.Exp1, assume(n.Cond, true, scope))
	other := c.value(n.Exp2, assume(n.Cond, false, scope))
	return c.bounded(schema.Join(then, other))
}

// bounded gives up on types that have grown too large.
func (c *checker) bounded(t *schema.Type) *schema.Type {
	if c.weight(t) > maxWeight {
		return anyType
	}
	return t
}

func (c *checker) weight(t *schema.Type) int {
	if t == nil {
		return 0
	}
	if w, ok := c.weights[t]; ok {
		return w
	}
	w := 1 + c.weight(t.Elem) + c.weight(t.Additional)
	for _, one := range slices.Concat(t.Alternatives, t.Tuple, t.Variants) {
		w += c.weight(one)
	}
	for _, field := range t.Fields {
		w = min(w+c.weight(field.Type), maxWeight+1)
	}
	c.weights[t] = w
	return w
}

// visible returns the names that an author can write.
func (s *Scope) visible() []string {
	return slices.DeleteFunc(s.Names(), func(name string) bool { return strings.HasPrefix(name, "#") })
}
