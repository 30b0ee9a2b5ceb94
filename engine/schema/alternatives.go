package schema

import (
	"encoding/json"
	"slices"
	"time"
)

// maxAlternatives bounds the kinds that are kept apart; beyond them nothing is
// known of a value.
const maxAlternatives = 6

// Known reports whether anything is known of a value of the type.
func (t *Type) Known() bool { return t.Kind != Any || t.Alternatives != nil }

// Each returns the types that a value of t can have, null aside: those of a value
// that has one of several, else t alone. A use must suit each of them.
func (t *Type) Each() []*Type {
	if t.Alternatives != nil {
		return t.Alternatives
	}
	return []*Type{t}
}

// joinAlternatives is the join of two types of which something is known and at
// least one is not of one kind, or of which the kinds differ: a type of kind Any
// whose Alternatives say what the value can be, so that a use that suits only one
// of them is found (docs/language.md, rule 4). That there may be a secret in it
// is never forgotten.
func joinAlternatives(a, b *Type) *Type {
	if a.HasSecret() || b.HasSecret() {
		return &Type{Secret: true}
	}
	merged := a.apart()
	nullable := a.MayBeNull() || b.MayBeNull()
next:
	for _, t := range b.apart() {
		for i, other := range merged {
			if oneKind(other, t) {
				merged[i] = Join(other, t)
				continue next
			}
		}
		merged = append(merged, t)
	}
	switch {
	case len(merged) > maxAlternatives:
		return &Type{}
	case len(merged) == 1 && nullable:
		return Nullable(merged[0])
	case len(merged) == 1:
		return merged[0]
	}
	return &Type{Nullable: nullable, Alternatives: merged}
}

// apart returns a copy of the list of types that a value can have, none of them
// nullable.
func (t *Type) apart() []*Type {
	switch {
	case t.Alternatives != nil:
		return slices.Clone(t.Alternatives)
	case t.Kind == Null:
		return nil
	}
	return []*Type{NonNull(t)}
}

// oneKind reports whether two types of one kind each have a join of one kind.
func oneKind(a, b *Type) bool {
	return a.Kind == b.Kind || a.Kind == Int && b.Kind == Number || a.Kind == Number && b.Kind == Int
}

// Shaped returns the alternative of t that is of a kind, t where there is none: what a
// list or an object that is written out is held against.
func (t *Type) Shaped(kind Kind) *Type {
	if t == nil {
		return nil
	}
	for _, one := range t.Alternatives {
		if one.Kind == kind {
			return one
		}
	}
	return t
}

// alternative takes a value as the first alternative that takes it. What is wrong is told
// of the first that has its shape.
func (c *coercion) alternative(t *Type, v any) (any, bool, error) {
	var told error
	depth := len(c.path)
	for _, one := range t.Alternatives {
		if !one.shape(v) {
			continue
		}
		trial := *c
		if one.Kind != List && one.Kind != Object { // of those only one can be there
			trial.all = nil
		}
		value, changed, err := trial.value(one, v)
		if err == nil {
			return value, changed, nil
		}
		if told == nil {
			told = err
		}
		c.path = c.path[:depth]
	}
	if told == nil {
		told = c.wrongKind(t, v)
	}
	return nil, false, told
}

// shape reports whether a value is of the kind, as far as its form tells.
func (t *Type) shape(v any) bool {
	switch v := v.(type) {
	case json.Number:
		_, whole := wholeNumber(v)
		return t.Kind == Number || t.Kind == Int && (whole || isIntegerText(string(v)))
	case string:
		return t.Kind == String || t.Kind == Time || t.Kind == Duration
	case int:
		return t.Kind == Int || t.Kind == Number
	case time.Time:
		return t.Kind == Time
	}
	return t.Kind == KindOf(v)
}

// scalarOf is scalarJSON for one of several types: what stands without quotes is a number
// or a boolean where it can be one, else text.
func (t *Type) scalarOf(text string, plain bool) (json.RawMessage, error) {
	var told error
	for _, textual := range []bool{!plain, plain} {
		for _, one := range t.Alternatives {
			if isText := one.Kind == String || one.Kind == Time || one.Kind == Duration; isText != textual {
				continue
			}
			raw, err := one.FromScalar(text, plain)
			if err == nil {
				return raw, nil
			}
			if told == nil || textual {
				told = err
			}
		}
	}
	if len(t.Alternatives) > 1 && !slices.ContainsFunc(t.Alternatives, func(one *Type) bool { return one.Kind == String }) || told == nil {
		return nil, t.refuseScalar(text, plain)
	}
	return nil, told
}
