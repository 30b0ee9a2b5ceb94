package interp

import (
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/flowrun/flowrun/engine/eval"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/schema"
)

// Program is a workflow made ready to run: expressions compiled, schemas read.
// It is immutable and safe for concurrent use by any number of Machines.
type Program struct {
	workflow *plan.Workflow
	exprs    map[string]*eval.Program // by source
	wholes   map[string]stepReads     // by source: of those that read steps as wholes
	roots    map[string]bool          // that expressions read
	eager    bool                     // an expression reads all steps at once, as a value
	secrets  map[string]any           // references to those that expressions read
	inputs   *schema.Type
	state    *schema.Type           // nil = the workflow declares none
	reads    map[string]bool        // names of the state that expressions read or steps set
	actions  map[string]*actionCode // by full name
	main     *listCode
	handlers map[handlerKind]*listCode
}

// listCode is a step list, made ready.
type listCode struct {
	steps   []stepCode
	handler bool
}

// stepCode is a step, made ready. deps and dependents are places in its list,
// in order and each once.
type stepCode struct {
	step       *plan.Step
	deps       []int
	dependents []int
	action     *actionCode  // of an action
	output     *schema.Type // of one answer of the action
	page       *pageCode    // of a step with paginate
	loop       *loopCode

	constant *atomic.Pointer[constantInput] // of an action whose input is written out; nil = it is not
}

// actionCode is an action with its types.
type actionCode struct {
	action *plan.Action
	input  *schema.Type
	output *schema.Type
}

// loopCode is a loop's body. outer are the steps outside that the body reads;
// all says that a computed name may read any of them.
type loopCode struct {
	body  *listCode
	outer []string
	all   bool
}

// Compile makes a workflow ready to run.
func Compile(w *plan.Workflow) (*Program, error) { return CompileWith(w, eval.NewCache()) }

// CompileWith is Compile with a cache of expressions that other workflows may
// share.
func CompileWith(w *plan.Workflow, cache *eval.Cache) (*Program, error) {
	c := &compiler{
		cache: cache,
		program: &Program{
			workflow: w,
			exprs:    map[string]*eval.Program{},
			wholes:   map[string]stepReads{},
			roots:    map[string]bool{},
			secrets:  map[string]any{},
			reads:    map[string]bool{},
			actions:  map[string]*actionCode{},
			handlers: map[handlerKind]*listCode{},
		},
	}
	if err := c.workflow(w); err != nil {
		return nil, fmt.Errorf("compile workflow %s: %w", w.Name, err)
	}
	return c.program, nil
}

// NewMachine returns a Machine of the program that waits for its started event.
func (p *Program) NewMachine() *Machine {
	return &Machine{
		program: p,
		status:  runs.RunQueued,
		attempt: 1,
		open:    map[string]*operation{},
		unknown: map[string]*step{},
	}
}

type compiler struct {
	cache   *eval.Cache
	program *Program
	builtin map[string]*plan.Action
}

func (c *compiler) workflow(w *plan.Workflow) error {
	var err error
	if c.program.inputs, err = schema.FromJSONOr(w.Inputs, schema.MapOf(&schema.Type{})); err != nil {
		return fmt.Errorf("read the schema of the inputs: %w", err)
	}
	if err := c.memory(w); err != nil {
		return err
	}
	if c.program.main, err = c.list(w.Steps, false); err != nil {
		return err
	}
	for _, handler := range []struct {
		kind  handlerKind
		steps []plan.Step
	}{{onSuccess, w.OnSuccess}, {onFailure, w.OnFailure}, {finally, w.Finally}} {
		if len(handler.steps) == 0 {
			continue
		}
		list, err := c.list(handler.steps, true)
		if err != nil {
			return fmt.Errorf("%s: %w", handler.kind, err)
		}
		c.program.handlers[handler.kind] = list
	}
	for _, output := range w.Outputs {
		if err := c.value(output.Value); err != nil {
			return fmt.Errorf("output %s: %w", output.Name, err)
		}
	}
	return nil
}

