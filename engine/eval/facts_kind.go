package eval

import (
	"slices"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// kindFunction is the function whose result says what kind of value something is.
const kindFunction = "kindOf"

// kindWord is what kindOf says of a value of the kind.
func kindWord(kind schema.Kind) string {
	if kind == schema.Null {
		return "null"
	}
	for word, named := range kindWords() {
		if named == kind {
			return word
		}
	}
	return "any"
}

// kindOfType is the type of what kindOf says of a value of the type: the words of the
// kinds that it can have.
func kindOfType(t *schema.Type) *schema.Type {
	var words []string
	if !t.Known() {
		for kind := schema.Null; kind <= schema.Object; kind++ {
			words = append(words, kindWord(kind))
		}
		return schema.EnumOf(words...)
	}
	for _, one := range t.Each() {
		words = append(words, kindWord(one.Kind))
		if one.Kind == schema.Number { // a whole one may stand there
			words = append(words, kindWord(schema.Int))
		}
	}
	if t.MayBeNull() && t.Kind != schema.Null {
		words = append(words, "null")
	}
	slices.Sort(words)
	return schema.EnumOf(slices.Compact(words)...)
}

// assumeTexts narrows by what a node is one of some texts, or none of them: what kindOf
// says of a value, or the field of an object that tells which of several it is.
func assumeTexts(node ast.Node, texts []string, is bool, scope *Scope) *Scope {
	if binary, ok := node.(*ast.BinaryNode); ok && binary.Operator == "??" && is {
		if other, ok := binary.Right.(*ast.StringNode); isNil(binary.Right) || ok && !slices.Contains(texts, other.Value) {
			node = binary.Left
		}
	}
	if word, of := kindCall(node); word != nil {
		path, ok := memberPath(of)
		if !ok {
			return scope
		}
		return scope.narrowed(path, func(t *schema.Type) *schema.Type {
			return t.OfKinds(func(kind schema.Kind) bool { return slices.Contains(texts, word(kind)) == is })
		})
	}
	path, ok := memberPath(node)
	if !ok || len(path) < 2 {
		return scope
	}
	last := len(path) - 1
	return scope.narrowed(path[:last], func(t *schema.Type) *schema.Type { return t.Tagged(path[last], texts, is) })
}

// kindCall is a call of kindOf, or of expr's type: what it calls kinds, and its argument;
// nil for another node.
func kindCall(node ast.Node) (word func(schema.Kind) string, of ast.Node) {
	name, arguments := "", []ast.Node(nil)
	switch n := node.(type) {
	case *ast.BuiltinNode:
		name, arguments = n.Name, n.Arguments
	case *ast.CallNode:
		if callee, ok := n.Callee.(*ast.IdentifierNode); ok {
			name, arguments = callee.Value, n.Arguments
		}
	}
	switch {
	case len(arguments) != 1:
	case name == kindFunction:
		return kindWord, arguments[0]
	case name == "type":
		return typeWord, arguments[0]
	}
	return nil, nil
}

// narrowed narrows the type at a path, where it is known.
func (s *Scope) narrowed(path []string, change func(t *schema.Type) *schema.Type) *Scope {
	t, ok := s.typeAt(path)
	if !ok {
		return s
	}
	narrow := change(t)
	if narrow == t {
		return s
	}
	return s.Narrow(path, narrow)
}

// typeAt returns the type of the value at a path, as far as fields lead to it.
func (s *Scope) typeAt(path []string) (*schema.Type, bool) {
	t, ok := s.Lookup(path[0])
	for i := 1; ok; i++ {
		t = s.refine(path[:i], t)
		if i == len(path) {
			return t, true
		}
		if t = t.Shaped(schema.Object); t.Kind != schema.Object {
			return nil, false
		}
		t, ok = t.Field(path[i])
	}
	return nil, false
}

// textsOf returns the texts of a list that is written out and has nothing else.
func textsOf(array *ast.ArrayNode) ([]string, bool) {
	texts := make([]string, 0, len(array.Nodes))
	for _, item := range array.Nodes {
		text, ok := item.(*ast.StringNode)
		if !ok {
			return nil, false
		}
		texts = append(texts, text.Value)
	}
	return texts, len(texts) > 0
}
