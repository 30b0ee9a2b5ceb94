package eval

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/big"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/schema"
)

// equal compares two values deeply. Numbers are equal across integer and
// number, times when they are the same instant.
func (m *machine) equal(a, b any) (bool, error) {
	switch x := a.(type) {
	case nil:
		return b == nil, nil
	case bool:
		y, ok := b.(bool)
		return ok && x == y, nil
	case string:
		y, ok := b.(string)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return x == y, m.read(len(x))
	case time.Time:
		y, ok := b.(time.Time)
		return ok && x.Equal(y), nil
	case time.Duration:
		y, ok := b.(time.Duration)
		return ok && x == y, nil
	case []any, *schema.Encoded:
		x1, _ := sequenceOf(x)
		y1, ok := sequenceOf(b)
		if !ok || x1.len() != y1.len() {
			return false, nil
		}
		return m.equalLists(&x1, &y1)
	case map[string]any:
		y, ok := b.(map[string]any)
		if !ok || len(x) != len(y) {
			return false, nil
		}
		return m.equalObjects(x, y)
	}
	order, ok := compareNumbers(a, b)
	return ok && order == 0, nil
}

func (m *machine) equalLists(a, b *sequence) (bool, error) {
	for i := range a.len() {
		x, err := a.at(m, i)
		if err != nil {
			return false, err
		}
		y, err := b.at(m, i)
		if err == nil {
			err = m.step(1)
		}
		if err != nil {
			return false, err
		}
		if same, err := m.equal(x, y); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// equalObjects compares in no fixed order, which a budget that runs out could
// show; so the steps are taken up front for as many names as there are.
func (m *machine) equalObjects(a, b map[string]any) (bool, error) {
	if err := m.step(len(a)); err != nil {
		return false, err
	}
	for _, name := range sortedKeys(a) {
		other, there := b[name]
		if !there {
			return false, nil
		}
		if same, err := m.equal(a[name], other); !same || err != nil {
			return false, err
		}
	}
	return true, nil
}

// compareNumbers orders two numbers exactly; false when one is none.
func compareNumbers(a, b any) (int, bool) {
	switch x := a.(type) {
	case int:
		switch y := b.(type) {
		case int:
			return cmp.Compare(x, y), true
		case float64:
			return compareMixed(x, y), true
		}
	case float64:
		switch y := b.(type) {
		case int:
			return -compareMixed(y, x), true
		case float64:
			return cmp.Compare(x, y), true
		}
	}
	return compareLarge(a, b)
}

// compareMixed orders an integer and a number by what they are, not by what is
// left of the integer as a number: beyond 2^53 that may be another one. A number
// of the language is finite.
func compareMixed(n int, f float64) int {
	if n >= -1<<53 && n <= 1<<53 {
		return cmp.Compare(float64(n), f)
	}
	switch {
	case f >= 1<<63:
		return -1
	case f < -1<<63:
		return 1
	}
	whole := math.Trunc(f)
	if order := cmp.Compare(n, int(whole)); order != 0 {
		return order
	}
	return cmp.Compare(whole, f)
}

// compareLarge handles whole numbers beyond 64 bits.
func compareLarge(a, b any) (int, bool) {
	x, y := largeNumber(a), largeNumber(b)
	if x == nil || y == nil {
		return 0, false
	}
	return x.Cmp(y), true
}

func largeNumber(v any) *big.Float {
	switch v := v.(type) {
	case int:
		return new(big.Float).SetInt64(int64(v))
	case float64:
		return new(big.Float).SetFloat64(v)
	case json.Number:
		if len(v) > 400 {
			return nil
		}
		f, _, err := big.ParseFloat(string(v), 10, 2048, big.ToNearestEven)
		if err != nil {
			return nil
		}
		return f
	}
	return nil
}

// order compares two values of one ordered kind: numbers, texts, times or
// durations.
func (m *machine) order(a, b any) (int, error) {
	switch x := a.(type) {
	case string:
		if y, ok := b.(string); ok {
			return strings.Compare(x, y), m.read(min(len(x), len(y)))
		}
	case time.Time:
		if y, ok := b.(time.Time); ok {
			return x.Compare(y), nil
		}
	case time.Duration:
		if y, ok := b.(time.Duration); ok {
			return cmp.Compare(x, y), nil
		}
	default:
		if order, ok := compareNumbers(a, b); ok {
			return order, nil
		}
	}
	return 0, failf("can't order %s and %s", article(a), article(b))
}

func sortedKeys(object map[string]any) []string {
	keys := make([]string, 0, len(object))
	for key := range object {
		keys = append(keys, key)
	}
	sortStrings(keys)
	return keys
}

// measure walks a value and returns about how many bytes it takes as JSON. It
// stops as soon as the size is above most or the nesting is too deep, so that
// shared parts can't make it long.
func measure(v any, most int) (int, error) {
	s := sizing{left: most}
	if err := s.add(v, 0); err != nil {
		return 0, err
	}
	return most - s.left, nil
}

// maxShared is what the lists that are kept as text in a computed result may have as
// JSON: they are no new values, but may stand in it many times.
const maxShared = 256 << 20

// measureResult bounds a computed result: what it chose of stored lists is none of its
// making, and what is read of them lets it be larger.
func (m *machine) measureResult(v any) error {
	most := m.from.result
	if !m.from.plain {
		most = max(most, min(most+m.visited()*visitResult, MostResult))
	}
	s := sizing{left: most, shares: true, shared: maxShared}
	err := s.add(v, 0)
	if failure, ok := errors.AsType[*RunError](err); ok && failure.Reason == reasonLimit && failure.Message == "the value is too large" {
		if m.from.plain {
			failure.Message, failure.Hint = fmt.Sprintf("the result is too large (at most %d KiB)", most>>10), diag.Say("take less, or read it where it is needed")
			return failure
		}
		if s.shared < 0 {
			failure.Message = fmt.Sprintf("the result is too large: it holds stored lists more than once, with more than %d MiB", maxShared>>20)
			failure.Hint = diag.Say("take less, and read it where it is needed")
			return failure
		}
		return m.limit(quota.ExpressionResult, fmt.Sprintf("the result is too large (at most %d KiB)", most>>10))
	}
	return err
}

type sizing struct {
	left   int
	shares bool             // stored lists count in shared
	shared int64            // what is left for them
	sizes  map[*any][]int32 // of elements of lists of values, by the first one; 0 = not known yet
}

func (s *sizing) addEncoded(list *schema.Encoded, depth int) error {
	values, kept := list.Kept()
	switch {
	case kept && !s.shares:
		for i := range list.Len() {
			if err := s.add(values[list.Place(i)], depth+1); err != nil {
				return err
			}
		}
		return s.take(2 + list.Len())
	case kept:
		if err := s.addChosen(list, values); err != nil {
			return err
		}
		return s.take(16)
	}
	size := list.Bytes()
	if !s.shares {
		return s.take(int(min(size, math.MaxInt32)))
	}
	if s.shared -= size; s.shared < 0 {
		return limitf("the value is too large")
	}
	return s.take(16)
}

// addChosen takes a list of stored values from what is shared. Each value is measured
// once, however many lists it stands in.
func (s *sizing) addChosen(list *schema.Encoded, values []any) error {
	if len(values) == 0 {
		return nil
	}
	sizes := s.sizes[&values[0]]
	if len(sizes) < len(values) {
		if s.sizes == nil {
			s.sizes = map[*any][]int32{}
		}
		sizes = make([]int32, len(values))
		s.sizes[&values[0]] = sizes
	}
	for i := range list.Len() {
		place := list.Place(i)
		if sizes[place] == 0 {
			own := sizing{left: int(min(s.shared, math.MaxInt32-2))}
			most := own.left
			if err := own.add(values[place], 0); err != nil {
				return err
			}
			sizes[place] = int32(1 + most - own.left) //nolint:gosec // at most MaxInt32
		}
		if s.shared -= int64(sizes[place]); s.shared < 0 {
			return limitf("the value is too large")
		}
	}
	return nil
}

func (s *sizing) take(n int) error {
	if s.left -= n; s.left < 0 {
		return limitf("the value is too large")
	}
	return nil
}

func (s *sizing) add(v any, depth int) error {
	if depth > maxResultDepth {
		return limitf("the value is nested deeper than %d", maxResultDepth)
	}
	switch v := v.(type) {
	case string:
		return s.take(len(v) + 2)
	case json.Number:
		return s.take(len(v))
	case time.Time:
		return s.take(32)
	case *schema.Encoded:
		return s.addEncoded(v, depth)
	case []any:
		if err := s.take(2 + len(v)); err != nil {
			return err
		}
		for _, item := range v {
			if err := s.add(item, depth+1); err != nil {
				return err
			}
		}
		return nil
	case map[string]any:
		return s.addObject(v, depth)
	case float64:
		if _, err := schema.Encode(v); err != nil {
			return failf("%v", err)
		}
	}
	return s.take(8)
}

func (s *sizing) addObject(object map[string]any, depth int) error {
	if err := s.take(2 + 4*len(object)); err != nil {
		return err
	}
	for name, value := range object {
		if err := s.take(len(name)); err != nil {
			return err
		}
		if err := s.add(value, depth+1); err != nil {
			return err
		}
	}
	return nil
}
