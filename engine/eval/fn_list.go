package eval

import (
	"slices"

	"github.com/flowrun/flowrun/engine/schema"
)

func listFunctions() []*function {
	return []*function{
		{
			signature: "first(list: list): any", doc: "The first element; null when there is none.", example: "first(inputs.sites)",
			result: (*call).endElement, encoded: true,
			run: func(m *machine, args []any) (any, error) {
				list, _ := sequenceOf(args[0])
				return list.atOrNull(m, 0)
			},
		},
		{
			signature: "last(list: list): any", doc: "The last element; null when there is none.", example: "last(inputs.sites)",
			result: (*call).endElement, encoded: true,
			run: func(m *machine, args []any) (any, error) {
				list, _ := sequenceOf(args[0])
				return list.atOrNull(m, list.len()-1)
			},
		},
		{
			signature: "take(list: list, n: integer): list", doc: "The first n elements, or all when there are fewer.", example: "take([1, 2, 3], 2)",
			result: (*call).sameList, encoded: true, chooses: true,
			run: func(_ *machine, args []any) (any, error) {
				list, _ := sequenceOf(args[0])
				n := args[1].(int)
				if n < 0 {
					return nil, failf("take expects 0 or more, got %d", n)
				}
				return list.cut(0, min(n, list.len())), nil
			},
		},
		{
			signature: "reverse(list: list): list", doc: "The elements from the last to the first.", example: "reverse([1, 2, 3])",
			result: (*call).sameElements,
			run: func(m *machine, args []any) (any, error) {
				list, err := m.copied(args[0].([]any))
				slices.Reverse(list)
				return list, err
			},
		},
		{
			signature: "concat(lists...: list): list", doc: "The elements of all lists behind each other.", example: "concat([1], [2, 3])",
			result: (*call).concatenated,
			run:    func(m *machine, args []any) (any, error) { return m.concat(args) },
		},
		{
			signature: "flatten(list: list): list", doc: "The elements of a list and of the lists in it, to any depth.", example: "flatten([1, [2, [3]]])",
			result: (*call).flattened,
			run: func(m *machine, args []any) (any, error) {
				flat := []any{}
				err := m.eachFlat(args, func(v any) error {
					flat = append(flat, v)
					return m.grow(1)
				})
				return flat, err
			},
		},
		{
			signature: "sort(list: list, order?: text): list", doc: `The elements in order, "asc" or "desc"; equal ones keep their order.`, example: "sort([3, 1, 2])",
			result: (*call).sorted,
			run: func(m *machine, args []any) (any, error) {
				list, _ := sequenceOf(args[0])
				return m.sorted(&list, list.values, args[1:])
			},
		},
		{
			signature: "cross(a: list, b: list): list", doc: "Every pair [x, y] of an element of a and one of b, a's order first.", example: `cross(["eu", "us"], [1, 2])`,
			result: (*call).crossed,
			run:    func(m *machine, args []any) (any, error) { return m.cross(args[0].([]any), args[1].([]any)) },
		},
		{
			signature: "chunk(list: list, size: integer): list", doc: "The elements in lists of at most so many each, for services that take batches.", example: "chunk([1, 2, 3], 2)",
			result: (*call).chunked, encoded: true, chooses: true,
			run: func(m *machine, args []any) (any, error) { return m.chunk(args[0], args[1].(int)) },
		},
		{
			signature: "uniqueBy(rows: list, field: text): list", doc: "The first row of each value of a field; the field may be a path such as a.b.", example: `uniqueBy(steps.traffic.outputs.rows, "host")`,
			result: (*call).rowsOf, encoded: true, chooses: true,
			run: func(m *machine, args []any) (any, error) { return m.uniqueBy(args[0], args[1].(string)) },
		},
	}
}

func (m *machine) copied(list []any) ([]any, error) {
	if err := m.grow(len(list)); err != nil {
		return nil, err
	}
	return slices.Clone(list), m.step(len(list) / 64)
}

