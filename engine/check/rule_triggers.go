package check

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

const (
	// leastEvery is the shortest time between two slots or two polls.
	leastEvery  = time.Second
	maxFailures = 1_000_000

	inputsKey  = "inputs"
	failureKey = "pause_after_failures"
	triggerKey = "trigger"
	requestKey = "request"
	itemKey    = "item"
	resultKey  = "result"
)

var triggerPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_-]*$`)

// triggerKinds are the keys of which a trigger has exactly one.
func triggerKinds() []string {
	return []string{
		string(plan.TriggerCron), string(plan.TriggerEvery), string(plan.TriggerWebhook), string(plan.TriggerPoll), string(plan.TriggerAfter),
	}
}

// keysBeside are the keys that stand beside a kind (docs/language.md, "Triggers").
func keysBeside(kind string) []string {
	switch plan.TriggerKind(kind) {
	case plan.TriggerCron, plan.TriggerEvery:
		return []string{"timezone", "jitter", "dst", "catchup", failureKey, inputsKey}
	case plan.TriggerPoll:
		return []string{failureKey, inputsKey}
	}
	return []string{inputsKey}
}

// keysInside are the keys inside a kind that is a map.
func keysInside(kind string) []string {
	switch plan.TriggerKind(kind) {
	case plan.TriggerWebhook:
		return []string{"auth", "dedupe", "body"}
	case plan.TriggerPoll:
		return []string{"uses", "with", "connection", "every", "items", "key"}
	case plan.TriggerAfter:
		return []string{"workflow", "status"}
	}
	return nil
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
		switch {
		case name == string(plan.TriggerManual):
			c.errorAt(pair.Key.Pos, CodeName, "`manual` is the trigger that every workflow has").Hint = "give this one another name"
		case !triggerPattern.MatchString(name) || len(name) > maxName:
			c.errorAt(pair.Key.Pos, CodeName, "`%s` is not a name for a trigger", name).Hint =
				"it starts with a letter and has letters, digits, `_` and `-`"
		}
		if c.isMap(pair, "a trigger", "write `"+name+": {cron: …}`") {
			c.trigger(pair)
		}
	}
}

// isMap reports a value that is no map.
func (c *checker) isMap(pair spec.Pair, what, hint string) bool {
	switch node := pair.Value; {
	case node.Bad:
		return false
	case node.Kind == spec.Mapping:
		return true
	case node.IsNull():
		c.noValue(pair)
	default:
		c.errorAt(node.Pos, CodeShape, "%s must be a map, not a %s", what, node.Kind).Hint = hint
	}
	return false
}

// noValue reports a key with nothing behind it.
func (c *checker) noValue(pair spec.Pair) {
	pos := pair.Value.Pos
	if pair.Value.Text == "" {
		pos = pair.Key.Pos
	}
	c.errorAt(pos, CodeShape, "`%s` has no value", pair.Key.Text).Hint = "leave the key out if it is not wanted"
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
	value := node.Get(kind)
	written, _ := node.Pair(kind)
	switch out.Kind {
	case plan.TriggerCron, plan.TriggerEvery:
		t.schedule(written)
	case plan.TriggerWebhook:
		if c.isMap(written, "a webhook", "write `webhook: {auth: {token: …}}`") {
			t.webhook(value)
		}
	case plan.TriggerPoll:
		if c.isMap(written, "a poll", "write `poll: {uses: …, every: …, items: …, key: …}`") {
			t.poll(value)
		}
	case plan.TriggerAfter:
		if c.isMap(written, "`after`", "write `after: {workflow: NAME}`") {
			t.after(value)
		}
	}
	if failures := node.Get(failureKey); failures != nil && slices.Contains(keysBeside(kind), failureKey) {
		out.PauseAfterFailures, _ = c.integer(failures, 1, maxFailures)
	}
	t.inputs()
	c.plan.Triggers = append(c.plan.Triggers, out)
}

// triggerKind finds the one kind of a trigger; false when there is none.
func (c *checker) triggerKind(node *spec.Node) (string, bool) {
	var first *spec.Node
	unknown := false
	for _, pair := range node.Pairs {
		key := pair.Key.Text
		switch {
		case !slices.Contains(triggerKinds(), key):
			unknown = unknown || !isTriggerKey(key)
		case first == nil:
			first = pair.Key
		default:
			problem := c.errorAt(pair.Key.Pos, CodeTriggerKind, "a trigger can't be `%s` and `%s` at once", first.Text, key)
			problem.Related = []diag.Related{{Pos: first.Pos, Message: "the first kind"}}
			problem.Hint = "make two triggers of it"
			if first.Text == "poll" && key == "every" || first.Text == "every" && key == "poll" {
				problem.Hint = "the `every` of a poll stands inside it"
			}
			return first.Text, true
		}
	}
	if first != nil {
		return first.Text, true
	}
	if !unknown && !node.Partial {
		c.errorAt(node.FirstKey(), CodeTriggerKind, "the trigger says nothing of when it fires").Hint =
			"it has one of " + strings.Join(triggerKinds(), ", ")
	}
	return "", false
}

// isTriggerKey reports whether some trigger has the key beside its kind.
func isTriggerKey(key string) bool {
	return slices.Contains(triggerKinds(), key) || slices.Contains(keysBeside("cron"), key)
}

// looseTrigger reports the unknown keys of a trigger without a kind.
func (c *checker) looseTrigger(node *spec.Node) {
	for _, pair := range node.Pairs {
		if !isTriggerKey(pair.Key.Text) {
			c.unknownTriggerKey(pair.Key, slices.Concat(triggerKinds(), keysBeside("cron")))
		}
	}
}

func (c *checker) unknownTriggerKey(key *spec.Node, known []string) {
	problem := c.errorAt(key.Pos, CodeUnknownKey, "a trigger has no key `%s`", key.Text)
	if problem.Hint = diag.DidYouMean(key.Text, known); problem.Hint == "" {
		problem.Hint = "its keys are " + strings.Join(known, ", ")
	}
	if key.Text == "schedule" {
		problem.Hint = "did you mean `cron`?"
	}
}

// besideKeys reports keys that do not belong to the kind of trigger.
func (c *checker) besideKeys(node *spec.Node, kind string) {
	own := keysBeside(kind)
	for _, pair := range node.Pairs {
		key := pair.Key.Text
		switch {
		case slices.Contains(triggerKinds(), key), slices.Contains(own, key):
		case slices.Contains(keysInside(kind), key):
			c.errorAt(pair.Key.Pos, CodeTriggerKey, "`%s` does not stand beside `%s`", key, kind).Hint =
				"write it inside: `" + kind + ": {" + key + ": …}`"
		case isTriggerKey(key):
			c.errorAt(pair.Key.Pos, CodeTriggerKey, "`%s` does not belong to a trigger that is `%s`", key, kind).Hint =
				"beside `" + kind + "` stand " + strings.Join(own, ", ")
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
	scalars(node, func(n *spec.Node) {
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
				problem.Hint = "before a run there is nothing of it"
				if len(allowed) > 0 {
					problem.Hint = "here one can read " + strings.Join(allowed, ", ")
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
	case written && !c.isMap(pair, "`inputs`", "write `inputs: {NAME: …}`"):
		return
	case !written:
		if misspelt(t.node, inputsKey) {
			return
		}
		for _, f := range accepted.Fields {
			if f.Required && f.Type.Default == nil {
				c.errorAt(t.node.FirstKey(), CodeMissingField, "the trigger gives no value for the input `%s`", f.Name).Hint =
					"write `inputs: {" + f.Name + ": …}`, or give the input a default"
			}
		}
		return
	}
	c.triggerReads(node, t.reads...)
	v := valuer{c: c, scope: t.scope}
	out := v.value(node, accepted, "", false)
	for _, pair := range node.Pairs {
		if _, known := accepted.Field(pair.Key.Text); known || accepted.Additional != nil {
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
	switch {
	case written && c.tree.Inputs == nil:
		return schema.MapOf(schema.Of(schema.Any))
	case written && c.plan.Inputs == nil:
		var fields []schema.Field
		for _, f := range c.inputs.Fields {
			f.Required = f.Required && f.Type.Kind != schema.Any
			fields = append(fields, f)
		}
		return schema.ObjectOf(fields...)
	}
	return c.inputs
}
