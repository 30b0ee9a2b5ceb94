package schema

// beyond is any value: that of a field which an open object has beyond its schema.
// beyondOrNull is the same where the object may be without the field.
var beyond, beyondOrNull = &Type{}, &Type{Nullable: true}

// Beyond returns the type of what an open object has beyond the fields that are
// declared. Nothing is known of it.
func Beyond() *Type { return beyond }

// BeyondOrNull is Beyond for a name that an open object may not have: null stands
// for it then.
func BeyondOrNull() *Type { return beyondOrNull }

// IsBeyond reports whether nothing is known of a value because an open object may
// have given it.
func (t *Type) IsBeyond() bool { return t == beyond || t == beyondOrNull }

// Others returns the type of the fields of an object that are not declared; nil
// where it can have none.
func (t *Type) Others() *Type {
	if t.Open {
		return beyond
	}
	return t.Additional
}

// Exact returns the type of what DecodeExact and Accept take: no object in it has
// a name that is not declared.
func (t *Type) Exact() *Type {
	if t == nil || !t.hasOpen() {
		return t
	}
	exact := *t
	exact.Open = false
	exact.Elem, exact.Additional = t.Elem.Exact(), t.Additional.Exact()
	exact.Tuple, exact.Alternatives, exact.Variants = exactAll(t.Tuple), exactAll(t.Alternatives), exactAll(t.Variants)
	exact.Fields = make([]Field, len(t.Fields))
	for i, field := range t.Fields {
		field.Type = field.Type.Exact()
		exact.Fields[i] = field
	}
	return &exact
}

func exactAll(types []*Type) []*Type {
	if types == nil {
		return nil
	}
	exact := make([]*Type, len(types))
	for i, t := range types {
		exact[i] = t.Exact()
	}
	return exact
}

// hasOpen reports whether t is an open object or has one in it.
func (t *Type) hasOpen() bool {
	if t == nil {
		return false
	}
	if t.Open || t.Elem.hasOpen() || t.Additional.hasOpen() {
		return true
	}
	for _, one := range t.Tuple {
		if one.hasOpen() {
			return true
		}
	}
	for _, one := range t.Alternatives {
		if one.hasOpen() {
			return true
		}
	}
	for _, field := range t.Fields {
		if field.Type.hasOpen() {
			return true
		}
	}
	return false
}
