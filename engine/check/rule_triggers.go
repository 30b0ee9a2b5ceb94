package check

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	inputsKey  = "inputs"
	failureKey = "pause_after_failures"
	triggerKey = "trigger"
	requestKey = "request"
	itemKey    = "item"
	resultKey  = "result"
)

// triggerKinds are the keys of which a trigger has exactly one.
func triggerKinds() []string { return spec.V1().Map(triggerKey).Kinds() }

// keysBeside are the keys that stand beside a kind (docs/language.md, "Triggers").
func (c *checker) keysBeside(kind string) []string {
	return slices.DeleteFunc(c.tree.Language.Map(triggerKey).KeyNames(kind), func(key string) bool { return key == kind })
}

// brought is what triggers bring into a run: the types of `trigger.item` and
// `trigger.outputs`, nil where no trigger has them.
type brought struct {
	item, outputs *schema.Type
}

// triggers checks all triggers (docs/language.md, rules 17 and 18).
func (c *checker) triggers() {
	if c.tree.Triggers == nil {
		return
	}
	for _, pair := range c.tree.Triggers.Pairs {
		name := pair.Key.Text
		switch names := c.tree.Language.Map("triggers"); {
		case slices.Contains(names.Not, name):
			c.errorAt(pair.Key.Pos, CodeName, "`manual` is the trigger that every workflow has").Hint = diag.Say("give this one another name")
		case !isTrigger(name) || len(name) > names.MaxName:
			c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for a trigger", name).Hint =
				diag.Say("it starts with a letter and has letters, digits, `_` and `-`")
		}
		if c.isMap(pair, &spec.Key{Name: name, What: c.tree.Language.Map(triggerKey).What, Example: name + ": {cron: …}"}) {
			c.trigger(pair)
		}
	}
}

// trigger checks one trigger.
func (c *checker) trigger(pair spec.Pair) {
	node := pair.Value
	out := plan.Trigger{Name: pair.Key.Text, Pos: position(pair.Key.Pos)}
	kind, ok := c.triggerKind(node)
	if !ok {
		c.looseTrigger(node)
		return
	}
	out.Kind = plan.TriggerKind(kind)
	c.besideKeys(node, kind)
	t := &trigger{c: c, node: node, out: &out, scope: c.triggerScope()}
	written, _ := node.Pair(kind)
	key := c.key(triggerKey, kind)
	switch {
	case out.Kind == plan.TriggerCron || out.Kind == plan.TriggerEvery:
		t.schedule(key, written)
	case !c.isMap(written, key):
	case out.Kind == plan.TriggerWebhook:
		t.webhook(written.Value)
	case out.Kind == plan.TriggerPoll:
		t.poll(written.Value)
	case out.Kind == plan.TriggerAfter:
		t.after(written.Value)
	}
	t.beside(kind)
	t.inputs()
	c.plan.Triggers = append(c.plan.Triggers, out)
}

// beside reads what stands beside a kind.
func (t *trigger) beside(kind string) {
	c, table := t.c, t.c.tree.Language.Map(triggerKey)
	own := map[string]reader{failureKey: into(&t.out.PauseAfterFailures, c.integer)}
	if schedule := t.out.Schedule; schedule != nil {
		own["timezone"] = func(_ *spec.Key, n *spec.Node) { c.timezone(n, &schedule.Timezone) }
		own["jitter"] = func(key *spec.Key, n *spec.Node) { c.jitter(key, n, schedule) }
		own["dst"] = func(_ *spec.Key, n *spec.Node) {
			c.fields(n, "dst", map[string]reader{"skipped_time": wordInto(c, &schedule.Skipped), "repeated_time": wordInto(c, &schedule.Repeated)})
		}
		own["catchup"] = func(_ *spec.Key, n *spec.Node) {
			c.fields(n, "catchup", map[string]reader{"window": into(&schedule.Catchup.Window, c.duration), "keep": wordInto(c, &schedule.Catchup.Keep)})
		}
	}
	for _, pair := range t.node.Pairs {
		key := table.KeyOf(kind, pair.Key.Text)
		switch {
		case key == nil, key.Makes != "", key.Name == inputsKey, pair.Value.Bad: // told, or read elsewhere
		case key.Type == spec.None && !c.isMap(pair, key):
		case own[key.Name] != nil:
			own[key.Name](key, pair.Value)
		default:
			c.plain(key, pair.Value)
		}
	}
}

// triggerKind finds the one kind of a trigger; false when there is none.
func (c *checker) triggerKind(node *spec.Node) (string, bool) {
	var first *spec.Node
	unknown := false
	for _, pair := range node.Pairs {
		key := pair.Key.Text
		switch {
		case !slices.Contains(triggerKinds(), key):
			unknown = unknown || !c.isTriggerKey(key)
		case first == nil:
			first = pair.Key
		default:
			problem := c.errorAt(pair.Key.Pos, CodeTriggerKind, "a trigger can't be `%s` and `%s` at once", first.Text, key)
			problem.Related = []diag.Related{{Pos: first.Pos, Message: "the first kind"}}
			problem.Hint = diag.Say("make two triggers of it")
			if first.Text == "poll" && key == "every" || first.Text == "every" && key == "poll" {
				problem.Hint = diag.Say("the `every` of a poll stands inside it")
			}
			return first.Text, true
		}
	}
	if first != nil {
		return first.Text, true
	}
	if !unknown && !node.Partial {
		c.errorAt(node.FirstKey(), CodeTriggerKind, "the trigger says nothing of when it fires").Hint =
			diag.Say("it has one of " + strings.Join(triggerKinds(), ", "))
	}
	return "", false
}

