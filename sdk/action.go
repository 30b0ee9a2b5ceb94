package sdk

import (
	"cmp"
	"encoding/json"
	"errors"
	"reflect"
	"sync"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Value is a JSON document that is passed on as it is, byte by byte. In a
// struct it is a field of any type.
type Value = json.RawMessage

// action is one action with its types erased: inputs and configs travel as
// pointers to the author's structs.
type action struct {
	name, doc  string
	effect     pluginv1.Effect
	configType reflect.Type
	inputType  reflect.Type
	outputType reflect.Type

	outputShape reflect.Type // whose tags give the output's schema

	input, output       *schema
	rawInput, rawOutput json.RawMessage // given by the author instead of reflected
	wire                []byte          // the recipe that it was read from; nil = it is a part of the plugin

	limiters    []string
	paging      *pluginv1.Paging
	identity    string // of its items, "" = as a whole
	rng         *pluginv1.Range
	incremental bool
	timeout     time.Duration
	examples    []example
	faults      []*pluginv1.Fault
	deprecated  string

	run        func(c *core, config, input any) (any, error)
	hooks      []hook
	validators []func(input any, unknown []string) []Problem
	narrowers  []func(input any, unknown []string) json.RawMessage
	identify   func(input any, unknown []string) string // of the items of its pages; nil = as declared
	reconcile  *reconciler

	configChecks    []func(config, input any, unknown []string) []Problem
	configNarrowers []func(config, input any, unknown []string) json.RawMessage
	otherConfigs    []string // options that take another config

	finished      sync.Once
	wrong         []error
	wrongExamples []error
}

// written reports whether the author wrote both schemas out.
func (a *action) written() bool { return a.rawInput != nil && a.rawOutput != nil }

// ready makes the schemas of an action, once, and says what is wrong with it: a process that
// serves one call needs those of one action. It may be called from several goroutines.
func (a *action) ready(p *Plugin) error {
	a.finished.Do(func() {
		own := &Plugin{limiters: p.limiters}
		a.declare(own)
		if a.wrong = own.errs; len(a.wrong) == 0 {
			a.checkExamples(own)
			a.wrongExamples = own.errs
		}
	})
	return errors.Join(errors.Join(a.wrong...), errors.Join(a.wrongExamples...))
}

type example struct {
	name          string
	input, output json.RawMessage
}

// hook is an option that takes an input: it must be of the action's type.
type hook struct {
	option string
	input  reflect.Type
}

type reconciler struct {
	config, input, output reflect.Type
	ask                   func(c *core, config, input any) (applied Applied, output any, note string, err error)
}

// Read declares an action without a side effect: it is free to repeat and to
// cache.
func Read[C, I, O any](name, doc string, fn func(*Call[C], I) (O, error), opts ...ActionOption) Part {
	return newAction(pluginv1.Effect_EFFECT_READ, name, doc, fn, opts)
}

// Idempotent declares an action that changes something and is safe to repeat.
func Idempotent[C, I, O any](name, doc string, fn func(*Call[C], I) (O, error), opts ...ActionOption) Part {
	return newAction(pluginv1.Effect_EFFECT_IDEMPOTENT, name, doc, fn, opts)
}

// Keyed declares an action that is safe to repeat with the same idempotency
// key. The HTTP client sends Run.IdempotencyKey as Idempotency-Key with every
// request that is not a read.
func Keyed[C, I, O any](name, doc string, fn func(*Call[C], I) (O, error), opts ...ActionOption) Part {
	return newAction(pluginv1.Effect_EFFECT_KEYED, name, doc, fn, opts)
}

// Once declares an action that must not be repeated: when its outcome is
// unknown, the host asks ReconcileWith, else the run pauses.
func Once[C, I, O any](name, doc string, fn func(*Call[C], I) (O, error), opts ...ActionOption) Part {
	return newAction(pluginv1.Effect_EFFECT_ONCE, name, doc, fn, opts)
}

func newAction[C, I, O any](effect pluginv1.Effect, name, doc string, fn func(*Call[C], I) (O, error), opts []ActionOption) Part {
	a := &action{
		name: name, doc: doc, effect: effect,
		configType: reflect.TypeFor[C](), inputType: reflect.TypeFor[I](), outputType: reflect.TypeFor[O](), outputShape: reflect.TypeFor[O](),
		run: func(c *core, config, input any) (any, error) {
			output, err := fn(newCall[C](c, config), *input.(*I))
			return &output, err
		},
	}
	return partFunc(func(p *Plugin) {
		for _, opt := range opts {
			opt(p, a)
		}
		p.useConfig("action "+name, a.configType)
		if p.action(name) != nil {
			p.failf("action %q is declared twice", name)
		}
		p.actions = append(p.actions, a)
	})
}

// finish derives the action's schemas, and checks its declarations and examples.
func (a *action) finish(p *Plugin) {
	if a.declare(p); len(p.errs) == 0 {
		a.checkExamples(p)
	}
}

// declare derives the action's schemas and checks its declarations.
func (a *action) declare(p *Plugin) {
	if !isName(a.name, nameLetters) {
		p.failf("action name %q: use lower-case letters, digits and _", a.name)
	}
	var err error
	if a.input, err = schemaFor(a.rawInput, a.inputType, closedObjects); err != nil {
		p.failf("action %s: input: %w", a.name, err)
		a.input = &schema{types: []string{"object"}}
	}
	if !a.input.takes("object") {
		p.failf("action %s: its input must be a struct", a.name)
	}
	if a.output, err = schemaFor(a.rawOutput, a.outputShape, openObjects); err != nil {
		p.failf("action %s: output: %w", a.name, err)
		a.output = &schema{}
	}
	a.checkDeclarations(p)
	a.checkHooks(p)
}

func (a *action) checkDeclarations(p *Plugin) {
	for _, name := range a.limiters {
		if !p.hasLimiter(name) {
			p.failf("action %s: limiter %q is not declared", a.name, name)
		}
	}
	needInput := func(what, field string) {
		if a.input.property(field) == nil {
			p.failf("action %s: %s %q is not a field of its input", a.name, what, field)
		}
	}
	switch {
	case a.paging != nil:
		needInput("cursor field", a.paging.CursorField)
		a.paging.Identity = cmp.Or(a.identity, itemsAsWhole)
	case a.identity != "" || a.identify != nil:
		p.failf("action %s: it says what its items are, and is not Paged", a.name)
	}
	if a.rng != nil {
		needInput("range field", a.rng.FromField)
		needInput("range field", a.rng.ToField)
	}
}

func (a *action) checkHooks(p *Plugin) {
	for _, h := range a.hooks {
		if h.input != a.inputType {
			p.failf("action %s: %s takes %s, the action takes %s", a.name, h.option, h.input, a.inputType)
		}
	}
	for _, other := range a.otherConfigs {
		p.failf("action %s: %s", a.name, other)
	}
	if r := a.reconcile; r != nil && (r.config != a.configType || r.input != a.inputType || r.output != a.outputType) {
		p.failf("action %s: ReconcileWith has other types than the action", a.name)
	}
}

func (a *action) checkExamples(p *Plugin) {
	for _, e := range a.examples {
		if _, problems := a.decode(e.input, nil); firstError(problems) != nil {
			p.failf("action %s: example %s: %w", a.name, e.name, firstError(problems))
		}
		if e.output == nil {
			continue
		}
		if _, problems := a.output.check(e.output, nil); firstError(problems) != nil {
			p.failf("action %s: output of the example %s: %w", a.name, e.name, firstError(problems))
		}
	}
}

// decode reads an input strictly, fills in defaults, and runs every check.
// unknown holds JSON Pointers of parts whose value is not known yet.
func (a *action) decode(raw []byte, unknown []string) (any, []Problem) {
	input, problems := decodeInto(raw, a.input, a.inputType, unknown)
	if firstError(problems) != nil {
		return input, problems
	}
	for _, check := range a.validators {
		problems = append(problems, check(input, unknown)...)
	}
	return input, problems
}