func (c *compiler) list(steps []plan.Step, handler bool) (*listCode, error) {
	list := &listCode{steps: make([]stepCode, len(steps)), handler: handler}
	places := make(map[string]int, len(steps))
	for i := range steps {
		places[steps[i].ID] = i
	}
	for i := range steps {
		code := &list.steps[i]
		code.step = &steps[i]
		if err := c.step(code, handler); err != nil {
			return nil, fmt.Errorf("step %s: %w", steps[i].ID, err)
		}
		if err := list.link(i, places); err != nil {
			return nil, err
		}
	}
	return list, nil
}

// link notes what step i follows.
func (l *listCode) link(i int, places map[string]int) error {
	step := l.steps[i].step
	seen := map[int]bool{}
	for _, ids := range [][]string{step.Needs, step.Reads} {
		for _, id := range ids {
			place, ok := places[id]
			if !ok || place == i {
				return fmt.Errorf("step %s follows %s, which its list does not have", step.ID, id)
			}
			if seen[place] {
				continue
			}
			seen[place] = true
			l.steps[i].deps = append(l.steps[i].deps, place)
			l.steps[place].dependents = append(l.steps[place].dependents, i)
		}
	}
	return nil
}

func (c *compiler) step(code *stepCode, handler bool) error {
	step := code.step
	if err := c.expr(step.If); err != nil {
		return err
	}
	switch step.Kind {
	case plan.StepAction:
		return c.action(code)
	case plan.StepLet, plan.StepSetState:
		for _, binding := range step.Let {
			if err := c.value(binding.Value); err != nil {
				return err
			}
		}
		return nil
	case plan.StepLoop:
		if step.Loop == nil {
			return fmt.Errorf("a loop without its body")
		}
		return c.loop(code, handler)
	}
	return fmt.Errorf("unknown kind %q", step.Kind)
}

func (c *compiler) action(code *stepCode) error {
	step := code.step
	if step.Connection != nil {
		if err := c.value(*step.Connection); err != nil {
			return err
		}
	}
	if err := c.value(step.With); err != nil {
		return err
	}
	if step.Repeat != nil {
		if err := c.expr(&step.Repeat.Until); err != nil {
			return err
		}
	}
	action, err := c.codeOf(step)
	if err != nil {
		return err
	}
	code.action = action
	if isConstant(&step.With) {
		code.constant = new(atomic.Pointer[constantInput])
	}
	if code.output, err = schema.FromJSONOr(step.OutputSchema, action.output); err != nil {
		return fmt.Errorf("read the narrowed output schema: %w", err)
	}
	if step.Paginate != nil {
		code.page, err = compilePage(action.action, code.output)
		if err == nil && step.PageIdentity != "" {
			code.page.identity = step.PageIdentity
		}
	}
	return err
}

// codeOf finds what a step calls: an action, or a sub-workflow by its inputs and
// outputs.
func (c *compiler) codeOf(step *plan.Step) (*actionCode, error) {
	if step.Workflow == "" {
		return c.actionCode(step.Uses)
	}
	child := c.program.workflow.Workflows[step.Workflow]
	if child == nil {
		return nil, fmt.Errorf("the plan holds no workflow %s", step.Workflow)
	}
	code := &actionCode{action: &plan.Action{Name: step.Uses, Effect: plan.EffectIdempotent}}
	var err error
	if code.input, err = schema.FromJSONOr(child.Inputs, schema.ObjectOf()); err != nil {
		return nil, fmt.Errorf("read the inputs of %s: %w", step.Workflow, err)
	}
	if code.output, err = typeOf(child.OutputSchema); err != nil {
		return nil, fmt.Errorf("read the outputs of %s: %w", step.Workflow, err)
	}
	return code, nil
}

