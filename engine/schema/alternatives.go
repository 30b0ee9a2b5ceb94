package schema

// maxAlternatives bounds the kinds that are kept apart; beyond them nothing is
// known of a value.
const maxAlternatives = 6

// Either returns the type of a value that is a or b, as a ternary gives it. It
// is their Join where they have one; else a type of kind Any whose Alternatives
// say what the value can be, so that a use that suits only one of them is found
// (docs/language.md, rule 4).
func Either(a, b *Type) *Type {
	joined := Join(a, b)
	if joined.Kind != Any || joined.Secret || !a.known() || !b.known() {
		return joined
	}
	list := mergeAlternatives(a.each(), b.each())
	if len(list) > maxAlternatives {
		return joined
	}
	return &Type{Nullable: a.MayBeNull() || b.MayBeNull(), Alternatives: list}
}

// known reports whether anything is known of a value of the type.
func (t *Type) known() bool { return t.Kind != Any || t.Alternatives != nil }

// each returns the types that a value can have, without null.
func (t *Type) each() []*Type {
	switch {
	case t.Alternatives != nil:
		return t.Alternatives
	case t.Kind == Null:
		return nil
	}
	return []*Type{NonNull(t)}
}

// mergeAlternatives joins those that have something in common.
func mergeAlternatives(a, b []*Type) []*Type {
	merged := append([]*Type{}, a...)
next:
	for _, t := range b {
		for i, other := range merged {
			if both := Join(other, t); both.Kind != Any {
				merged[i] = both
				continue next
			}
		}
		merged = append(merged, t)
	}
	return merged
}

// Each returns the types that a value of t can have: those of a value that has
// one of several, else t alone.
func (t *Type) Each() []*Type {
	if t.Alternatives != nil {
		return t.Alternatives
	}
	return []*Type{t}
}
