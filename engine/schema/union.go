package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// readSeveral reads `type` with several names: each is an alternative with the words that
// are about it. One that is secret as a whole, or has a secret part, is any value.
func (r *reader) readSeveral(t *Type, o *ordered, kinds []Kind) error {
	if t.Secret {
		return nil
	}
	for _, kind := range kinds {
		if err := r.count(1, 1); err != nil {
			return err
		}
		one := &Type{Kind: kind}
		switch kind {
		case String:
			one.Kind = formatKind(o)
		case Object:
			if err := r.readBlob(one, o); err != nil {
				return err
			}
		}
		if err := r.readParts(one, o); err != nil {
			return err
		}
		if err := r.readBounds(one, o); err != nil {
			return err
		}
		one.indexFields()
		t.Alternatives = append(t.Alternatives, one)
	}
	if t.HasSecret() {
		t.Alternatives = nil
	}
	return nil
}

// enumOfSeveral gives each alternative its values of an enum; those without one are none.
func (t *Type) enumOfSeveral(values []json.RawMessage) error {
	enums := make([][]any, len(t.Alternatives))
	for _, raw := range values {
		if string(bytes.TrimSpace(raw)) == "null" {
			t.Nullable = true
			continue
		}
		i, value := t.alternativeOf(raw)
		if i < 0 {
			return fmt.Errorf("enum: %s is none of %s", raw, t.Article())
		}
		enums[i] = append(enums[i], value)
	}
	var left []*Type
	for i, one := range t.Alternatives {
		if enums[i] != nil {
			narrow := *one
			narrow.Enum = enums[i]
			left = append(left, &narrow)
		}
	}
	t.become(left)
	return nil
}

// alternativeOf is the first alternative whose kind a value has, and the value.
func (t *Type) alternativeOf(raw json.RawMessage) (int, any) {
	for i, one := range t.Alternatives {
		plain := Of(one.Kind)
		if one.Kind == List || one.Kind == Object {
			plain = Of(Any)
		}
		if value, err := plain.Decode(raw); err == nil && (plain.Kind != Any || KindOf(value) == one.Kind) {
			return i, value
		}
	}
	return -1, nil
}

// become makes t the type of one of several types, with its own words.
func (t *Type) become(of []*Type) {
	if len(of) != 1 {
		t.Alternatives = of
		return
	}
	one := *of[0]
	one.Nullable = one.Nullable || t.Nullable
	one.Secret, one.Expected, one.Doc, one.Default = t.Secret, t.Expected, t.Doc, t.Default
	*t = one
}

// readUnion reads anyOf or oneOf: what the choices have in common, with those of several
// kinds as alternatives. It is any value where one of them is, or where one has a secret.
func (r *reader) readUnion(word string, raw json.RawMessage) (*Type, error) {
	var choices []json.RawMessage
	if err := json.Unmarshal(raw, &choices); err != nil {
		return nil, fmt.Errorf("%s: %w", word, err)
	}
	var all []*Type
	nullable := false
	for _, choice := range choices {
		one, err := r.raw(choice)
		if err != nil {
			return nil, err
		}
		if one.Kind == Null {
			nullable = true
			continue
		}
		all = append(all, one)
	}
	if len(all) == 0 {
		return &Type{}, nil
	}
	union := all[0]
	for _, one := range all[1:] {
		if !union.Known() || !one.Known() || union.HasSecret() || one.HasSecret() {
			return &Type{}, nil
		}
		union = Join(union, one)
	}
	if union = union.withVariants(all); nullable && union.Known() {
		return Nullable(union), nil
	}
	return union, nil
}

// readAll narrows a type by what allOf says besides.
func (r *reader) readAll(t *Type, raw json.RawMessage) (*Type, error) {
	var parts []json.RawMessage
	if err := json.Unmarshal(raw, &parts); err != nil {
		return nil, fmt.Errorf("allOf: %w", err)
	}
	var bare []*ordered // that name required fields alone
	for _, part := range parts {
		o, err := parseSchema(part)
		if err != nil {
			return nil, err
		}
		one, err := r.read(o)
		if err != nil {
			return nil, err
		}
		if _, ok := o.values["required"]; ok && !one.Known() {
			bare = append(bare, o)
		}
		t = both(t, one)
	}
	for _, o := range bare {
		if t.Kind != Object {
			break
		}
		required := &Type{Kind: Object}
		if err := r.readObject(required, o); err != nil {
			return nil, err
		}
		t = both(t, required)
	}
	return t, nil
}
