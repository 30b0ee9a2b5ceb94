package eval

import (
	"time"
)

// RunError says why an expression gave no value. Reason is "expression" or, for
// an exceeded budget, "limit". Start and End are byte offsets in the source.
type RunError struct {
	Message    string
	Hint       string
	Reason     string
	Start, End int
}

// Error returns the message and the hint on one line.
func (e *RunError) Error() string {
	if e.Hint == "" {
		return e.Message
	}
	return e.Message + "; " + e.Hint
}

// Program is a compiled expression. It is immutable and safe for concurrent
// use.
type Program struct {
	source string
}

// Source returns the expression's text.
func (p *Program) Source() string { return p.source }

// Run evaluates the program on the names of env at the time `at`, which is what
// now() gives. The values of env are those that package schema makes; they are
// not changed, and the result may share parts with them. Errors are *RunError.
func (p *Program) Run(env map[string]any, at time.Time) (any, error) {
	return nil, &RunError{Message: "not compiled", Reason: "expression"}
}

// Compile reads an expression into a program. The error is a *Issue.
func Compile(source string) (*Program, error) {
	_, issues := Parse(source)
	if len(issues) > 0 {
		return nil, &issues[0]
	}
	return &Program{source: source}, nil
}