func (m *machine) concat(lists []any) (any, error) {
	all := []any{}
	for _, list := range lists {
		items := list.([]any)
		if err := m.grow(len(items)); err != nil {
			return nil, err
		}
		all = append(all, items...)
	}
	return all, m.step(len(all) / 64)
}

// sorted orders items by keys, which may be the items themselves.
func (m *machine) sorted(items *sequence, keys, order []any) (any, error) {
	sign := 1
	if len(order) == 1 {
		switch order[0] {
		case "asc":
		case "desc":
			sign = -1
		default:
			return nil, failf(`the order must be "asc" or "desc"`)
		}
	}
	places, err := m.places(items.len())
	if err != nil {
		return nil, err
	}
	var failure error
	slices.SortStableFunc(places, func(i, j int) int {
		if failure != nil {
			return 0
		}
		var result int
		if failure = m.step(1); failure == nil {
			result, failure = m.order(keys[i], keys[j])
		}
		return result * sign
	})
	if failure != nil {
		return nil, failure
	}
	if items.encoded != nil {
		chosen := make([]int32, len(places))
		for at, i := range places {
			chosen[at] = int32(i) //nolint:gosec // a list has fewer
		}
		return items.encoded.Pick(chosen), nil
	}
	sorted := make([]any, len(places))
	for at, i := range places {
		sorted[at] = items.values[i]
	}
	return sorted, nil
}

func (m *machine) places(n int) ([]int, error) {
	if err := m.grow(2 * n); err != nil {
		return nil, err
	}
	places := make([]int, n)
	for i := range places {
		places[i] = i
	}
	return places, nil
}

func (m *machine) cross(a, b []any) (any, error) {
	if len(b) > 0 && len(a) > m.units/len(b) {
		return nil, m.grow(m.units + 1)
	}
	n := len(a) * len(b)
	if err := m.grow(3 * n); err != nil {
		return nil, err
	}
	pairs := make([]any, 0, n)
	for _, x := range a {
		for _, y := range b {
			pairs = append(pairs, []any{x, y})
		}
	}
	return pairs, m.step(n / 8)
}

func (m *machine) chunk(v any, size int) (any, error) {
	list, _ := sequenceOf(v)
	if size < 1 {
		return nil, failf("chunk expects a size of 1 or more, got %d", size)
	}
	if err := m.grow(list.len()/size + 1); err != nil {
		return nil, err
	}
	chunks := []any{}
	for from := 0; from < list.len(); from += size {
		chunks = append(chunks, list.cut(from, min(from+size, list.len())))
	}
	return chunks, m.step(len(chunks))
}

func (m *machine) uniqueBy(v any, field string) (any, error) {
	rows, _ := sequenceOf(v)
	m.passed(&rows, passSteps)
	kept := selection{of: &rows}
	seen := map[string]bool{}
	for i := range rows.len() {
		row, err := rows.at(m, i)
		if err == nil {
			err = m.step(1)
		}
		if err != nil {
			return nil, err
		}
		if _, ok := row.(map[string]any); !ok {
			return nil, failf("uniqueBy expects objects, got %s", article(row))
		}
		value, err := m.lookUp(row, field)
		if err != nil {
			return nil, err
		}
		key, err := m.identity(value)
		if err != nil {
			return nil, err
		}
		if seen[key] {
			continue
		}
		if err := m.grow(2); err != nil {
			return nil, err
		}
		seen[key] = true
		if err := kept.add(m, i); err != nil {
			return nil, err
		}
	}
	return kept.list(), nil
}

// identity is a text that two values share exactly when they are equal.
func (m *machine) identity(v any) (string, error) {
	if f, ok := v.(float64); ok && f == float64(int(f)) {
		v = int(f)
	}
	encoded, err := m.encoded(v)
	return typeWord(schema.KindOf(v)) + encoded, err
}

// encoded is a value as JSON, within what an expression may make.
func (m *machine) encoded(v any) (string, error) {
	size, err := measure(v, m.bytes)
	if err != nil {
		return "", err
	}
	if err := m.text(size); err != nil {
		return "", err
	}
	encoded, err := schema.Encode(v)
	if err != nil {
		return "", failf("%v", err)
	}
	return string(encoded), nil
}
