package eval

import (
	"github.com/flowrun/flowrun/engine/schema"
)

// loop is one run of a predicate over a list.
type loop struct {
	name   string
	list   sequence
	body   code  // nil = the element itself
	weight int   // steps that one turn costs
	extra  []any // sortBy's order, reduce's initial value
}

// turn evaluates the body for the i-th element. The names of an outer loop are
// the caller's to keep.
func (l *loop) turn(m *machine, i int) (any, error) {
	item, err := l.list.at(m, i)
	if err == nil {
		err = m.step(l.weight)
	}
	if err != nil || l.body == nil {
		return item, err
	}
	m.item, m.index = item, i
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
		i = l.list.len() - 1
	}
	for ; i >= 0 && i < l.list.len(); i += direction {
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
	for i := range l.list.len() {
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
	for i := range l.list.len() {
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
	kept := selection{of: &l.list}
	for i := range l.list.len() {
		holds, err := l.holds(m, i)
		if err != nil {
			return nil, err
		}
		if !holds {
			continue
		}
		if err := kept.add(m, i); err != nil {
			return nil, err
		}
	}
	return kept.list(), nil
}

func (l *loop) values(m *machine) ([]any, error) {
	if err := l.room(m); err != nil {
		return nil, err
	}
	values := make([]any, l.list.len())
	for i := range values {
		v, err := l.turn(m, i)
		if err == nil && l.list.isText() {
			err = m.grow(1)
		}
		if err != nil {
			return nil, err
		}
		values[i] = v
	}
	return values, nil
}

// room takes what the values of all elements need. Those of a list that is kept as text
// bring it, so that there it is asked for whether all of them may be read.
func (l *loop) room(m *machine) error {
	if !l.list.isText() {
		return m.grow(l.list.len())
	}
	if l.list.len() > m.visits {
		return m.visit(l.list.len())
	}
	return nil
}

func (l *loop) group(m *machine) (any, error) {
	groups := map[string]*selection{}
	for i := range l.list.len() {
		v, err := l.turn(m, i)
		if err != nil {
			return nil, err
		}
		name, err := fieldName(v)
		if err != nil {
			return nil, err
		}
		if err := m.grow(1); err != nil {
			return nil, err
		}
		if groups[name] == nil {
			groups[name] = &selection{of: &l.list}
		}
		if err := groups[name].add(m, i); err != nil {
			return nil, err
		}
	}
	lists := make(map[string]any, len(groups))
	for name, group := range groups {
		lists[name] = group.list()
	}
	return lists, nil
}

func (l *loop) sort(m *machine) (any, error) {
	keys, err := l.values(m)
	if err != nil {
		return nil, err
	}
	return m.sorted(&l.list, keys, l.extra)
}

func (l *loop) reduce(m *machine) (any, error) {
	outer := m.acc
	defer func() { m.acc = outer }()
	from := 0
	var acc any
	if len(l.extra) == 1 {
		acc = l.extra[0]
	} else {
		if l.list.len() == 0 {
			return nil, failf("reduce of an empty list needs an initial value").hint("write it as the third argument")
		}
		first, err := l.list.at(m, 0)
		if err != nil {
			return nil, err
		}
		acc, from = first, 1
	}
	for i := from; i < l.list.len(); i++ {
		m.acc = acc
		v, err := l.turn(m, i)
		if err != nil {
			return nil, err
		}
		acc = v
	}
	return acc, nil
}
