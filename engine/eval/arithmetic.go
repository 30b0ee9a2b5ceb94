package eval

import (
	"math"
	"math/bits"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// arithmetic computes a operator b. Whole numbers that do not fit 64 bits and
// numbers that are not finite are errors: neither can wrap nor vanish.
func (m *machine) arithmetic(operator string, a, b any) (any, error) {
	switch x := a.(type) {
	case int:
		if y, ok := b.(int); ok {
			return m.integers(operator, x, y)
		}
	case string:
		if y, ok := b.(string); ok && operator == "+" {
			if err := m.text(len(x) + len(y)); err != nil {
				return nil, err
			}
			return x + y, nil
		}
	}
	kindA, kindB := schema.KindOf(a), schema.KindOf(b)
	if isLarge(a) || isLarge(b) {
		return nil, failf("`%s` can't work with an integer beyond 64 bits", operator)
	}
	if kind, ok := arithmeticKind(operator, kindA, kindB); ok && kindA != schema.Any && kindB != schema.Any {
		switch kind {
		case schema.Number:
			return m.floats(operator, a, b)
		case schema.Time, schema.Duration:
			return times(operator, a, b)
		}
	}
	failure := failf("`%s` is not defined on %s and %s", operator, article(a), article(b))
	if a == nil || b == nil {
		failure.Hint = diag.Say("give a value for null with `??`")
	}
	return nil, failure
}

func (m *machine) integers(operator string, x, y int) (any, error) {
	switch operator {
	case "+":
		if sum := x + y; (sum > x) == (y > 0) {
			return sum, nil
		}
		return nil, overflow("+")
	case "-":
		if difference := x - y; (difference < x) == (y > 0) {
			return difference, nil
		}
		return nil, overflow("-")
	case "*":
		return multiply(x, y)
	case "%":
		switch y {
		case 0:
			return nil, failf("division by zero")
		case -1:
			return 0, nil
		}
		return x % y, nil
	case "..":
		return m.span(x, y)
	}
	return m.floats(operator, x, y)
}

func multiply(x, y int) (any, error) {
	high, low := bits.Mul64(magnitude(x), magnitude(y))
	negative := (x < 0) != (y < 0)
	switch {
	case high != 0, low > 1<<63, low == 1<<63 && !negative:
		return nil, overflow("*")
	case negative:
		return int(-low), nil
	}
	return int(low), nil
}

func magnitude(x int) uint64 {
	if x < 0 {
		return -uint64(x)
	}
	return uint64(x)
}

// span is the list of the whole numbers from x to y.
func (m *machine) span(x, y int) (any, error) {
	if y < x {
		return []any{}, nil
	}
	n := uint64(y) - uint64(x)
	if n >= uint64(m.units) { //nolint:gosec // never negative
		return nil, m.grow(m.units + 1)
	}
	if err := m.grow(int(n) + 1); err != nil {
		return nil, err
	}
	list := make([]any, n+1)
	for i := range list {
		list[i] = x + i
	}
	return list, m.step(len(list) / 16)
}

func (m *machine) floats(operator string, a, b any) (any, error) {
	if d, ok := a.(time.Duration); ok { // duration / duration
		if b == time.Duration(0) {
			return nil, failf("division by zero")
		}
		return finite(float64(d) / float64(b.(time.Duration)))
	}
	x, y := toFloat(a), toFloat(b)
	switch operator {
	case "+":
		return finite(x + y)
	case "-":
		return finite(x - y)
	case "*":
		return finite(x * y)
	case "/":
		if y == 0 {
			return nil, failf("division by zero")
		}
		return finite(x / y)
	}
	return finite(math.Pow(x, y))
}

func times(operator string, a, b any) (any, error) {
	switch x := a.(type) {
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return subtractTimes(x, y)
		}
		d := b.(time.Duration)
		if operator == "-" {
			if d == math.MinInt64 {
				return nil, overflow("-")
			}
			d = -d
		}
		moved := x.Add(d)
		return moved, checkYear(moved)
	case time.Duration:
		switch y := b.(type) {
		case time.Time:
			moved := y.Add(x)
			return moved, checkYear(moved)
		case time.Duration:
			return addDurations(operator, x, y)
		}
		return scale(operator, x, b)
	}
	return scale(operator, b.(time.Duration), a)
}

func subtractTimes(x, y time.Time) (any, error) {
	d := x.Sub(y)
	if d == math.MaxInt64 || d == math.MinInt64 {
		return nil, failf("the times are too far apart for a duration")
	}
	return d, nil
}

func addDurations(operator string, x, y time.Duration) (any, error) {
	var sum any
	var err error
	m := machine{}
	sum, err = m.integers(operator, int(x), int(y))
	if err != nil {
		return nil, failf("the duration is too long")
	}
	return time.Duration(sum.(int)), nil
}

// scale multiplies or divides a duration by a number.
func scale(operator string, d time.Duration, by any) (any, error) {
	if n, ok := by.(int); ok && operator == "*" {
		product, err := multiply(int(d), n)
		if err != nil {
			return nil, failf("the duration is too long")
		}
		return time.Duration(product.(int)), nil
	}
	f := toFloat(by)
	if operator == "/" {
		if f == 0 {
			return nil, failf("division by zero")
		}
		f = 1 / f
		if n, ok := by.(int); ok {
			return d / time.Duration(n), nil
		}
	}
	scaled := float64(d) * f
	if math.IsNaN(scaled) || math.Abs(scaled) >= 1<<63 {
		return nil, failf("the duration is too long")
	}
	return time.Duration(scaled), nil
}
