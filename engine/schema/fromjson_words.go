package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"slices"

	"github.com/flowrun/flowrun/engine/duration"
)

func (r *reader) readParts(t *Type, o *ordered) error {
	switch t.Kind {
	case List:
		raw, ok := o.values["items"]
		if !ok {
			return nil
		}
		elem, err := r.raw(raw)
		if err != nil {
			return fmt.Errorf("items: %w", err)
		}
		t.Elem = elem
	case Object:
		return r.readObject(t, o)
	}
	return nil
}

func (r *reader) readObject(t *Type, o *ordered) error {
	if t.Blob {
		return nil // its fields are fixed
	}
	var required []string
	if raw, ok := o.values["required"]; ok {
		if err := json.Unmarshal(raw, &required); err != nil {
			return fmt.Errorf("required: %w", err)
		}
	}
	raw, declared := o.values["properties"]
	if declared {
		properties, err := cutOrdered(raw)
		if err != nil {
			return fmt.Errorf("properties: %w", err)
		}
		for _, name := range properties.names {
			part, err := r.raw(properties.values[name])
			if err != nil {
				return fmt.Errorf("property %s: %w", name, err)
			}
			t.Fields = append(t.Fields, Field{Name: name, Type: part, Required: slices.Contains(required, name)})
		}
	}
	for _, name := range required {
		if t.fieldIndex(name) < 0 {
			t.Fields = append(t.Fields, Field{Name: name, Type: &Type{}, Required: true})
		}
	}
	return r.readAdditional(t, o, declared)
}

func (r *reader) readAdditional(t *Type, o *ordered, declared bool) error {
	raw, ok := o.values["additionalProperties"]
	_, patterns := o.values["patternProperties"]
	switch text := string(bytes.TrimSpace(raw)); {
	case !ok && declared, text == "false":
		t.Open = !ok || patterns // names by pattern are not read
		return nil
	case !ok, text == "true":
		t.Additional = &Type{}
		return nil
	}
	additional, err := r.raw(raw)
	if err != nil {
		return fmt.Errorf("additionalProperties: %w", err)
	}
	t.Additional = additional
	return nil
}

func (r *reader) readBounds(t *Type, o *ordered) error {
	if t.Alternatives != nil {
		return nil // each has its own
	}
	for _, word := range []struct {
		name string
		into **float64
	}{{"minimum", &t.Min}, {"maximum", &t.Max}} {
		if raw, ok := o.values[word.name]; ok {
			if err := json.Unmarshal(raw, word.into); err != nil {
				return fmt.Errorf("%s: %w", word.name, err)
			}
		}
	}
	if err := r.readExclusive(t, o); err != nil {
		return err
	}
	low, high := "minLength", "maxLength"
	if t.Kind == List {
		low, high = "minItems", "maxItems"
	}
	for name, into := range map[string]**int{low: &t.MinLength, high: &t.MaxLength} {
		if raw, ok := o.values[name]; ok {
			if err := json.Unmarshal(raw, into); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return r.readPattern(t, o)
}

// readExclusive turns an exclusive bound into the next inclusive one.
func (r *reader) readExclusive(t *Type, o *ordered) error {
	for word, toward := range map[string]float64{"exclusiveMinimum": math.Inf(1), "exclusiveMaximum": math.Inf(-1)} {
		raw, ok := o.values[word]
		if !ok {
			continue
		}
		var bound float64
		if err := json.Unmarshal(raw, &bound); err != nil {
			return fmt.Errorf("%s: %w", word, err)
		}
		next := math.Nextafter(bound, toward)
		if t.Kind == Int && toward > 0 {
			next = math.Floor(bound) + 1
		} else if t.Kind == Int {
			next = math.Ceil(bound) - 1
		}
		if toward > 0 && (t.Min == nil || *t.Min < next) {
			t.Min = &next
		} else if toward < 0 && (t.Max == nil || *t.Max > next) {
			t.Max = &next
		}
	}
	return nil
}

func (r *reader) readPattern(t *Type, o *ordered) error {
	raw, ok := o.values["pattern"]
	if !ok || t.Kind != String {
		return nil
	}
	if err := json.Unmarshal(raw, &t.Pattern); err != nil {
		return fmt.Errorf("pattern: %w", err)
	}
	compiled, err := regexp.Compile(t.Pattern)
	if err != nil {
		return fmt.Errorf("pattern %s: %w", duration.Quote(t.Pattern), err)
	}
	t.compiled = compiled
	return nil
}

// readEnum comes last: its values are read as the type says, and without a type
// they say the type.
func (r *reader) readEnum(t *Type, o *ordered) error {
	var values []json.RawMessage
	if raw, ok := o.values["const"]; ok {
		values = []json.RawMessage{raw}
	} else if raw, ok := o.values["enum"]; ok {
		if err := json.Unmarshal(raw, &values); err != nil {
			return fmt.Errorf("enum: %w", err)
		}
	} else {
		return nil
	}
	if t.Alternatives != nil {
		return t.enumOfSeveral(values)
	}
	if t.Kind == Any {
		t.Kind = commonKind(values)
	}
	if t.Blob {
		return fmt.Errorf("%s: a large value has no enum", blobWord)
	}
	plain := Type{Kind: t.Kind, Nullable: true}
	if t.Kind == List || t.Kind == Object {
		plain = Type{}
	}
	enum := make([]any, 0, len(values))
	for _, raw := range values {
		value, err := plain.Decode(raw)
		if err != nil {
			return fmt.Errorf("enum: %w", err)
		}
		if value == nil {
			t.Nullable = t.Nullable || t.Kind != Null && t.Kind != Any
			continue
		}
		enum = append(enum, value)
	}
	t.Enum = enum
	return nil
}

// commonKind returns the kind that all values have, nulls aside, else Any.
func commonKind(values []json.RawMessage) Kind {
	kind := Any
	for _, raw := range values {
		value, err := (&Type{}).Decode(raw)
		if err != nil {
			return Any
		}
		switch own := KindOf(value); {
		case own == Null:
		case kind == Any:
			kind = own
		case kind != own:
			return Any
		}
	}
	return kind
}
