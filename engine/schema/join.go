package schema

// maxEnum bounds the values that a join keeps apart; beyond them any value of
// the kind is possible.
const maxEnum = 32

// Join returns the type of a value that has one of two types: what is common to
// both. Null makes the other nullable, integer and number make number, other
// different kinds are kept as Alternatives. Where nothing is known of one,
// nothing is known of the join.
func Join(a, b *Type) *Type {
	switch {
	case a == b:
		return a
	case a.Kind == Null && b.Known():
		return Nullable(b)
	case b.Kind == Null && a.Known():
		return Nullable(a)
	case !a.Known():
		return anyOf(a, b)
	case !b.Known():
		return anyOf(b, a)
	case a.Alternatives != nil || b.Alternatives != nil || !oneKind(a, b):
		return joinAlternatives(a, b)
	}
	joined := &Type{Kind: a.Kind, Nullable: a.Nullable || b.Nullable, Secret: a.Secret || b.Secret}
	if a.Kind != b.Kind {
		joined.Kind = Number
		return joined
	}
	joined.Enum = joinEnums(a.Enum, b.Enum)
	switch a.Kind {
	case List:
		joinLists(joined, a, b)
	case Object:
		joinObjects(joined, a, b)
		joined.Blob = a.Blob && b.Blob
	}
	return joined
}

func anyOf(known, other *Type) *Type {
	if other.HasSecret() && !known.Secret {
		return &Type{Secret: true}
	}
	if known.Enum != nil { // the values of one of the two
		return &Type{Nullable: known.Nullable, Secret: known.Secret}
	}
	return known
}

// joinLists keeps the element type of one list when the other is always empty,
// as the literal [] is.
func joinLists(joined, a, b *Type) {
	switch {
	case a.AlwaysEmpty() && b.AlwaysEmpty():
		joined.Elem, joined.MaxLength = a.Elem, a.MaxLength
	case a.AlwaysEmpty():
		joined.Elem = b.Elem
	case b.AlwaysEmpty():
		joined.Elem = a.Elem
	default:
		joined.Elem = Join(a.Element(), b.Element())
		joined.Tuple = joinTuples(a.Tuple, b.Tuple)
		if least := min(a.Least(), b.Least()); least > 0 {
			joined.MinLength = &least
		}
	}
}

// joinTuples joins place by place; lists of different length have no places in
// common.
func joinTuples(a, b []*Type) []*Type {
	if a == nil || len(a) != len(b) {
		return nil
	}
	joined := make([]*Type, len(a))
	for i := range a {
		joined[i] = Join(a[i], b[i])
	}
	return joined
}

// EmptyList returns the type of the list without elements. It joins with any
// other type of list to that.
func EmptyList() *Type {
	none := 0
	return &Type{Kind: List, MaxLength: &none}
}

func joinEnums(a, b []any) []any {
	if a == nil || b == nil {
		return nil
	}
	joined := append([]any{}, a...)
	for _, value := range b {
		ok := false
		for _, other := range a {
			ok = ok || sameScalar(other, value)
		}
		if !ok {
			joined = append(joined, value)
		}
	}
	if len(joined) > maxEnum {
		return nil
	}
	return joined
}

func joinObjects(joined, a, b *Type) {
	joined.Additional = joinAdditional(a.Additional, b.Additional)
	if joined.Open = a.Open || b.Open; joined.Open && joined.Additional != nil {
		joined.Open, joined.Additional = false, anyOf(beyond, joined.Additional)
	}
	for _, field := range a.Fields {
		i := b.fieldIndex(field.Name)
		switch {
		case i >= 0:
			field.Type = Join(field.Type, b.Fields[i].Type)
			field.Required = field.Required && b.Fields[i].Required
		default:
			field = onlyInOne(field, b)
		}
		joined.Fields = append(joined.Fields, field)
	}
	for _, field := range b.Fields {
		if a.fieldIndex(field.Name) < 0 {
			joined.Fields = append(joined.Fields, onlyInOne(field, a))
		}
	}
	joined.indexFields()
}

// onlyInOne is a field that the other object does not declare. One that is open or
// takes any names may have it.
func onlyInOne(field Field, other *Type) Field {
	field.Required = false
	switch {
	case other.Open:
		field.Type = Join(field.Type, beyondOrNull)
	case other.Additional != nil:
		field.Type = Join(field.Type, other.Additional)
	}
	return field
}

func joinAdditional(a, b *Type) *Type {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	}
	return Join(a, b)
}
