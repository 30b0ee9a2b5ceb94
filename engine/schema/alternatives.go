package schema

import "slices"

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