func (c *compiler) actionCode(name string) (*actionCode, error) {
	if known := c.program.actions[name]; known != nil {
		return known, nil
	}
	action := c.program.workflow.Actions[name]
	if action == nil {
		action = c.builtins()[name]
	}
	if action == nil {
		return nil, fmt.Errorf("the plan holds no action %s", name)
	}
	code := &actionCode{action: action}
	var err error
	if code.input, err = typeOf(action.Input); err != nil {
		return nil, fmt.Errorf("read the input schema of %s: %w", name, err)
	}
	if code.output, err = typeOf(action.Output); err != nil {
		return nil, fmt.Errorf("read the output schema of %s: %w", name, err)
	}
	c.program.actions[name] = code
	return code, nil
}

func typeOf(text []byte) (*schema.Type, error) { return schema.FromJSONOr(text, &schema.Type{}) }

func (c *compiler) builtins() map[string]*plan.Action {
	if c.builtin == nil {
		c.builtin = map[string]*plan.Action{}
		for _, action := range Builtins() {
			c.builtin[action.FullName()] = action
		}
	}
	return c.builtin
}

func (c *compiler) loop(code *stepCode, handler bool) error {
	loop := code.step.Loop
	if err := c.value(loop.Foreach); err != nil {
		return err
	}
	if err := c.value(loop.KeyValue()); err != nil {
		return err
	}
	if loop.Collect != nil {
		if err := c.value(*loop.Collect); err != nil {
			return err
		}
	}
	body, err := c.list(loop.Steps, handler)
	if err != nil {
		return err
	}
	code.loop = &loopCode{body: body}
	reads := &bodyReads{root: rootSteps, names: map[string]bool{}}
	if err := reads.loop(loop); err != nil {
		return err
	}
	code.loop.outer, code.loop.all = reads.sorted(), reads.dynamic
	return nil
}

// expr compiles an expression; nil is none.
func (c *compiler) expr(x *plan.Expr) error {
	if x == nil || c.program.exprs[x.Source] != nil {
		return nil
	}
	program, err := c.cache.Compile(x.Source)
	if err != nil {
		return fmt.Errorf("expression at %d:%d: %w", x.Pos.Line, x.Pos.Column, err)
	}
	c.program.exprs[x.Source] = program
	for _, read := range program.Expression().Reads() {
		if len(read.Path) > 0 {
			c.program.roots[read.Path[0]] = true
		}
	}
	if reads := readsOfSteps(program.Expression()); reads.all || len(reads.names) > 0 {
		c.program.wholes[x.Source] = reads
		c.program.eager = c.program.eager || reads.root
	}
	c.secrets(x.Source)
	c.stateReads(x.Source)
	return nil
}

// secrets notes the secrets that an expression names: it sees them as
// references, never as values.
func (c *compiler) secrets(source string) {
	readsOf(source, rootSecrets, func(path []string) {
		if len(path) > 1 {
			c.program.secrets[path[1]] = schema.SecretRef(path[1])
		}
	})
}

// readsOf visits what an expression reads of a root, by its path.
func readsOf(source, root string, visit func(path []string)) {
	if !strings.Contains(source, root) {
		return
	}
	parsed, issues := eval.Parse(source)
	if len(issues) > 0 {
		return // it was compiled, so there are none
	}
	for _, read := range parsed.Reads() {
		if len(read.Path) > 0 && read.Path[0] == root {
			visit(read.Path)
		}
	}
}

// value compiles the expressions of a value.
func (c *compiler) value(v plan.Value) error { return eachExpr(v, c.expr) }

// eachExpr visits the expressions of a value in order.
func eachExpr(v plan.Value, visit func(*plan.Expr) error) error {
	if v.Expr != nil {
		return visit(v.Expr)
	}
	for _, part := range v.Text {
		if part.Expr == nil {
			continue
		}
		if err := visit(part.Expr); err != nil {
			return err
		}
	}
	for _, binding := range v.Object {
		if err := eachExpr(binding.Value, visit); err != nil {
			return err
		}
	}
	for _, item := range v.List {
		if err := eachExpr(item, visit); err != nil {
			return err
		}
	}
	return nil
}
