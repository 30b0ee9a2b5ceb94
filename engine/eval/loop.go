package eval

import (
	"github.com/flowrun/flowrun/engine/schema"
)

// loop is one run of a predicate over a list.
type loop struct {
	name   string
	list   []any
	body   code  // nil = the element itself
	weight int   // steps that one turn costs
	extra  []any // sortBy's order, reduce's initial value
}

// turn evaluates the body for the i-th element. The names of an outer loop are
// the caller's to keep.
func (l *loop) turn(m *machine, i int) (any, error) {
	if m.steps -= l.weight; m.steps < 0 {
		return nil, m.step(0)
	}
	if l.body == nil {
		return l.list[i], nil
	}
	m.item, m.index = l.list[i], i
	return l.body(m)
}

func (l *loop) holds(m *machine, i int) (bool, error) {
	v, err := l.turn(m, i)
	if err != nil {
		return false, err
	}
	holds, ok := v.(bool)
	if !ok {
		return false, failf("the condition of %s must be true or false, got %s", l.name, article(v))
	}
	return holds, nil
}

// search returns the place of the first element, from the front (direction 1)
// or the back, for which the condition is want; -1 when there is none.
func (l *loop) search(m *machine, want bool, direction int) (int, error) {
	i := 0
	if direction < 0 {
		i = len(l.list) - 1
	}
	for ; i >= 0 && i < len(l.list); i += direction {
		holds, err := l.holds(m, i)
		if err != nil {
			return -1, err
		}
		if holds == want {
			return i, nil
		}
	}
	return -1, nil
}

func (l *loop) count(m *machine) (int, error) {
	n := 0
	for i := range l.list {
		holds, err := l.holds(m, i)
		if err != nil {
			return 0, err
		}
		if holds {
			n++
		}
	}
	return n, nil
}

func (l *loop) sum(m *machine) (any, error) {
	var sum any = 0
	for i := range l.list {
		v, err := l.turn(m, i)
		if err != nil {
			return nil, err
		}
		if kind := schema.KindOf(v); kind != schema.Int && kind != schema.Number {
			return nil, failf("sum adds numbers, got %s", article(v))
		}
		if sum, err = m.arithmetic("+", sum, v); err != nil {
			return nil, err
		}
	}
	return sum, nil
}

func (l *loop) filter(m *machine) (any, error) {
	kept := []any{}
	for i, item := range l.list {
		holds, err := l.holds(m, i)
		if err != nil {
			return nil, err
		}
		if !holds {
			continue
		}
		if err := m.grow(1); err != nil {
			return nil, err
		}
		kept = append(kept, item)
	}
	return kept, nil
}

func (l *loop) values(m *machine) ([]any, error) {
	if err := m.grow(len(l.list)); err != nil {
		return nil, err
	}
	values := make([]any, len(l.list))
	for i := range l.list {
		v, err := l.turn(m, i)
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

func (l *loop) group(m *machine) (any, error) {
	groups := map[string]any{}
	for i, item := range l.list {
		v, err := l.turn(m, i)
		if err != nil {
			return nil, err
		}
		name, err := fieldName(v)
		if err != nil {
			return nil, err
		}
		if err := m.grow(2); err != nil {
			return nil, err
		}
		group, _ := groups[name].([]any)
		groups[name] = append(group, item)
	}
	return groups, nil
}

func (l *loop) sort(m *machine) (any, error) {
	keys, err := l.values(m)
	if err != nil {
		return nil, err
	}
	return m.sorted(l.list, keys, l.extra)
}

func (l *loop) reduce(m *machine) (any, error) {
	outer := m.acc
	defer func() { m.acc = outer }()
	from := 0
	var acc any
	if len(l.extra) == 1 {
		acc = l.extra[0]
	} else {
		if len(l.list) == 0 {
			return nil, failf("reduce of an empty list needs an initial value").hint("write it as the third argument")
		}
		acc, from = l.list[0], 1
	}
	for i := from; i < len(l.list); i++ {
		m.acc = acc
		v, err := l.turn(m, i)
		if err != nil {
			return nil, err
		}
		acc = v
	}
	return acc, nil
}
