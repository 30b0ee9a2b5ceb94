package check

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// memory is what the workflow keeps between runs.
type memory struct {
	state   *schema.Type          // nil = none is declared
	set     map[string]diag.Pos   // names that a set_state writes, and where
	cursors map[string]*spec.Node // names of `incremental`
}

// stateSchema reads the declarations of `state` into their type and into a JSON
// Schema for the plan (docs/language.md, rule 14).
func (c *checker) stateSchema() {
	c.memory.set, c.memory.cursors = map[string]diag.Pos{}, map[string]*spec.Node{}
	if c.tree.State == nil {
		if _, written := c.tree.Root.Pair("state"); written {
			c.memory.state = schema.MapOf(schema.Of(schema.Any)) // its shape was reported
		}
		return
	}
	r := inputReader{c: c, noBlobs: "a large value belongs to its run, and state is kept between runs: keep its digest, a text"}
	var properties object
	var names []string
	for _, pair := range c.tree.State.Pairs {
		name := pair.Key.Text
		if !isField(name) {
			c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for a state value", name).Hint = diag.Say(fieldHint)
			r.bad = true
		}
		names = append(names, name)
		if pair.Value.Bad {
			r.bad = true
			continue
		}
		text, hasDefault := r.schema(pair.Value, "state `"+name+"`")
		properties = append(properties, member{name, text})
		if !hasDefault && !r.bad && !nullable(text) {
			c.errorAt(pair.Key.Pos, CodeStateDefault, "the state value `%s` needs a default", name).Hint =
				diag.Say("the first run reads it: write `default: …`, or `nullable: true`")
			r.bad = true
		}
	}
	text := closed(properties.encode(), names)
	t, err := schema.FromJSON(text)
	if err != nil || r.bad {
		if !r.bad {
			c.errorAt(c.tree.State.FirstKey(), CodeSchema, "%s", err.Error())
		}
		c.memory.state = looseInputs(c.tree.State, t)
		return
	}
	c.plan.State, c.memory.state = text, t.Exact()
}

func nullable(text json.RawMessage) bool {
	t, err := schema.FromJSON(text)
	return err != nil || t.AcceptsNull()
}

// setStateStep checks the values that a run's success writes.
func (c *checker) setStateStep(s *step) {
	s.plan.Kind = plan.StepSetState
	s.output = schema.ObjectOf()
	pair, _ := s.src.Node.Pair("set_state")
	if s.list.loop != nil || s.list.handler != handlerNone {
		c.setElsewhere(s, pair.Key.Pos)
		c.loose(s)
		return
	}
	if s.src.SetState == nil {
		return
	}
	scope := c.scope(s, false, true)
	for _, value := range s.src.SetState.Pairs {
		v := valuer{c: c, scope: scope}
		out := v.value(value.Value, c.stateField(value.Key), "", false)
		c.blobInState(value.Value, out.typ)
		s.plan.Let = append(s.plan.Let, plan.Binding{Name: value.Key.Text, Value: out.plan})
	}
}

// setElsewhere reports a set_state that can't be written once with the success.
func (c *checker) setElsewhere(s *step, pos diag.Pos) {
	if s.list.loop != nil {
		c.errorAt(pos, CodeSetState, "`set_state` can't stand inside a loop").Hint =
			diag.Say("set it once, behind the loop, from what `collect` yields")
		return
	}
	c.errorAt(pos, CodeSetState, "`set_state` can't stand in `%s`", s.list.handler).Hint =
		diag.Say("state is written together with the run's success, which is final before its handlers run")
}

// stateField returns the declared type of a name that is set, nil for one that
// can't be set, which is reported.
func (c *checker) stateField(key *spec.Node) *schema.Type {
	name := key.Text
	if c.memory.state == nil {
		c.errorAt(key.Pos, CodeStateName, "the workflow declares no state").Hint =
			diag.Say("declare it at the top: state: {" + name + ": {type: …, default: …}}")
		return nil
	}
	t, ok := c.memory.state.Field(name)
	if !ok && c.memory.state.Additional == nil {
		problem := c.errorAt(key.Pos, CodeStateName, "there is no state `%s`", name)
		if problem.Hint = diag.DidYouMean(name, c.memory.state.FieldNames()); problem.Hint.Text == "" {
			problem.Hint = diag.Say("declare it under `state` at the top")
		}
		meant, _ := c.memory.state.Field(problem.Hint.Near)
		return meant
	}
	if first, twice := c.memory.set[name]; twice {
		problem := c.errorAt(key.Pos, CodeSetState, "the state `%s` is set twice", name)
		problem.Related = []diag.Related{{Pos: first, Message: "first set here"}}
		problem.Hint = diag.Say("a run writes each value once, with its success")
	} else {
		c.memory.set[name] = key.Pos
	}
	return t
}

