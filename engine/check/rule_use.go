package check

import (
	"slices"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// actionStep checks a step that calls an action.
func (c *checker) actionStep(s *step) {
	s.plan.Kind = plan.StepAction
	if isWorkflowPath(s.src.Uses) {
		c.workflowStep(s)
		return
	}
	s.action = c.actionOf(s.src.Uses)
	c.timeouts(s)
	c.reactions(s, s.plan)
	c.stepRetry(s)
	c.onUnknown(s)
	c.incremental(s)
	c.cache(s)
	if s.action == nil {
		c.unknownUse(s)
		return
	}
	s.plan.Uses = s.src.Uses.Text
	output := s.action.output
	if own := c.builtinWith(s); own != nil {
		output = own
	} else if narrowed := c.with(s); narrowed != nil {
		output = narrowed
	}
	c.notifyTarget(s)
	c.blobInCache(s, output)
	c.connection(s)
	s.output = c.repeat(s, c.paginate(s, output))
}

// unknownUse checks what can be checked without the action.
func (c *checker) unknownUse(s *step) {
	s.output = schema.Of(schema.Any)
	v := valuer{c: c, scope: c.scope(s, false, true)}
	for _, node := range []*spec.Node{s.src.With, s.src.Connection} {
		if node != nil {
			v.value(node, nil, "", false)
		}
	}
	c.paginate(s, s.output)
	c.repeat(s, s.output)
}

// stepRetry reads `retry` over the workflow's defaults.
func (c *checker) stepRetry(s *step) {
	node := s.src.Retry
	if s.action != nil && s.action.inside() {
		if pair, ok := s.src.Node.Pair("retry"); ok && node != nil {
			c.errorAt(pair.Key.Pos, CodeNotForAction, "`retry` does not belong to `%s`", s.src.Uses.Text).Hint =
				diag.Say("it runs inside the engine, where nothing passes by waiting")
		}
		return
	}
	retry := c.retry
	if node != nil {
		retry.Explicit = true
		c.retryWords(node, &retry)
	}
	s.plan.Retry = &retry
}

// with checks an action's input and asks the plugin about it. The type is that
// of the outputs when the plugin narrowed it, else nil.
func (c *checker) with(s *step) *schema.Type {
	node, input := s.src.With, s.action.input
	if node == nil {
		if !s.src.Written("with") && !s.misspelt("with") && c.nothingWritten(s, input) {
			s.plan.With = literal([]byte("{}"))
			return c.ask(s, []byte("{}"), nil)
		}
		return nil
	}
	v := &valuer{c: c, scope: c.scope(s, false, true), field: true}
	out := v.value(node, input, "", false)
	s.plan.With = out.plan
	if v.bad || !c.oneOf(s) {
		return nil
	}
	return c.ask(s, out.json, v.unknown)
}

// misspelt reports whether the step has a key that may be meant to be this one:
// that was reported.
func (s *step) misspelt(key string) bool { return misspelt(s.src.Node, key) }

func misspelt(node *spec.Node, key string) bool {
	return slices.ContainsFunc(node.Pairs, func(pair spec.Pair) bool {
		return diag.Nearest(pair.Key.Text, []string{key}) == key
	})
}

// nothingWritten reports required inputs of a step without `with`; true when
// there are none.
func (c *checker) nothingWritten(s *step, input *schema.Type) bool {
	fine := true
	for _, f := range input.Fields {
		if !f.Required {
			continue
		}
		fine = false
		c.errorAt(s.src.Node.FirstKey(), CodeMissingField, "`%s` needs `with: {%s: …}`", s.src.Uses.Text, f.Name).Hint =
			diag.Takes(f.Type.Article())
	}
	return fine && c.oneOf(s)
}

// oneOf checks the inputs of which exactly one is given.
func (c *checker) oneOf(s *step) bool {
	if own := c.tree.Language.Map("with " + s.src.Uses.Text); own == nil || !own.One {
		return true
	}
	_, isFor := s.src.With.Pair("for")
	until, isUntil := s.src.With.Pair("until")
	switch {
	case isFor && isUntil:
		c.errorAt(until.Key.Pos, CodeNoneOrTooMany, "`for` and `until` can't stand together").Hint = diag.Say("give one of the two")
	case !isFor && !isUntil:
		pos := s.src.Node.FirstKey()
		if s.src.With != nil {
			pos = s.src.With.FirstKey()
		}
		c.errorAt(pos, CodeNoneOrTooMany, "`for` or `until` is missing")
	}
	return isFor != isUntil
}

// askOn asks the plugin, with the connection where the catalog can tell it.
func (c *checker) askOn(s *step, input []byte, unknown []string) (Validation, error) {
	if on, ok := c.catalog.(ConnectionCatalog); ok {
		return on.ValidateOn(c.ctx, s.src.Uses.Text, c.connectionKnown(s), input, unknown)
	}
	return c.catalog.Validate(c.ctx, s.src.Uses.Text, input, unknown)
}

// ask lets the plugin look at the input.
func (c *checker) ask(s *step, input []byte, unknown []string) *schema.Type {
	input, unknown = c.cutRange(s, input, unknown)
	validation, err := c.askOn(s, input, unknown)
	if err != nil {
		c.problems.Warnf(s.src.Uses.Pos, CodeNotAsked, "the plugin can't be asked about this input: %s", err.Error()).Hint =
			diag.Say("the input is checked when the step runs")
		return nil
	}
	for _, validationProblem := range validation.Problems {
		at := s.src.Uses
		if s.src.With != nil {
			at = s.src.With.Find(validationProblem.Pointer)
		}
		problem := c.errorAt(at.Pos, CodeRefused, "%s", validationProblem.Summary)
		problem.Hint = diag.Say(validationProblem.Detail)
		if validationProblem.Severity == diag.Warning {
			problem.Severity = diag.Warning
		}
	}
	if s.src.Paginate != nil {
		s.plan.PageIdentity = validation.Identity
	}
	if len(validation.Output) == 0 {
		return nil
	}
	narrowed, err := schema.FromJSON(validation.Output)
	if err != nil {
		c.problems.Warnf(s.src.Uses.Pos, CodeNotAsked, "the output schema of this step can't be read: %s", err.Error())
		return nil
	}
	s.plan.OutputSchema = validation.Output
	return narrowed
}
