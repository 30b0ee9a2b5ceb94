package eval

import (
	"errors"
	"sync"
	"time"

	"github.com/expr-lang/expr/ast"
	"github.com/flowrun/flowrun/engine/diag"
)

// RunError says why an expression gave no value. Reason is "expression" or, for
// an exceeded budget, "limit" (docs/language.md, rule 9). Start and End are byte
// offsets in the source.
type RunError struct {
	Message    string
	Hint       diag.Hint
	Reason     string
	Start, End int
}

// Error returns the message and the hint on one line.
func (e *RunError) Error() string {
	if e.Hint.Text == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint.Text
}

// Program is a compiled expression. It gives the same result whatever ran
// before and is safe for concurrent use.
type Program struct {
	expression *Expression
	run        code
	slots      int
	computed   bool // the result is not just a value of the environment
	machines   sync.Pool
	zones      sync.Map // time zones by name, as they are first used
}

// Compile reads an expression into a program. The error is an *Issue, the first
// of what Parse finds.
func Compile(source string) (*Program, error) {
	x, issues := Parse(source)
	if len(issues) > 0 {
		return nil, &issues[0]
	}
	return x.Compile(), nil
}

// Compile makes a program of a parsed expression.
func (x *Expression) Compile() *Program {
	c := compiler{x: x}
	run := c.compile(x.root)
	p := &Program{expression: x, run: run, slots: c.most, computed: !isRead(x.root)}
	p.machines.New = func() any { return &machine{known: &p.zones} }
	return p
}

// isRead reports whether a node only chooses among values that are there or
// written out, which are bounded already.
func isRead(node ast.Node) bool {
	switch n := node.(type) {
	case *ast.BinaryNode:
		return n.Operator == "??" && isRead(n.Left) && isRead(n.Right)
	case *ast.ConditionalNode:
		return isRead(n.Exp1) && isRead(n.Exp2)
	case *ast.ArrayNode:
		return len(n.Nodes) == 0
	case *ast.MapNode:
		return len(n.Pairs) == 0
	case *ast.StringNode, *ast.IntegerNode, *ast.BoolNode, *ast.NilNode:
		return true
	}
	path, ok := memberPath(node)
	return ok && path[0][0] != '#'
}

// Source returns the expression's text.
func (p *Program) Source() string { return p.expression.source }

// Expression returns what the program was made of.
func (p *Program) Expression() *Expression { return p.expression }

// Run evaluates the program on the names of env at the time `at`, which is what
// now() gives. The values of env are those that package schema makes; they are
// not changed, and the result may share parts with them. What a program may
// use is bounded by counting, so that it ends in well under 250 ms and gives
// the same result or error every time; a computed result has at most 256 KiB
// as JSON and 64 levels. The error is a *RunError.
func (p *Program) Run(env map[string]any, at time.Time) (any, error) {
	return p.RunWithin(env, at, Limits{})
}

// RunWithin is Run with other limits than the defaults. With the highest an evaluation
// may take two seconds.
func (p *Program) RunWithin(env map[string]any, at time.Time, limits Limits) (any, error) {
	v, _, err := p.counted(env, at, limits)
	return v, err
}

// RunCounted is Run that also tells what the evaluation took, in steps: a step is
// at most about a microsecond. For callers that run one program many times and
// bound the whole.
func (p *Program) RunCounted(env map[string]any, at time.Time) (result any, steps int, err error) {
	return p.counted(env, at, Limits{})
}

func (p *Program) counted(env map[string]any, at time.Time, limits Limits) (result any, steps int, err error) {
	m := p.machines.Get().(*machine)
	m.reset(env, at, p.slots, limits.budget())
	defer func() {
		m.release()
		p.machines.Put(m)
	}()
	v, err := p.evaluate(m)
	steps = p.took(m)
	if err != nil {
		return nil, steps, p.located(err)
	}
	if p.computed && !isPlain(v) {
		if err := m.measureResult(v); err != nil {
			return nil, steps, p.located(err)
		}
	}
	return v, steps, nil
}

// took counts what a run used of all budgets. The parts of an expression that take
// nothing from them are bounded by the length of its text.
func (p *Program) took(m *machine) int {
	steps, text, units := m.allowedSteps(), m.allowedText(), m.allowedUnits()
	return 1 + len(p.expression.source)/64 + min(steps-m.steps, steps) + (text-m.bytes)/bytesPerStep + units - m.units
}

// evaluate turns a panic, which would be a fault of this package, into an error
// of the expression: one bad expression must not end the engine.
func (p *Program) evaluate(m *machine) (v any, err error) {
	defer func() {
		if r := recover(); r != nil {
			v, err = nil, failf("the expression can't be evaluated: %v", r)
		}
	}()
	return p.run(m)
}

// isPlain reports whether a value is small and finite for sure.
func isPlain(v any) bool {
	switch v.(type) {
	case nil, bool, int, time.Time, time.Duration:
		return true
	}
	return false
}

// located gives an error without a place that of the whole expression.
func (p *Program) located(err error) error {
	if errors.Is(err, errAbsent) { // a chain always ends inside its ChainNode
		err = failf("the value is absent")
	}
	return placed(err, 0, len(p.expression.source))
}
