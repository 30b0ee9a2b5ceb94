package eval

import (
	"encoding/json"
	"math"
	"time"

	"github.com/flowrun/flowrun/engine/schema"
)

// The lists that `in` looks things up in by a table.
const (
	leastHashed = 16 // a shorter one is looked through
	mostHashed  = 8  // lists in an evaluation: of another one, the first is forgotten
	hashSteps   = 4  // elements that one step puts into a table
)

// member is a list that `in` has looked through. The second time it is a table.
type member struct {
	first *any            // its first element, of a list of values
	list  *schema.Encoded // else
	len   int
	known map[any]bool // nil = not made yet
	odd   []any        // elements that have no key, but may equal what has one: large numbers
}

// hashed is the text, number, boolean, time, duration or null that is equal to a value,
// in one form for all that are: numbers are so across integer and number. false for lists,
// objects and numbers beyond 64 bits.
func hashed(v any) (key any, ok bool) {
	switch v := v.(type) {
	case nil, bool, string, int, time.Duration:
		return v, true
	case float64:
		if v == math.Trunc(v) && v >= -1<<63 && v < 1<<63 {
			return int(v), true
		}
		return v, true
	case time.Time:
		return instant{v.Unix(), v.Nanosecond()}, true
	}
	return nil, false
}

type instant struct {
	seconds int64
	nanos   int
}

// isIn reports whether a list has an element, or an object a name. A list that is asked
// again is looked up in by a table, which takes a step for some elements and one for each
// question, and counts as that many new elements.
func (m *machine) isIn(container, v any) (bool, error) {
	key, ok := hashed(v)
	if !ok || m.from.plain {
		return m.contains(container, v)
	}
	list, isList := sequenceOf(container)
	if !isList || list.len() < leastHashed {
		return m.contains(container, v)
	}
	seen := m.lookedThrough(container, list.len())
	if seen == nil || seen.known == nil && !m.tabulate(seen, &list) {
		return m.contains(container, v)
	}
	if err := m.step(1); err != nil {
		return false, err
	}
	if text, ok := v.(string); ok {
		if err := m.read(len(text)); err != nil {
			return false, err
		}
	}
	if seen.known[key] {
		return true, nil
	}
	for _, item := range seen.odd {
		if err := m.step(1); err != nil {
			return false, err
		}
		if order, ok := compareNumbers(item, v); ok && order == 0 {
			return true, nil
		}
	}
	return false, nil
}

// lookedThrough finds what is known of a list; nil the first time.
func (m *machine) lookedThrough(container any, n int) *member {
	asked := member{len: n}
	switch list := container.(type) {
	case []any:
		asked.first = &list[0]
	case *schema.Encoded:
		asked.list = list
	}
	for _, one := range m.sets {
		if one.first == asked.first && one.list == asked.list && one.len == n {
			return one
		}
	}
	if len(m.sets) == mostHashed {
		m.sets = append(m.sets[:0], m.sets[1:]...)
	}
	m.sets = append(m.sets, &asked)
	return nil
}

// tabulate makes the table of a list; false where the budget has no room for it, so that
// the elements are compared one by one.
func (m *machine) tabulate(seen *member, list *sequence) bool {
	if n := list.len(); n > m.units || n/hashSteps > m.steps {
		return false
	}
	_, _ = m.grow(list.len()), m.step(list.len()/hashSteps)
	known := make(map[any]bool, list.len())
	seen.odd = nil
	for i := range list.len() {
		item, err := list.at(m, i)
		if err != nil {
			return false // it is told where the element is compared
		}
		if key, ok := hashed(item); ok {
			known[key] = true
		} else if _, large := item.(json.Number); large {
			seen.odd = append(seen.odd, item)
		}
	}
	seen.known = known
	return true
}
