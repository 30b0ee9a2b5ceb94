package eval

import (
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

func isLarge(v any) bool {
	_, ok := v.(json.Number)
	return ok
}

func numberFunctions() []*function {
	return []*function{
		{
			signature: "abs(x: number): number", doc: "The number without its sign.", example: "abs(-5)",
			result: func(c *call) *schema.Type { return c.numeric(0) },
			run:    func(_ *machine, args []any) (any, error) { return absolute(args[0]) },
		},
		{
			signature: "ceil(x: number): number", doc: "The next whole number above, as a number.", example: "ceil(1.2)",
			run: func(_ *machine, args []any) (any, error) { return math.Ceil(toFloat(args[0])), nil },
		},
		{
			signature: "floor(x: number): number", doc: "The next whole number below, as a number.", example: "floor(1.8)",
			run: func(_ *machine, args []any) (any, error) { return math.Floor(toFloat(args[0])), nil },
		},
		{
			signature: "round(x: number): number", doc: "The nearest whole number, as a number; halves go away from zero.", example: "int(round(2.5))",
			run: func(_ *machine, args []any) (any, error) { return math.Round(toFloat(args[0])), nil },
		},
		{
			converts:  true,
			signature: "int(x: number|text): integer", doc: "The integer of a text, or of a number with its fraction cut off.", example: `int("42")`,
			run: func(_ *machine, args []any) (any, error) { return toInt(args[0]) },
		},
		{
			converts:  true,
			signature: "float(x: number|text): number", doc: "The number of a text or an integer.", example: `float("0.5")`,
			run: func(_ *machine, args []any) (any, error) { return parseFloat(args[0]) },
		},
		{
			signature: "max(values...: number|text|time|duration|list): any", doc: "The largest of the arguments and of the elements of lists; null when there are none.", example: "max(1, 5, 3)",
			result: (*call).extreme,
			run:    func(m *machine, args []any) (any, error) { return m.extreme("max", args, 1) },
		},
		{
			signature: "min(values...: number|text|time|duration|list): any", doc: "The smallest of the arguments and of the elements of lists; null when there are none.", example: "min([4, 2])",
			result: (*call).extreme,
			run:    func(m *machine, args []any) (any, error) { return m.extreme("min", args, -1) },
		},
		{
			signature: "mean(values...: number|list): number", doc: "The average of the arguments and of the elements of lists; 0 when there are none.", example: "mean([1, 2, 6])",
			result: (*call).numbers,
			run: func(m *machine, args []any) (any, error) {
				numbers, err := m.numbers("mean", args)
				if err != nil || len(numbers) == 0 {
					return 0.0, err
				}
				sum := 0.0
				for _, n := range numbers {
					sum += n
				}
				return finite(sum / float64(len(numbers)))
			},
		},
		{
			signature: "median(values...: number|list): number", doc: "The middle of the arguments and of the elements of lists; 0 when there are none.", example: "median([1, 2, 6])",
			result: (*call).numbers,
			run: func(m *machine, args []any) (any, error) {
				numbers, err := m.numbers("median", args)
				if err != nil || len(numbers) == 0 {
					return 0.0, err
				}
				slices.Sort(numbers)
				half := len(numbers) / 2
				if len(numbers)%2 == 1 {
					return numbers[half], nil
				}
				return finite((numbers[half-1] + numbers[half]) / 2)
			},
		},
	}
}

func bitFunctions() []*function {
	two := func(name, doc string, run func(x, y int) (any, error)) *function {
		return &function{
			signature: name + "(x: integer, y: integer): integer", doc: doc, example: name + "(6, 3)",
			run: func(_ *machine, args []any) (any, error) { return run(args[0].(int), args[1].(int)) },
		}
	}
	return []*function{
		two("bitand", "The bits that are set in both.", func(x, y int) (any, error) { return x & y, nil }),
		two("bitor", "The bits that are set in one.", func(x, y int) (any, error) { return x | y, nil }),
		two("bitxor", "The bits that differ.", func(x, y int) (any, error) { return x ^ y, nil }),
		two("bitnand", "The bits of x that are not set in y.", func(x, y int) (any, error) { return x &^ y, nil }),
		two("bitshl", "The bits shifted left.", func(x, y int) (any, error) { return shift(y, func() int { return x << y }) }),
		two("bitshr", "The bits shifted right, the sign kept.", func(x, y int) (any, error) { return shift(y, func() int { return x >> y }) }),
		two("bitushr", "The bits shifted right, filled with zeros.", func(x, y int) (any, error) {
			return shift(y, func() int { return int(uint(x) >> y) })
		}),
		{
			signature: "bitnot(x: integer): integer", doc: "All bits turned over.", example: "bitnot(5)",
			run: func(_ *machine, args []any) (any, error) { return ^args[0].(int), nil },
		},
	}
}

func shift(by int, run func() int) (any, error) {
	if by < 0 {
		return nil, failf("can't shift by %d bits", by)
	}
	return run(), nil
}

func toFloat(v any) float64 {
	if i, ok := v.(int); ok {
		return float64(i)
	}
	f, _ := v.(float64)
	return f
}

func absolute(v any) (any, error) {
	switch v := v.(type) {
	case int:
		if v == math.MinInt {
			return nil, overflow("abs")
		}
		return max(v, -v), nil
	default:
		return math.Abs(toFloat(v)), nil
	}
}

func toInt(v any) (any, error) {
	switch v := v.(type) {
	case float64:
		if v != v || v >= 1<<63 || v < -1<<63 {
			return nil, failf("the number %v does not fit an integer", v)
		}
		return int(v), nil
	case string:
		i, err := strconv.Atoi(strings.TrimSpace(v))
		if err != nil {
			return nil, failf("int: %s is no integer", shorten(v))
		}
		return i, nil
	}
	return v, nil
}

func parseFloat(v any) (any, error) {
	text, ok := v.(string)
	if !ok {
		return toFloat(v), nil
	}
	f, err := strconv.ParseFloat(strings.TrimSpace(text), 64)
	if err != nil {
		return nil, failf("float: %s is no number", shorten(text))
	}
	return finite(f)
}

// finite refuses what JSON can't write.
func finite(f float64) (any, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil, failf("the result is no finite number")
	}
	return f, nil
}

