package check

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// with checks an action's inputs against its schema, then asks the plugin about
// what is known of them.
func (c *checker) with(s *step, p *plan.Step) {
	v := &valuer{c: c, scope: c.scopeOf(s, true)}
	node := s.src.With
	if s.action == nil {
		if node != nil {
			v.value(node, anyType(), "") // expressions are checked all the same
		}
		return
	}
	v.what = s.action.plan.FullName()
	switch {
	case node != nil:
		p.With, _ = v.value(node, s.action.input, "")
	case s.src.Written("with"):
		return // reported
	default:
		p.With = literal(json.RawMessage("{}"))
		c.withoutInputs(s, v)
	}
	if v.failed {
		return
	}
	if v.what == "core.sleep" {
		c.exactlyOne(s, "for", "until")
	}
	c.validate(s, p, v.unknown)
}

// withoutInputs reports required inputs of a step that has no `with`.
func (c *checker) withoutInputs(s *step, v *valuer) {
	for _, field := range s.action.input.Fields {
		if field.Required {
			v.missingField(s.src.Node.FirstKey(), field.Name, true)
		}
	}
}

// exactlyOne reports a step that has none or several of the inputs.
func (c *checker) exactlyOne(s *step, names ...string) {
	pos, count := s.src.Node.FirstKey(), 0
	if s.src.With != nil {
		pos = s.src.With.FirstKey()
	}
	for _, name := range names {
		if pair, ok := s.src.With.Pair(name); ok {
			if count++; count > 1 {
				pos = pair.Key.Pos
			}
		}
	}
	if count != 1 {
		c.errorAt(pos, CodeNoneOrTooMany, "%s needs exactly one of %s", s.action.plan.FullName(), "`"+strings.Join(names, "` and `")+"`")
	}
}

// validate asks the plugin. Its word may narrow the type of the outputs.
func (c *checker) validate(s *step, p *plan.Step, unknown []string) {
	name := s.action.plan.FullName()
	answer, err := c.catalog.Validate(c.ctx, name, knownJSON(p.With), unknown)
	if err != nil {
		c.problems.Warnf(s.src.Uses.Pos, CodeNotAsked, "the plugin could not be asked about the inputs of %s: %v", name, err)
		return
	}
	for _, found := range answer.Problems {
		problem := c.errorAt(c.pointed(s, found.Pointer), CodeRefused, "%s", found.Summary)
		problem.Hint = found.Detail
		if found.Severity == diag.Warning {
			problem.Severity = diag.Warning
		}
	}
	if len(answer.Output) == 0 {
		return
	}
	narrowed, err := schema.FromJSON(answer.Output)
	if err != nil {
		c.problems.Warnf(s.src.Uses.Pos, CodeNotAsked, "the plugin's output schema for %s can't be read: %v", name, err)
		return
	}
	s.output, p.OutputSchema = narrowed, answer.Output
}

// pointed returns the place of a JSON pointer into `with`: of the value, or of
// the map in which the named one is missing.
func (c *checker) pointed(s *step, pointer string) diag.Pos {
	node := s.src.With
	if node == nil {
		return s.src.Node.FirstKey()
	}
	if pointer == "" {
		return node.FirstKey()
	}
	for _, token := range strings.Split(strings.TrimPrefix(pointer, "/"), "/") {
		next := childOf(node, strings.NewReplacer("~1", "/", "~0", "~").Replace(token))
		if next == nil {
			return node.FirstKey()
		}
		node = next
	}
	return node.Pos
}

func childOf(node *spec.Node, token string) *spec.Node {
	if node.Kind == spec.Sequence {
		i, err := strconv.Atoi(token)
		if err != nil || i < 0 || i >= len(node.Items) {
			return nil
		}
		return node.Items[i]
	}
	return node.Get(token)
}
