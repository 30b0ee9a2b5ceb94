package check

import (
	"sync"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/spec"
)

// rootNames are the roots of the language: a loop's name can't be one.
func rootNames() []string {
	return []string{"run", "trigger", "request", "item", "result", "steps", "inputs", "state", "secrets", "error", "connections", "index"}
}

// rootScope holds the names that every step sees (docs/language.md,
// "Keys").
func (c *checker) rootScope() *eval.Scope {
	text, when := schema.Of(schema.String), schema.Of(schema.Time)
	run := schema.ObjectOf(
		schema.Required("id", text), schema.Required("workflow", text), schema.Required("status", statusType(diag.Words(runs.Statuses()...)...)),
		schema.Required("scheduled_at", when), schema.Required("started_at", when),
		schema.Required("attempt", schema.Of(schema.Int)), schema.Required("trigger", text),
	)
	scope := eval.NewScope()
	if c.memory.state != nil {
		scope = scope.With("state", c.memory.state)
	}
	return scope.
		With("run", run).
		With("trigger", triggerType(c.brought, true)).
		With("inputs", c.inputs).
		With("secrets", schema.MapOf(schema.SecretText())).
		With("connections", c.connectionsType())
}

func (c *checker) connectionsType() *schema.Type {
	known := c.catalog.Connections()
	if known == nil {
		return schema.Of(schema.Any)
	}
	text := schema.Of(schema.String)
	var fields []schema.Field
	for _, name := range sortedNames(known) {
		fields = append(fields, schema.Required(name, schema.ObjectOf(schema.Required("name", text), schema.Required("plugin", text))))
	}
	return schema.ObjectOf(fields...)
}

func stepStatuses() []string {
	return []string{
		string(runs.StepPending), string(runs.StepRunning), string(runs.StepWaiting), string(runs.StepRetrying),
		string(runs.StepSucceeded), string(runs.StepFailed), string(runs.StepSkipped), string(runs.StepBlocked),
		string(runs.StepCanceled), string(runs.StepUnknown),
	}
}

func statusType(words ...string) *schema.Type { return schema.EnumOf(words...) }

// errorType is `error` and `steps.x.error`.
var errorType = sync.OnceValue(func() *schema.Type {
	text := schema.Of(schema.String)
	return schema.ObjectOf(
		schema.Required("kind", schema.EnumOf(kindWords()...)), schema.Required("step", text),
		schema.Required("attempt", schema.Of(schema.Int)), schema.Required("message", text),
		schema.Required("reason", text), schema.Required("hint", text),
		schema.Required("details", schema.Of(schema.Any)),
	)
})

// The types that every read of a step has are made once.
var (
	stepStatus = sync.OnceValue(func() *schema.Type { return statusType(stepStatuses()...) })
	maybeError = sync.OnceValue(func() *schema.Type { return schema.Nullable(errorType()) })
)

// scope returns what the expressions of s see; collect says that of its
// `collect`. What the `if` of the loops around proves holds, that of its own
// only with proven.
func (c *checker) scope(s *step, collect, proven bool) *eval.Scope {
	if s.scope != nil {
		return s.scope
	}
	scope := c.proven(s, c.roots.With(stepsRoot, c.stepsType(s, collect, proven)), s.reads)
	switch s.list.handler {
	case handlerOnFailure:
		scope = scope.With("error", errorType())
	case handlerFinally:
		scope = scope.With("error", schema.Nullable(errorType()))
	}
	for _, loop := range s.loops() {
		scope = c.loopNames(loop, narrowed(loop, scope))
	}
	if proven {
		scope = narrowed(s, scope)
	}
	return scope
}

// loopNames adds the names that a loop gives to what stands inside.
func (c *checker) loopNames(loop *step, scope *eval.Scope) *eval.Scope {
	elem := loop.elem
	if elem == nil {
		elem = schema.Of(schema.Any)
	}
	if node := loop.src.Foreach; node != nil && node.Kind == spec.Scalar && !node.Bad {
		if text := c.text(node); text.whole != nil && text.whole.parsed != nil {
			scope = text.whole.parsed.ProvesElement(scope)
		}
	}
	return scope.With(loop.as(), elem).With("index", schema.Of(schema.Int))
}

