package check

import (
	"regexp"
	"slices"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/spec"
)

var namePattern = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// operatorWords are names that expressions read as something else.
func operatorWords() []string {
	return []string{"and", "or", "not", "in", "matches", "contains", "startsWith", "endsWith", "let", "if", "else", "true", "false", "nil"}
}

// freshName checks a name that expressions see bare: an identifier that hides
// no root, function or name of a loop around the step.
func (c *checker) freshName(node *spec.Node, s *step, what string) bool {
	name := node.Text
	switch {
	case !namePattern.MatchString(name) || slices.Contains(operatorWords(), name):
		c.errorAt(node.Pos, CodeName, "`%s` can't be the name of %s", name, what).Hint =
			"a name has letters, digits and `_`, and is no word of expressions"
	case slices.Contains(rootNames(), name) && name != defaultItem:
		c.errorAt(node.Pos, CodeName, "`%s` can't be the name of %s", name, what).Hint =
			"it has a meaning in expressions: choose another name"
	case slices.Contains(eval.FunctionNames(), name):
		c.errorAt(node.Pos, CodeName, "`%s` can't be the name of %s", name, what).Hint =
			"a function has this name: choose another one"
	case slices.ContainsFunc(s.loops(), func(loop *step) bool { return loop.itemName() == name }):
		c.errorAt(node.Pos, CodeName, "the name `%s` is taken by a loop around this step", name).Hint = "choose another name"
	default:
		return true
	}
	return false
}
