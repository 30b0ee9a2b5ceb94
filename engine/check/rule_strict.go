package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
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
// (docs/language.md, rule 4).
func (c *checker) knownType(text *text, t *schema.Type) {
	if c.strict && !t.Known() && t != eval.Faulty && !c.toldAtItsStep(text.whole) {
		c.errorAt(text.node.Pos, eval.CodeAny, "the type of this value is not known").Hint =
			diag.Say("make one of it with string(x), int(x) or float(x); get(x, path) reads a part as it comes")
	}
}

// fits reports whether a value may stand in a place, in the strict check whether
// it surely may.
func (c *checker) fits(t, into *schema.Type) *schema.Misfit {
	if c.strict {
		return t.SurelyFits(into)
	}
	return t.Fits(into)
}

// isA reports whether a value of which something is known can be of other kinds
// than these.
func isA(t *schema.Type, kinds ...schema.Kind) bool {
	return !slices.ContainsFunc(t.Each(), func(one *schema.Type) bool {
		return one.Kind != schema.Any && !slices.Contains(kinds, one.Kind)
	})
}

// toldAtItsStep reports whether an expression only reads what a `let` or a
// loop's `collect` has made: what is not known of it was told there.
func (c *checker) toldAtItsStep(p *part) bool {
	reads := p.parsed.Reads()
	if len(reads) != 1 || reads[0].Path[0] != stepsRoot || len(reads[0].Path) < 2 || len(strings.TrimSpace(p.source)) != reads[0].End-reads[0].Start {
		return false
	}
	target := c.byID[reads[0].Path[1]]
	return target != nil && (target.src.Kind == spec.LetStep || target.src.Kind == spec.LoopStep)
}