func narrowed(s *step, scope *eval.Scope) *eval.Scope {
	if s.ownIf == nil {
		return scope
	}
	return s.ownIf.Proves(scope)
}

// as is the name that a loop gives to an item.
func (s *step) as() string {
	if s.src.As == nil {
		return "item"
	}
	return s.src.As.Text
}

// stepsType is the type of `steps` as s sees it: of the steps that it reads.
func (c *checker) stepsType(s *step, collect, proven bool) *schema.Type {
	if s.readsAll {
		return schema.Of(schema.Any)
	}
	return c.readsType(s, s.reads, proven, func(r read) bool { return r.collect == collect })
}

// readsType is the type of `steps` for some reads of s; proven says that what its
// own `if` says holds.
func (c *checker) readsType(s *step, reads []read, proven bool, wanted func(read) bool) *schema.Type {
	types, ids := map[string]*schema.Type{}, []string{}
	for _, r := range reads {
		if !wanted(r) {
			continue
		}
		if _, ok := types[r.id]; !ok {
			ids = append(ids, r.id)
			types[r.id] = c.stepType(s, r, proven)
		}
		if r.target == nil {
			types[r.id] = schema.Of(schema.Any) // was reported
		}
	}
	var fields []schema.Field
	for _, id := range ids {
		fields = append(fields, schema.Required(id, types[id]))
	}
	return schema.ObjectOf(fields...)
}

// stepType is the type of steps.x for who reads it.
func (c *checker) stepType(s *step, r read, proven bool) *schema.Type {
	if r.target == nil {
		return schema.Of(schema.Any)
	}
	outputs := c.outputOf(r.target)
	if c.absent(s, r.target, proven) {
		outputs = schema.Nullable(outputs)
	}
	return schema.ObjectOf(
		schema.Required("status", stepStatus()),
		schema.Required("outputs", outputs),
		schema.Required("error", maybeError()),
		schema.Required("attempts", schema.Of(schema.Int)),
	)
}

// absent reports whether target may have no outputs where s reads it (docs/language.md,
// "Order, conditions, loops"). s is nil for the workflow's outputs; proven says
// that what its own `if` says holds.
func (c *checker) absent(s, target *step, proven bool) bool {
	if c.unreadableIf(s) {
		return false
	}
	if target.continues() || !target.runsOnOK() || target.src.If != nil && !c.impliesIf(s, target, proven) {
		return true
	}
	if s == nil {
		return false
	}
	if s.list.handler != target.list.handler {
		return true
	}
	for at := s; at != nil && at.within(target.list) != nil; at = at.list.loop {
		if !at.runsOnOK() {
			return true
		}
	}
	return false
}

// unreadableIf reports whether an `if` of the step or of a loop around can't be
// read: it is not known what it proves, and what is wrong with it was reported.
func (c *checker) unreadableIf(s *step) bool {
	for ; s != nil; s = s.list.loop {
		node := s.src.If
		if s.src.Node == nil {
			return false // the place of the outputs
		}
		if node == nil && s.src.Written("if") || node != nil && (node.Bad || c.bare(node).bad) {
			return true
		}
	}
	return false
}

// runsOnOK reports whether the step runs only when all that it needs went well.
func (s *step) runsOnOK() bool {
	node := s.src.RunIf
	return node == nil || node.Kind != spec.Scalar || node.Text != string(plan.RunIfFailed) && node.Text != string(plan.RunIfAny)
}

// outputOf returns the type of a step's outputs, and checks it when that has
// not been done yet.
func (c *checker) outputOf(s *step) *schema.Type {
	c.checkStep(s)
	if s.output == nil {
		return schema.Of(schema.Any) // reads itself: was reported
	}
	return s.output
}