// incremental reads `incremental: {cursor: NAME}` (docs/language.md, rule 13).
func (c *checker) incremental(s *step) {
	node := s.src.Incremental
	if node == nil {
		return
	}
	pair, _ := s.src.Node.Pair("incremental")
	c.fields(node, "incremental", map[string]reader{"cursor": func(key *spec.Key, n *spec.Node) { c.cursorName(s, key, n) }})
	switch {
	case s.action == nil:
	case !s.action.plan.Incremental:
		c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` can't read only what is new", s.src.Uses.Text).Hint =
			diag.Say("leave `incremental` out: the action has no watermark")
	case s.list.handler != handlerNone:
		c.errorAt(pair.Key.Pos, CodeSetState, "`incremental` can't stand in `%s`", s.list.handler).Hint =
			diag.Say("cursors move together with the run's success, which is final before its handlers run")
	case s.action.plan.Paging != nil && !s.src.Written("paginate") && !s.misspelt("paginate"):
		c.errorAt(pair.Key.Pos, CodeMissing, "`incremental` needs `paginate` beside it").Hint =
			diag.Say("`" + s.src.Uses.Text + "` answers in pages: after the first alone the cursor would pass over the rest")
	}
}

func (c *checker) cursorName(s *step, key *spec.Key, node *spec.Node) {
	if !c.scalar(node, key.What) {
		return
	}
	name := node.Text
	first, taken := c.memory.cursors[name]
	switch {
	case !isName(name) || len([]rune(name)) > key.MaxRunes:
		c.errorAt(node.Pos, CodeCursorName, "`%s` is not a name for a cursor", name).Hint = diag.Say(nameHint)
	case taken:
		problem := c.errorAt(node.Pos, CodeCursorName, "two steps have the cursor `%s`", name)
		problem.Related = []diag.Related{{Pos: first.Pos, Message: "the first one"}}
		problem.Hint = diag.Say("give each its own name")
	default:
		c.memory.cursors[name] = node
		s.plan.Incremental = name
	}
}

// cache reads `cache: 6h`: only what reads can be answered from before.
func (c *checker) cache(s *step) {
	node := s.src.Cache
	if node == nil {
		return
	}
	pair, _ := s.src.Node.Pair("cache")
	into(&s.plan.Cache, c.duration)(c.key("step", "cache"), node)
	var problem *diag.Problem
	switch {
	case s.action == nil:
		return
	case s.action.builtin():
		problem = c.errorAt(pair.Key.Pos, CodeNotForAction, "`cache` does not belong to `%s`", s.src.Uses.Text)
		problem.Hint = diag.Say("leave `cache` out")
	case s.action.plan.Effect != plan.EffectRead:
		problem = c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` can't be answered from a cache: its effect is `%s`", s.src.Uses.Text, s.action.plan.Effect)
		problem.Hint = diag.Say("only actions that read have a cache")
	case s.action.output.HasSecret():
		problem = c.errorAt(pair.Key.Pos, CodeNotForAction, "`%s` can't have a cache: its output holds a secret", s.src.Uses.Text)
		problem.Hint = diag.Say("leave `cache` out")
	case s.src.Incremental != nil:
		problem = c.errorAt(pair.Key.Pos, CodeNotForAction, "`cache` and `incremental` can't stand together")
		problem.Hint = diag.Say("what was read before is not what is new")
	case s.src.Repeat != nil:
		problem = c.errorAt(pair.Key.Pos, CodeNotForAction, "`cache` and `repeat` can't stand together")
		problem.Hint = diag.Say("each round would get the first one's answer")
	}
}

// StateOf returns the name that a workflow has and its declared state as JSON
// Schema, without asking any plugin; ok is false where the declarations have
// problems. A workflow without state has an empty schema.
func StateOf(tree *spec.Workflow) (name string, state json.RawMessage, ok bool) {
	c := &checker{tree: tree, texts: map[*spec.Node]*text{}, plan: &plan.Workflow{File: tree.File}}
	name = c.name()
	c.stateSchema()
	return name, c.plan.State, !c.problems.HasErrors()
}
