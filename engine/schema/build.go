package schema

import (
	"bytes"
	"reflect"
	"slices"
)

// indexFrom is the number of fields from which an object carries an index.
const indexFrom = 16

// Of returns the bare type of a kind.
func Of(kind Kind) *Type { return &Type{Kind: kind} }

// ListOf returns the type of lists of elem; a nil elem means any value.
func ListOf(elem *Type) *Type { return &Type{Kind: List, Elem: elem} }

// TupleOf returns the type of lists with exactly these types by place.
func TupleOf(places ...*Type) *Type {
	if len(places) == 0 {
		return EmptyList()
	}
	elem := places[0]
	for _, place := range places[1:] {
		elem = Join(elem, place)
	}
	return &Type{Kind: List, Elem: elem, Tuple: places}
}

// Least returns how many elements a list has at least, as far as its type says.
func (t *Type) Least() int {
	switch {
	case t.Tuple != nil:
		return len(t.Tuple)
	case t.MinLength != nil && t.Kind == List:
		return *t.MinLength
	}
	return 0
}

// AtLeast returns the type of the lists of t with n elements or more.
func AtLeast(t *Type, n int) *Type {
	if t.Least() >= n {
		return t
	}
	long := *t
	long.MinLength = &n
	return &long
}

// AlwaysEmpty reports whether the type is that of the list without elements.
func (t *Type) AlwaysEmpty() bool { return t.Kind == List && t.MaxLength != nil && *t.MaxLength == 0 }

// MapOf returns the type of objects with any names whose values are of elem; a
// nil elem means any value.
func MapOf(elem *Type) *Type {
	if elem == nil {
		elem = Of(Any)
	}
	return &Type{Kind: Object, Additional: elem}
}

// ObjectOf returns the type of objects with exactly these fields.
func ObjectOf(fields ...Field) *Type {
	t := &Type{Kind: Object, Fields: fields}
	t.indexFields()
	return t
}

// SecretText returns the type of a secret reference.
func SecretText() *Type { return &Type{Kind: String, Secret: true} }

// EnumOf returns the type of texts out of values.
func EnumOf(values ...string) *Type {
	t := &Type{Kind: String}
	for _, value := range values {
		t.Enum = append(t.Enum, value)
	}
	return t
}

// Required returns a field that is always there.
func Required(name string, t *Type) Field { return Field{Name: name, Type: t, Required: true} }

// Optional returns a field that may be missing.
func Optional(name string, t *Type) Field { return Field{Name: name, Type: t} }

// Nullable returns t with null as one more value. Any and null stay as they
// are: null is a value of them already.
func Nullable(t *Type) *Type {
	if t.AcceptsNull() {
		return t
	}
	wide := *t
	wide.Nullable = true
	return &wide
}

// NonNull returns t without null. What is left of the type null is Any.
func NonNull(t *Type) *Type {
	switch {
	case t.Kind == Null:
		return Of(Any)
	case t == beyondOrNull:
		return beyond
	case !t.Nullable:
		return t
	}
	narrow := *t
	narrow.Nullable = false
	return &narrow
}

// AcceptsNull reports whether null is a value of t.
func (t *Type) AcceptsNull() bool { return t.Nullable || !t.Known() || t.Kind == Null }

// MayBeNull reports whether a value of t is known to be null at times. Any is
// not: nothing is known of it.
func (t *Type) MayBeNull() bool { return t.Nullable || t.Kind == Null }

// Element returns the type of a list's elements; any where nothing is known of them.
func (t *Type) Element() *Type {
	if t == nil || t.Elem == nil {
		return Of(Any)
	}
	return t.Elem
}

// Field returns the type that reading the name gives: a field that may be
// missing reads as nullable, and so does a name beyond the fields of an object
// that allows such names. False means that the object has no such name; nil has none.
func (t *Type) Field(name string) (*Type, bool) {
	if t == nil {
		return nil, false
	}
	if i := t.fieldIndex(name); i >= 0 {
		field := t.Fields[i]
		if field.Required || field.Type.Secret {
			return field.Type, true
		}
		return Nullable(field.Type), true
	}
	switch {
	case t.Additional == nil:
		return nil, false
	case t.Additional.Secret:
		return t.Additional, true
	}
	return Nullable(t.Additional), true
}

