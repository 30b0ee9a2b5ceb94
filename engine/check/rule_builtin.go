package check

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// NotifyCatalog is a Catalog that knows the targets of core.notify.
type NotifyCatalog interface {
	// NotifyTargets returns the names under `notify` in the project file; nil
	// where there is no project file, so that names can't be checked.
	NotifyTargets() []string
}

// inside reports whether the action runs in the engine itself: it takes no time,
// but that of a wait.
func (a *action) inside() bool { return a.builtin() && a.plan.FullName() != runs.CoreNotify }

// builtinWith checks the `with` of an action whose inputs are schemas themselves,
// and returns the type of its outputs; nil for all other actions.
func (c *checker) builtinWith(s *step) *schema.Type {
	switch s.src.Uses.Text {
	case runs.CoreApprove:
		return c.approve(s)
	case runs.CoreWait:
		return c.wait(s)
	case runs.CoreRead:
		return c.read(s)
	}
	return nil
}

// approve reads the form: its fields are the outputs.
func (c *checker) approve(s *step) *schema.Type {
	whole, bad := closed(json.RawMessage("{}"), nil), false
	if form := s.src.With.Get("form"); form != nil && !form.Bad {
		if form.Kind == spec.Mapping {
			r := inputReader{c: c, noBlobs: noBlobFromPeople}
			whole = closed(r.properties(form))
			bad = r.bad
		} else {
			bad = true
			c.errorAt(form.Pos, CodeShape, "`form` must be a map of fields, not a %s", form.Kind).Hint =
				diag.Say("write `form: {label: {type: string}}`")
		}
	}
	c.restOf(s, s.action.input, "form")
	t, err := schema.FromJSON(whole)
	switch {
	case bad:
		return schema.Of(schema.Any)
	case err != nil:
		c.errorAt(s.src.With.FirstKey(), CodeSchema, "%s", err.Error())
		return schema.Of(schema.Any)
	}
	s.plan.OutputSchema = whole
	return withDefaults(t)
}

// wait reads the schema of the payload, and `match` by it.
func (c *checker) wait(s *step) *schema.Type {
	text, payload := json.RawMessage("{}"), schema.Of(schema.Any)
	if node := s.src.With.Get("schema"); node != nil && !node.Bad {
		r := inputReader{c: c, noBlobs: noBlobFromPeople}
		read, _ := r.schema(node, "the payload")
		if t, err := schema.FromJSON(read); err == nil && !r.bad {
			text, payload = read, t.Exact() // an answer with other names is refused
		} else if err != nil && !r.bad {
			c.errorAt(node.FirstKey(), CodeSchema, "%s", err.Error())
		}
	}
	c.restOf(s, waitInput(s.action.input, payload), "schema")
	s.plan.OutputSchema = closed(object{{"payload", text}}.encode(), []string{"payload"})
	return schema.ObjectOf(schema.Required("payload", payload))
}

// waitInput is the input of core.wait where the type of the payload is known:
// `match` compares its fields.
func waitInput(input, payload *schema.Type) *schema.Type {
	var fields []schema.Field
	for _, field := range input.Fields {
		if field.Name == "match" && payload.Kind == schema.Object {
			match := schema.ObjectOf()
			for _, f := range payload.Fields {
				match.Fields = append(match.Fields, schema.Optional(f.Name, f.Type))
			}
			match = schema.ObjectOf(match.Fields...)
			match.Additional = payload.Additional
			field.Type = match
		}
		fields = append(fields, field)
	}
	return schema.ObjectOf(fields...)
}

// restOf checks what `with` holds besides a schema, which is no value.
func (c *checker) restOf(s *step, input *schema.Type, without string) {
	if s.src.With == nil {
		if !s.src.Written("with") && !s.misspelt("with") {
			c.nothingWritten(s, input)
		}
		return
	}
	rest := *s.src.With
	rest.Pairs = slices.DeleteFunc(slices.Clone(rest.Pairs), func(p spec.Pair) bool { return p.Key.Text == without })
	if len(rest.Pairs) == 0 && len(s.src.With.Pairs) > 0 {
		rest.Pos = s.src.With.FirstKey()
	}
	v := &valuer{c: c, scope: c.scope(s, false, true), field: true}
	s.plan.With = v.value(&rest, input, "", false).plan
}

// notifyTarget checks the target of core.notify where it is written out.
func (c *checker) notifyTarget(s *step) {
	if s.src.Uses.Text != runs.CoreNotify {
		return
	}
	to := s.src.With.Get("to")
	notifyCatalog, ok := c.catalog.(NotifyCatalog)
	if to == nil || to.Bad || to.Kind != spec.Scalar || !ok {
		return
	}
	text, targets := c.text(to), notifyCatalog.NotifyTargets()
	if text.bad || text.hasExpr() || targets == nil || slices.Contains(targets, text.literal()) {
		return
	}
	problem := c.errorAt(to.Pos, CodeUnknownTarget, "no notify target has the name `%s`", text.literal())
	if problem.Hint = diag.DidYouMean(text.literal(), targets); problem.Hint.Text != "" {
		return
	}
	problem.Hint = diag.Say("declare it under `notify` in flowrun.yaml")
	if len(targets) > 0 {
		problem.Hint = diag.Say("the targets are " + strings.Join(targets, ", "))
	}
}

// onUnknown reads what follows an unknown outcome (docs/language.md, rule 11).
func (c *checker) onUnknown(s *step) {
	node := s.src.OnUnknown
	if node == nil {
		return
	}
	word, ok := c.word(c.key("step", "on_unknown"), node)
	if !ok || s.action == nil {
		return
	}
	s.plan.OnUnknown = word
	pair, _ := s.src.Node.Pair("on_unknown")
	switch effect := s.action.plan.Effect; {
	case s.action.builtin():
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`on_unknown` does not belong to `%s`", s.src.Uses.Text).Hint = diag.Say("its outcome is always known")
	case effect != plan.EffectOnce:
		c.problems.Warnf(pair.Key.Pos, CodeNotForAction, "`on_unknown` says nothing here: the effect of `%s` is `%s`", s.src.Uses.Text, effect).Hint =
			diag.Say("such a call is sent again after a crash or a lost answer")
	}
}
