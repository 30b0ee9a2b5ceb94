package eval

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/quota"
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

	from                budget // what it began with
	steps, bytes, units int
	depth               int                       // of bodies of predicates around the part at hand
	sets                []*member                 // of lists that `in` has looked through
	visits              int                       // of elements of stored lists that are left
	texts               int                       // elements read of those that are kept as text
	brought             int                       // steps, by passes over others
	wholes              int64                     // bytes of such lists that are decoded as a whole
	zones               map[string]*time.Location // of this run
	known               *sync.Map                 // of all runs of the program
}

func (m *machine) reset(env map[string]any, at time.Time, vars int, from budget) {
	m.env, m.at, m.from, m.depth = env, at, from, 0
	if cap(m.vars) < vars {
		m.vars = make([]any, vars)
	}
	m.vars = m.vars[:vars]
	m.steps, m.bytes, m.units = from.steps, from.bytes, from.units
	m.visits, m.wholes, m.texts, m.brought = maxElements, maxWhole, 0, 0
}

// release drops what the evaluation held, so that a pooled machine keeps no
// values alive.
func (m *machine) release() {
	m.env, m.item, m.acc, m.zones = nil, nil, nil, nil
	clear(m.vars)
	clear(m.sets)
	m.sets = m.sets[:0]
}

// step takes n steps from the budget.
func (m *machine) step(n int) error {
	if m.steps -= n; m.steps < 0 {
		return m.limit(quota.ExpressionSteps, fmt.Sprintf("the expression takes too many steps (at most %d)", m.allowedSteps()))
	}
	return nil
}

// text takes n bytes of new text from the budget, before they are made. It is
// safe for an n that has overflowed.
func (m *machine) text(n int) error {
	if n < 0 || n > m.bytes {
		return m.limit(quota.ExpressionSteps, fmt.Sprintf("the expression makes too much text (at most %d KiB)", m.allowedText()>>10))
	}
	m.bytes -= n
	return nil
}

// allowedSteps is how many steps the expression may take by now.
func (m *machine) allowedSteps() int { return m.from.steps + m.texts*visitSteps + m.brought }

// allowedText is how much text the expression may make by now.
func (m *machine) allowedText() int { return m.from.bytes + m.texts*visitBytes }

// allowedUnits is how many new elements it may make by now.
func (m *machine) allowedUnits() int { return m.from.units + m.texts*visitUnits }

// grow takes n elements of new lists and objects from the budget, before they
// are made.
func (m *machine) grow(n int) error {
	if n < 0 || n > m.units {
		return m.limit(quota.ExpressionSteps, fmt.Sprintf("the expression makes lists and objects that are too large (at most %d elements)", m.allowedUnits()))
	}
	m.units -= n
	return nil
}

// limit is the failure of an exceeded budget. It says what may be raised, where that has
// not been done yet.
func (m *machine) limit(key, message string) *RunError {
	failure := limitf("%s", message)
	switch {
	case m.from.plain: // as it was
	case key == quota.ExpressionResult:
		failure.Hint = diag.Say(quota.Raise(key, int64(m.from.result)) + "; or take less, and read it where it is needed")
	case m.from.steps < MostSteps:
		failure.Hint = diag.Say(quota.Raise(key, int64(m.from.steps)) + ", and new text and new elements with it; or do the work in parts: `foreach` with `batch`")
	default:
		failure.Hint = diag.Say(quota.Raise(key, int64(m.from.steps)) + ": do the work in parts, such as with `foreach` and `batch`")
	}
	return failure
}

// visited is how many elements of stored lists were read that brought steps.
func (m *machine) visited() int { return maxElements - m.visits }

// passed lets a pass over a stored list of values bring so many steps for each element, as
// elements do that are read of a list which is kept as text. In the body of a predicate it
// brings nothing: a pass for each element of another list is not linear in the data.
func (m *machine) passed(list *sequence, each int) {
	if n := list.len(); list.encoded != nil && !list.isText() && m.depth == 0 && n <= m.visits {
		m.visits, m.steps, m.brought = m.visits-n, m.steps+n*each, m.brought+n*each
	}
}

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