// isTriggerKey reports whether some trigger has the key.
func (c *checker) isTriggerKey(key string) bool { return c.key(triggerKey, key) != nil }

// looseTrigger reports the unknown keys of a trigger without a kind.
func (c *checker) looseTrigger(node *spec.Node) {
	for _, pair := range node.Pairs {
		if !c.isTriggerKey(pair.Key.Text) {
			c.unknownTriggerKey(pair.Key, c.tree.Language.Map(triggerKey).KeyNames(""))
		}
	}
}

func (c *checker) unknownTriggerKey(key *spec.Node, names []string) {
	problem := c.unknownKey(key, "a trigger", names)
	if key.Text == "schedule" {
		problem.Hint = diag.Say("did you mean `cron`?")
	}
}

// besideKeys reports keys that do not belong to the kind of trigger.
func (c *checker) besideKeys(node *spec.Node, kind string) {
	own, inside := c.keysBeside(kind), c.tree.Language.Map(kind)
	for _, pair := range node.Pairs {
		key := pair.Key.Text
		switch {
		case slices.Contains(triggerKinds(), key), slices.Contains(own, key):
		case inside != nil && inside.Key(key) != nil:
			c.errorAt(pair.Key.Pos, CodeTriggerKey, "`%s` does not stand beside `%s`", key, kind).Hint =
				diag.Say("write it inside: `" + kind + ": {" + key + ": …}`")
		case c.isTriggerKey(key):
			c.errorAt(pair.Key.Pos, CodeTriggerKey, "`%s` does not belong to a trigger that is `%s`", key, kind).Hint =
				diag.Say("beside `" + kind + "` stand " + strings.Join(own, ", "))
		default:
			c.unknownTriggerKey(pair.Key, slices.Concat([]string{kind}, own))
		}
	}
}

// trigger is a trigger while it is checked.
type trigger struct {
	c     *checker
	node  *spec.Node
	out   *plan.Trigger
	scope *eval.Scope // what its `inputs` see
	reads []string    // their roots
}

// triggerScope is what every expression of a trigger sees. The roots that can't
// be read there are in it, so that nothing follows from what triggerReads
// reports.
func (c *checker) triggerScope() *eval.Scope {
	scope := eval.NewScope()
	for _, name := range rootNames() {
		scope = scope.With(name, schema.Of(schema.Any))
	}
	return scope.With("secrets", schema.MapOf(schema.SecretText()))
}

// triggerReads reports the roots that can't be read below a node.
func (c *checker) triggerReads(node *spec.Node, allowed ...string) {
	node.EachScalar(func(n *spec.Node) {
		for _, p := range c.text(n).parts {
			if p.parsed == nil {
				continue
			}
			for _, r := range p.parsed.Reads() {
				root := r.Path[0]
				if root == "secrets" || slices.Contains(allowed, root) || !slices.Contains(rootNames(), root) {
					continue
				}
				problem := c.errorAt(place(n, p.offset, r.Places[0]), CodeTriggerRoot, "`%s` can't be read here", root)
				problem.Hint = diag.Say("before a run there is nothing of it")
				if len(allowed) > 0 {
					problem.Hint = diag.Say("here one can read " + strings.Join(allowed, ", "))
				}
			}
		}
	})
}

// inputs checks what the trigger supplies: every input without a default.
func (t *trigger) inputs() {
	c := t.c
	accepted := c.suppliedType()
	node := t.node.Get(inputsKey)
	pair, written := t.node.Pair(inputsKey)
	switch {
	case written && !c.isMap(pair, c.key(triggerKey, inputsKey)):
		return
	case !written:
		if misspelt(t.node, inputsKey) {
			return
		}
		for _, f := range accepted.Fields {
			if f.Required {
				c.errorAt(t.node.FirstKey(), CodeMissingField, "the trigger gives no value for the input `%s`", f.Name).Hint =
					diag.Say("write `inputs: {" + f.Name + ": …}`, or give the input a default")
			}
		}
		return
	}
	c.triggerReads(node, t.reads...)
	v := valuer{c: c, scope: t.scope}
	out := v.value(node, accepted, "", false)
	for _, pair := range node.Pairs {
		if _, ok := accepted.Field(pair.Key.Text); ok || accepted.Additional != nil {
			t.out.Inputs = append(t.out.Inputs, plan.Binding{Name: pair.Key.Text, Value: partOf(out.plan, pair.Key.Text)})
		}
	}
}

// partOf returns one field of an object's value.
func partOf(v plan.Value, name string) plan.Value {
	if v.Kind == plan.ValueLiteral {
		return literal(memberOf(v.Literal, name))
	}
	for _, binding := range v.Object {
		if binding.Name == name {
			return binding.Value
		}
	}
	return plan.Value{}
}

// suppliedType is the type of the inputs as a trigger gives them. Of inputs that
// are wrong themselves nothing is asked: that was reported.
func (c *checker) suppliedType() *schema.Type {
	_, written := c.tree.Root.Pair(inputsKey)
	if written && c.tree.Inputs == nil {
		return schema.MapOf(schema.Of(schema.Any))
	}
	loose := written && c.plan.Inputs == nil
	fields := slices.Clone(c.inputs.Fields)
	for i, f := range fields {
		fields[i].Required = f.Required && f.Type.Default == nil && (!loose || f.Type.Known())
	}
	return schema.ObjectOf(fields...)
}
