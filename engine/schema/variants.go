package schema

import (
	"maps"
	"slices"
)

// maxVariants bounds the objects that are told apart; of more of them only what they have
// in common is known.
const maxVariants = 64

// withVariants returns the type of a union, which is what its choices have in common, with
// those of them that are objects kept apart.
func (t *Type) withVariants(choices []*Type) *Type {
	var variants []*Type
	for _, choice := range choices {
		one := choice.Shaped(Object)
		switch {
		case one.Kind != Object:
		case one.Variants != nil:
			variants = append(variants, one.Variants...)
		default:
			variants = append(variants, NonNull(one))
		}
	}
	if t.Blob || len(variants) < 2 || len(variants) > maxVariants {
		return t
	}
	return t.withObject(func(object *Type) { object.Variants = variants })
}

// withObject returns t with its object changed: t itself, or the one of its alternatives.
func (t *Type) withObject(change func(object *Type)) *Type {
	own := *t
	if own.Kind == Object {
		change(&own)
		return &own
	}
	for i, one := range own.Alternatives {
		if one.Kind == Object {
			object := *one
			change(&object)
			own.Alternatives = slices.Clone(own.Alternatives)
			own.Alternatives[i] = &object
			return &own
		}
	}
	return t
}

// variantsOfBoth are the variants of objects that have two types at once, where one of
// them has some.
func variantsOfBoth(a, b *Type) []*Type {
	if (a.Variants == nil) == (b.Variants == nil) {
		return nil // of both: what is common to each pair is not told apart
	}
	var all []*Type
	for _, one := range a.Variants {
		if !conflict(one, b) {
			all = append(all, both(one, b))
		}
	}
	for _, one := range b.Variants {
		if !conflict(a, one) {
			all = append(all, both(a, one))
		}
	}
	return all
}

// conflict reports whether it is certain that no value has both types.
func conflict(a, b *Type) bool {
	if !a.Known() || !b.Known() || a.MayBeNull() && b.MayBeNull() {
		return false
	}
	for _, one := range a.Each() {
		for _, other := range b.Each() {
			if compatible(one, other) && !partsConflict(one, other) {
				return false
			}
		}
	}
	return true
}

func partsConflict(a, b *Type) bool {
	if a.Enum != nil && b.Enum != nil && a.Kind == b.Kind {
		return !slices.ContainsFunc(a.Enum, func(v any) bool {
			return slices.ContainsFunc(b.Enum, func(other any) bool { return sameScalar(v, other) })
		})
	}
	return slices.ContainsFunc(a.Fields, func(field Field) bool {
		i := b.fieldIndex(field.Name)
		return i >= 0 && (field.Required || b.Fields[i].Required) && conflict(field.Type, b.Fields[i].Type)
	})
}

// Tagged returns the type of the values of t whose field has one of these texts, or none
// of them where is is false: of an object with Variants those that are left, of another
// type t itself.
func (t *Type) Tagged(field string, texts []string, is bool) *Type {
	object := t.Shaped(Object)
	if object.Variants == nil {
		return t
	}
	kept := slices.DeleteFunc(slices.Clone(object.Variants), func(one *Type) bool { return !one.mayHave(field, texts, is) })
	if len(kept) == 0 || len(kept) == len(object.Variants) {
		return t // no value is left, or nothing is known by it
	}
	narrow := kept[0]
	for _, one := range kept[1:] {
		narrow = Join(narrow, one)
	}
	if len(kept) > 1 {
		own := *narrow
		own.Variants = kept
		narrow = &own
	}
	return t.withObject(func(object *Type) {
		nullable, doc := object.Nullable, object.Doc
		*object = *narrow
		object.Nullable, object.Doc = nullable, doc
	})
}

// TagsBy reports whether a field tells the variants apart by a few texts each: all of
// those that declare it say which texts they take.
func (t *Type) TagsBy(field string) bool {
	return t.Variants != nil && !slices.ContainsFunc(t.Variants, func(one *Type) bool {
		i := one.fieldIndex(field)
		return i >= 0 && (one.Fields[i].Type.Kind != String || one.Fields[i].Type.Enum == nil)
	})
}