func overflow(operation string) *RunError {
	return failf("%s: the result does not fit a 64-bit integer", operation)
}

// extreme returns the largest (sign 1) or smallest (sign -1) value.
func (m *machine) extreme(name string, args []any, sign int) (any, error) {
	var best any
	err := m.eachFlat(args, func(v any) error {
		switch schema.KindOf(v) {
		case schema.Int, schema.Number, schema.String, schema.Time, schema.Duration:
		default:
			return failf("%s can't work with %s", name, article(v))
		}
		if best == nil {
			best = v
			return nil
		}
		order, err := m.order(v, best)
		if err != nil {
			return err
		}
		if order*sign > 0 {
			best = v
		}
		return nil
	})
	return best, err
}

// eachFlat visits the arguments and the elements of lists in them, to any depth.
func (m *machine) eachFlat(values []any, visit func(any) error) error {
	return m.eachFlatAt(values, visit, 0)
}

func (m *machine) eachFlatAt(values []any, visit func(any) error, depth int) error {
	if depth > maxResultDepth {
		return limitf("the list is nested deeper than %d", maxResultDepth)
	}
	for _, v := range values {
		if err := m.step(1); err != nil {
			return err
		}
		list, ok, err := m.plain("a function of all elements", v)
		if err != nil {
			return err
		}
		if !ok {
			if err := visit(v); err != nil {
				return err
			}
			continue
		}
		if err := m.eachFlatAt(list, visit, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) numbers(name string, args []any) ([]float64, error) {
	var numbers []float64
	err := m.eachFlat(args, func(v any) error {
		switch v.(type) {
		case int, float64:
			numbers = append(numbers, toFloat(v))
			return m.grow(1)
		}
		return failf("%s expects numbers, got %s", name, article(v))
	})
	return numbers, err
}
