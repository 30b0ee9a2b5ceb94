package eval

import (
	"iter"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/schema"
)

// What an evaluation may use grows with each element that it reads of stored lists
// (schema.Encoded), so that a predicate can go over all of a long one: the
// sum is linear in what is read, and what is read is bounded (ADR 71).
const (
	maxElements = 1_000_000 // elements of such lists
	visitSteps  = 20
	visitBytes  = 64
	visitUnits  = 3
	passSteps   = 5   // of a pass over one that is kept as values, for each element
	sortSteps   = 20  // of one that orders them
	visitResult = 256 // bytes of a computed result, up to MostResult

	// maxWhole is what such a list may take decoded where a function needs all of it.
	maxWhole = 128 << 20
)

// sequence is a list as the evaluator reads it: of values, or kept by who stored it, as
// text or as values.
type sequence struct {
	values  []any // of a stored one: those that it is chosen of
	encoded *schema.Encoded
	read    *schema.EncodedReader // of one that is kept as text
}

// sequenceOf returns v as a list; false where it is none.
func sequenceOf(v any) (sequence, bool) {
	switch v := v.(type) {
	case []any:
		return sequence{values: v}, true
	case *schema.Encoded:
		if values, ok := v.Kept(); ok {
			if values == nil {
				values = []any{}
			}
			return sequence{encoded: v, values: values}, true
		}
		return sequence{encoded: v, read: v.Reader()}, true
	}
	return sequence{}, false
}

// readOnly says that of elements which are objects the members of these names alone are read.
func (s *sequence) readOnly(names []string) {
	if s.isText() {
		s.read = s.encoded.PartReader(names)
	}
}

// isText reports whether the list is kept as text, of which elements are decoded.
func (s *sequence) isText() bool { return s.read != nil }

func (s *sequence) len() int {
	if s.encoded != nil {
		return s.encoded.Len()
	}
	return len(s.values)
}

// at is the i-th element, which must be there.
func (s *sequence) at(m *machine, i int) (any, error) {
	switch {
	case s.encoded == nil:
		return s.values[i], nil
	case s.read == nil:
		return s.values[s.encoded.Place(i)], nil
	}
	if err := m.visit(1); err != nil {
		return nil, err
	}
	v, err := s.read.At(i)
	if err != nil {
		return nil, failf("element %d of a list can't be read: %v", i, err)
	}
	return v, nil
}

// atOrNull is the i-th element, or null where there is none.
func (s *sequence) atOrNull(m *machine, i int) (any, error) {
	if i < 0 || i >= s.len() {
		return nil, nil
	}
	return s.at(m, i)
}

// all yields the elements in their order, up to one that can't be read: wrong says why.
func (s *sequence) all(m *machine, wrong *error) iter.Seq[any] {
	return func(yield func(any) bool) {
		for i := range s.len() {
			v, err := s.at(m, i)
			if err != nil {
				*wrong = err
				return
			}
			if !yield(v) {
				return
			}
		}
	}
}

// cut is the list's part [from, to).
func (s *sequence) cut(from, to int) any {
	if s.encoded != nil {
		return s.encoded.Slice(from, to)
	}
	return s.values[from:to:to]
}

// visit takes n elements of lists that are kept as text, which bring what they need.
func (m *machine) visit(n int) error {
	if n > m.visits {
		return limitf("the expression reads more than %d elements of lists that are kept as text", maxElements).
			hint("go over such a list once, or in parts: `foreach` over chunk(list, 100)")
	}
	m.visits, m.texts = m.visits-n, m.texts+n
	m.steps, m.bytes, m.units = m.steps+n*visitSteps, m.bytes+n*visitBytes, m.units+n*visitUnits
	return nil
}

// whole decodes a list for a function that needs all of it.
func (m *machine) whole(name string, list *schema.Encoded) ([]any, error) {
	if _, kept := list.Kept(); kept {
		if list.Chosen() {
			if err := m.grow(list.Len()); err != nil {
				return nil, err
			}
		}
		return list.Values()
	}
	weight := list.Weight()
	if weight > m.wholes {
		return nil, limitf("%s needs all %s of the list at once: decoded they take more than %d MiB", name, diag.Count(list.Len(), "element"), maxWhole>>20).
			hint("filter the list first, or work through it in parts: `foreach` over chunk(list, 100)")
	}
	m.wholes -= weight
	if err := m.visit(list.Len()); err != nil {
		return nil, err
	}
	values, err := list.Values()
	if err != nil {
		return nil, failf("a list can't be read: %v", err)
	}
	return values, nil
}

// plain is a value as a list of values: one that is kept as text is decoded. false
// where it is no list.
func (m *machine) plain(name string, v any) (list []any, isList bool, err error) {
	switch v := v.(type) {
	case []any:
		return v, true, nil
	case *schema.Encoded:
		list, err = m.whole(name, v)
		return list, true, err
	}
	return nil, false, nil
}

// selection collects elements of a list: of a stored one it keeps where they stand.
type selection struct {
	of     *sequence
	values []any
	places []int32
}

// add takes the i-th element.
func (s *selection) add(m *machine, i int) error {
	if s.of.encoded != nil {
		s.places = append(s.places, int32(i)) //nolint:gosec // a list has fewer
		return nil
	}
	if err := m.grow(1); err != nil {
		return err
	}
	s.values = append(s.values, s.of.values[i])
	return nil
}

// list is what was taken.
func (s *selection) list() any {
	if s.of.encoded != nil {
		return s.of.encoded.Pick(s.places)
	}
	if s.values == nil {
		return []any{}
	}
	return s.values
}