// mayHave reports whether a field of an object can have one of the texts, or something
// else than all of them.
func (t *Type) mayHave(field string, texts []string, is bool) bool {
	i := t.fieldIndex(field)
	if i < 0 {
		return !is || t.Open || t.Additional != nil
	}
	tag := t.Fields[i]
	values := tag.Type.Enum
	if tag.Type.Kind != String || values == nil {
		return !is || !tag.Type.Known() || slices.ContainsFunc(tag.Type.Each(), func(one *Type) bool { return one.Kind == String })
	}
	if !is {
		return !tag.Required || tag.Type.Nullable || slices.ContainsFunc(values, func(v any) bool { return !isOneOf(v, texts) })
	}
	return slices.ContainsFunc(values, func(v any) bool { return isOneOf(v, texts) })
}

func isOneOf(v any, texts []string) bool {
	text, ok := v.(string)
	return ok && slices.Contains(texts, text)
}

// OfKinds returns the type of the values of t whose kind is one of those that has returns
// true for. Of a value of which nothing is known, text, booleans, lists and objects are
// known then.
func (t *Type) OfKinds(has func(Kind) bool) *Type {
	if t.Kind == Null {
		return t
	}
	if !t.Known() {
		return unknownOfKinds(t, has)
	}
	nullable := t.Nullable && has(Null)
	kept := slices.DeleteFunc(slices.Clone(t.Each()), func(one *Type) bool {
		return !has(one.Kind) && !(one.Kind == Number && has(Int)) // a whole number may stand where a number is said
	})
	switch {
	case len(kept) == 0:
		return t // no value is left
	case len(kept) == 1:
		one := *kept[0]
		one.Nullable = nullable
		return &one
	}
	own := *t
	own.Alternatives, own.Nullable = kept, nullable
	return &own
}

func unknownOfKinds(t *Type, has func(Kind) bool) *Type {
	if t.Secret {
		return t
	}
	var only []Kind
	for kind := Null; kind <= Object; kind++ {
		if has(kind) {
			only = append(only, kind)
		}
	}
	if len(only) != 1 {
		return t
	}
	switch only[0] {
	case Bool, String, List:
		return Of(only[0])
	case Object:
		return MapOf(nil)
	}
	return t
}

// variant takes an object as the first variant that takes it: its parts become what that
// one says. What all have in common is checked first, and what is wrong is told of it, else
// of the variant whose tags the object has.
func (c *coercion) variant(t *Type, object map[string]any) (any, bool, error) {
	trial := func() (*coercion, map[string]any) {
		own := &coercion{exact: c.exact, json: c.json, clear: c.clear, trim: c.trim, inSecret: c.inSecret, path: slices.Clone(c.path)}
		if !c.trim {
			return own, object
		}
		return own, deepClone(object).(map[string]any) // it leaves out in place what one variant excludes and another may not
	}
	common, value := trial()
	if _, _, err := common.fields(t, value); err != nil {
		return nil, false, err
	}
	var told error
	toldTagged := false
	for _, one := range t.Variants {
		own, value := trial()
		taken, changed, err := any(nil), false, own.foreign(t, one, object)
		if err == nil {
			taken, changed, err = own.fields(one, value)
		}
		if err == nil {
			return taken, changed || c.trim, nil
		}
		if tagged := one.tags(object); told == nil || tagged && !toldTagged {
			told, toldTagged = err, tagged
		}
	}
	if !toldTagged {
		told = mismatchf(c.path, "it is none of the %d objects that are allowed here; of the first: %s", len(t.Variants), told.Error())
	}
	return nil, false, told
}

// foreign is wrong with an object that has a name which this variant excludes and another
// has: it is left out of no answer, since it says that the object is another one.
func (c *coercion) foreign(t, variant *Type, object map[string]any) error {
	for _, name := range slices.Sorted(maps.Keys(object)) {
		if variant.excludes(name) && !t.excludes(name) {
			return mismatchf(c.path, "field `%s` is not one of this object", name)
		}
	}
	return nil
}

// tags reports whether an object has a text of each field of the variant that has a few
// texts alone, and there is such a field.
func (t *Type) tags(object map[string]any) bool {
	some := false
	for _, field := range t.Fields {
		if field.Type.Kind != String || field.Type.Enum == nil || !field.Required {
			continue
		}
		if !slices.ContainsFunc(field.Type.Enum, func(v any) bool { return v == object[field.Name] }) {
			return false
		}
		some = true
	}
	return some
}

// deepClone copies what trimming changes.
func deepClone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		own := maps.Clone(v)
		for name, part := range own {
			own[name] = deepClone(part)
		}
		return own
	case []any:
		own := make([]any, len(v))
		for i, part := range v {
			own[i] = deepClone(part)
		}
		return own
	}
	return v
}
