package eval

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// machine is the state of one evaluation: its names and what is left of its
// budget.
type machine struct {
	env  map[string]any
	at   time.Time
	vars []any // values of let, by slot

	item  any // of the innermost predicate: #, #index, #acc
	index int
	acc   any

	steps, bytes, units int
	visits              int                       // of elements of lists that are kept as text
	wholes              int64                     // bytes of such lists that are decoded as a whole
	zones               map[string]*time.Location // of this run
	known               *sync.Map                 // of all runs of the program
}

func (m *machine) reset(env map[string]any, at time.Time, vars int) {
	m.env, m.at = env, at
	if cap(m.vars) < vars {
		m.vars = make([]any, vars)
	}
	m.vars = m.vars[:vars]
	m.steps, m.bytes, m.units = maxSteps, maxBytes, maxUnits
	m.visits, m.wholes = maxElements, maxWhole
}

// release drops what the evaluation held, so that a pooled machine keeps no
// values alive.
func (m *machine) release() {
	m.env, m.item, m.acc, m.zones = nil, nil, nil, nil
	clear(m.vars)
}

// step takes n steps from the budget.
func (m *machine) step(n int) error {
	if m.steps -= n; m.steps < 0 {
		return limitf("the expression takes too many steps (at most %d)", maxSteps+m.visited()*visitSteps)
	}
	return nil
}

// text takes n bytes of new text from the budget, before they are made. It is
// safe for an n that has overflowed.
func (m *machine) text(n int) error {
	if n < 0 || n > m.bytes {
		return limitf("the expression makes too much text (at most %d KiB)", (maxBytes+m.visited()*visitBytes)>>10)
	}
	m.bytes -= n
	return nil
}

// grow takes n elements of new lists and objects from the budget, before they
// are made.
func (m *machine) grow(n int) error {
	if n < 0 || n > m.units {
		return limitf("the expression makes lists and objects that are too large (at most %d elements)", maxUnits+m.visited()*visitUnits)
	}
	m.units -= n
	return nil
}

// visited is how many elements of lists that are kept as text were read.
func (m *machine) visited() int { return maxElements - m.visits }

// read takes the steps for looking through n bytes of text.
func (m *machine) read(n int) error { return m.step(n / bytesPerStep) }

func limitf(format string, args ...any) *RunError {
	return &RunError{Message: fmt.Sprintf(format, args...), Reason: reasonLimit}
}

func failf(format string, args ...any) *RunError {
	return &RunError{Message: fmt.Sprintf(format, args...), Reason: reasonExpression}
}

func (e *RunError) hint(format string, args ...any) *RunError {
	e.Hint = diag.Sayf(format, args...)
	return e
}

// placed gives an error the place of the node that it came from, unless it has
// one.
func placed(err error, start, end int) error {
	if failure, ok := errors.AsType[*RunError](err); ok && failure.End == 0 {
		failure.Start, failure.End = start, end
	}
	return err
}

// article names the type of a value: "an integer".
func article(v any) string { return schema.TypeOf(v) }
