package check

import (
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// infer checks an expression as strictly as is asked.
func (c *checker) infer(p *part, scope *eval.Scope) (*schema.Type, []eval.Issue) {
	if c.strict {
		return p.parsed.CheckStrict(scope)
	}
	return p.parsed.Check(scope)
}

// knownType refuses, in the strict check, a value of which nothing is known
// (LANGUAGE.md, rule 4).
func (c *checker) knownType(node *spec.Node, t *schema.Type) {
	if c.strict && t.Kind == schema.Any && t.Alternatives == nil {
		c.errorAt(node.Pos, eval.CodeAny, "the type of this value is not known").Hint =
			"make one of it with string(x), int(x) or float(x); get(x, path) reads a part as it comes"
	}
}