// WithField returns the object type with a field in the place of the one of that
// name, or as one more.
func (t *Type) WithField(field Field) *Type {
	wide := *t
	wide.Fields, wide.Variants, wide.Blob = slices.Clone(t.Fields), nil, false
	if i := t.fieldIndex(field.Name); i >= 0 {
		wide.Fields[i] = field
	} else {
		wide.Fields, wide.index = append(wide.Fields, field), nil
		wide.indexFields()
	}
	return &wide
}

// FieldNames returns the names of the declared fields in the schema's order.
func (t *Type) FieldNames() []string {
	names := make([]string, len(t.Fields))
	for i, field := range t.Fields {
		names[i] = field.Name
	}
	return names
}

// WithoutSecrets returns an equal type whose secret fields take clear values: for a
// caller that supplies them itself, such as `flowrun call`.
func (t *Type) WithoutSecrets() *Type {
	clear := *t
	clear.Secret = false
	if t.Elem != nil {
		clear.Elem = t.Elem.WithoutSecrets()
	}
	if t.Additional != nil {
		clear.Additional = t.Additional.WithoutSecrets()
	}
	clear.Fields = slices.Clone(t.Fields)
	for i := range clear.Fields {
		clear.Fields[i].Type = clear.Fields[i].Type.WithoutSecrets()
	}
	clear.Variants = slices.Clone(t.Variants)
	for i, one := range clear.Variants {
		clear.Variants[i] = one.WithoutSecrets()
	}
	return &clear
}

// HasSecret reports whether t is secret or has a secret part.
func (t *Type) HasSecret() bool {
	if t.Secret || t.Elem != nil && t.Elem.HasSecret() || t.Additional != nil && t.Additional.HasSecret() {
		return true
	}
	return slices.ContainsFunc(t.Fields, func(f Field) bool { return f.Type.HasSecret() }) ||
		slices.ContainsFunc(t.Alternatives, (*Type).HasSecret)
}

// Equal reports whether two types are the same in all that they say.
func (t *Type) Equal(other *Type) bool {
	if t == other {
		return true
	}
	if t == nil || other == nil {
		return false
	}
	same := t.Kind == other.Kind && t.Blob == other.Blob && t.Nullable == other.Nullable && t.Secret == other.Secret && t.Open == other.Open && t.Doc == other.Doc &&
		t.Pattern == other.Pattern && bytes.Equal(t.Default, other.Default) && reflect.DeepEqual(t.Enum, other.Enum) &&
		samePointed(t.Min, other.Min) && samePointed(t.Max, other.Max) &&
		samePointed(t.MinLength, other.MinLength) && samePointed(t.MaxLength, other.MaxLength)
	same = same && slices.EqualFunc(t.Variants, other.Variants, (*Type).Equal)
	same = same && slices.EqualFunc(t.Alternatives, other.Alternatives, (*Type).Equal) && slices.EqualFunc(t.Tuple, other.Tuple, (*Type).Equal)
	return same && t.Elem.Equal(other.Elem) && t.Additional.Equal(other.Additional) &&
		slices.EqualFunc(t.Fields, other.Fields, func(a, b Field) bool {
			return a.Name == b.Name && a.Required == b.Required && a.Type.Equal(b.Type)
		})
}

func samePointed[T comparable](a, b *T) bool {
	if a == nil || b == nil {
		return a == b
	}
	return *a == *b
}

func (t *Type) fieldIndex(name string) int {
	if t.index != nil {
		if i, ok := t.index[name]; ok {
			return i
		}
		return -1
	}
	return slices.IndexFunc(t.Fields, func(f Field) bool { return f.Name == name })
}

// indexFields must be called once Fields are final and before t is shared.
func (t *Type) indexFields() {
	if len(t.Fields) < indexFrom {
		return
	}
	t.index = make(map[string]int, len(t.Fields))
	for i, field := range t.Fields {
		t.index[field.Name] = i
	}
}
