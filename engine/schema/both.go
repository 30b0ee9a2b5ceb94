package schema

import "slices"

// both returns a type for values that have two types at once: all of those values are
// values of it. It need not be the narrowest. Words about the whole are those of a, where
// it has them.
func both(a, b *Type) *Type {
	t := narrower(a, b)
	t.Secret, t.Expected, t.File = a.Secret || b.Secret, a.Expected || b.Expected, a.File || b.File
	if t.Doc = a.Doc; t.Doc == "" {
		t.Doc = b.Doc
	}
	if t.Default = a.Default; t.Default == nil {
		t.Default = b.Default
	}
	t.indexFields()
	return t
}

// narrower is both without the words about the whole, as a type that may be changed.
func narrower(a, b *Type) *Type {
	switch {
	case !a.Known():
		t := *b
		t.Nullable = b.Nullable || a.Nullable && b.Known() // `nullable` beside the other words
		return &t
	case !b.Known():
		t := *a
		return &t
	case a.Alternatives != nil || b.Alternatives != nil:
		return eachOfBoth(a, b)
	}
	t := *a
	t.Nullable = a.Nullable && b.Nullable
	if !compatible(a, b) {
		return &t // no value has both
	}
	if narrowKind(b.Kind, a.Kind) {
		t.Kind, t.Enum = b.Kind, enumAs(b.Kind, a.Enum)
	}
	t.narrowBounds(b)
	switch t.Kind {
	case List:
		t.Elem = both(a.Element(), b.Element())
	case Object:
		if a.Blob || b.Blob {
			t.becomeBlob()
			break
		}
		t.narrowFields(a, b)
	}
	return &t
}

// eachOfBoth are the alternatives that both have.
func eachOfBoth(a, b *Type) *Type {
	t := &Type{Nullable: a.MayBeNull() && b.MayBeNull()}
	var common []*Type
	for _, one := range a.apart() {
		for _, other := range b.apart() {
			if compatible(one, other) {
				common = append(common, both(one, other))
				break
			}
		}
	}
	if len(common) == 0 { // no value has both
		t.Alternatives = a.apart()
		return t
	}
	t.become(common)
	return t
}

// compatible reports whether a value can be of the kinds of both.
func compatible(a, b *Type) bool {
	return a.Kind == b.Kind || narrowKind(a.Kind, b.Kind) || narrowKind(b.Kind, a.Kind)
}

// narrowKind reports whether values of a kind are some of those of another.
func narrowKind(kind, of Kind) bool {
	return kind == Int && of == Number || of == String && (kind == Time || kind == Duration)
}

// narrowBounds takes over the narrower bounds of b.
func (t *Type) narrowBounds(b *Type) {
	t.Min, t.Max = larger(t.Min, b.Min), smaller(t.Max, b.Max)
	t.MinLength, t.MaxLength = larger(t.MinLength, b.MinLength), smaller(t.MaxLength, b.MaxLength)
	if t.Pattern == "" {
		t.Pattern, t.compiled = b.Pattern, b.compiled
	}
	enum := b.Enum
	if t.Kind != b.Kind {
		enum = enumAs(t.Kind, b.Enum)
	}
	switch {
	case t.Enum == nil:
		t.Enum = enum
	case enum != nil:
		common := slices.DeleteFunc(slices.Clone(t.Enum), func(value any) bool {
			return !slices.ContainsFunc(enum, func(other any) bool { return sameScalar(value, other) })
		})
		if len(common) > 0 {
			t.Enum = common
		}
	}
}

// enumAs are the values of an enum that a narrower kind has too, nil for none.
func enumAs(kind Kind, enum []any) []any {
	var kept []any
	for _, value := range enum {
		raw, err := Encode(value)
		if err != nil {
			continue
		}
		if own, err := Of(kind).Decode(raw); err == nil {
			kept = append(kept, own)
		}
	}
	return kept
}

func larger[T int | float64](a, b *T) *T {
	if a == nil || b != nil && *b > *a {
		return b
	}
	return a
}

func smaller[T int | float64](a, b *T) *T {
	if a == nil || b != nil && *b < *a {
		return b
	}
	return a
}

// narrowFields makes an object of the fields of both; others are those that both take.
func (t *Type) narrowFields(a, b *Type) {
	t.Fields, t.index, t.Variants = nil, nil, variantsOfBoth(a, b)
	for _, field := range a.Fields {
		if i := b.fieldIndex(field.Name); i >= 0 {
			field.Type = both(field.Type, b.Fields[i].Type)
			field.Required = field.Required || b.Fields[i].Required
		} else if b.Additional != nil {
			field.Type = both(field.Type, b.Additional)
		}
		t.Fields = append(t.Fields, field)
	}
	for _, field := range b.Fields {
		if a.fieldIndex(field.Name) >= 0 {
			continue
		}
		if a.Additional != nil {
			field.Type = both(field.Type, a.Additional)
		}
		t.Fields = append(t.Fields, field)
	}
	switch {
	case a.Additional != nil && b.Additional != nil:
		t.Additional = both(a.Additional, b.Additional)
	case a.Additional != nil && b.Open:
		t.Additional = a.Additional
	case b.Additional != nil && a.Open:
		t.Additional = b.Additional
	default:
		t.Additional = nil
	}
	if t.Open = a.Open && b.Open || t.Additional != nil && !t.Additional.Known() && (a.Open || b.Open); t.Open {
		t.Additional = nil // nothing is known of other names
	}
}
