package sdk

import (
	"encoding"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"
)

// objectMode says how structs become objects.
type objectMode int

const (
	closedObjects objectMode = iota // inputs and configs: no other names, defaults make optional
	openObjects                     // outputs: unknown names are kept, what is not omitted is there
	answerObjects                   // answers of services: unknown names are kept, defaults make optional
)

var (
	timeType        = reflect.TypeFor[time.Time]()
	durationType    = reflect.TypeFor[time.Duration]()
	blobType        = reflect.TypeFor[Blob]()
	objectType      = reflect.TypeFor[Object]()
	rawType         = reflect.TypeFor[json.RawMessage]()
	numberType      = reflect.TypeFor[json.Number]()
	marshalerType   = reflect.TypeFor[json.Marshaler]()
	unmarshalerType = reflect.TypeFor[json.Unmarshaler]()
	textType        = reflect.TypeFor[encoding.TextMarshaler]()
)

// schemaFor takes the author's own schema, or reads the type's.
func schemaFor(raw json.RawMessage, t reflect.Type, mode objectMode) (*schema, error) {
	if raw != nil {
		return parseSchema(raw)
	}
	return reflectSchema(t, mode)
}

// reflectSchema reads a type's schema from its struct tags.
func reflectSchema(t reflect.Type, mode objectMode) (*schema, error) {
	r := reflector{mode: mode}
	return r.typeSchema(t, true)
}

type reflector struct {
	mode objectMode
	open []reflect.Type // structs that are being read, to end recursion
}

// typeSchema reads one type. fillable says that a default below can be filled
// in by decoding over a prepared value: not inside lists, maps and pointers.
func (r *reflector) typeSchema(t reflect.Type, fillable bool) (*schema, error) {
	if s, err := specialSchema(t); s != nil || err != nil {
		return s, err
	}
	switch t.Kind() {
	case reflect.Pointer:
		s, err := r.typeSchema(t.Elem(), false)
		if err != nil {
			return nil, err
		}
		return s.orNull(), nil
	case reflect.Slice, reflect.Array:
		items, err := r.typeSchema(t.Elem(), false)
		if err != nil {
			return nil, err
		}
		return &schema{types: []string{"array"}, items: items}, nil
	case reflect.Map:
		return r.mapSchema(t)
	case reflect.Struct:
		return r.structSchema(t, fillable)
	}
	return scalarSchema(t)
}

func specialSchema(t reflect.Type) (*schema, error) {
	switch t {
	case timeType:
		return &schema{types: []string{"string"}, keywords: keywords{Format: "date-time"}}, nil
	case rawType:
		return &schema{}, nil
	case blobType:
		return &schema{types: []string{"object"}, keywords: keywords{Blob: true}}, nil
	case objectType:
		return &schema{types: []string{"object"}}, nil
	case numberType:
		return &schema{types: []string{"number"}}, nil
	case durationType:
		return nil, fmt.Errorf("time.Duration has no JSON form: take a string or a number of seconds")
	}
	switch {
	case t.Kind() == reflect.Interface:
		return &schema{}, nil
	case t.Kind() == reflect.Pointer:
		return nil, nil
	case implements(t, marshalerType) || implements(t, unmarshalerType):
		return &schema{}, nil
	case implements(t, textType):
		return &schema{types: []string{"string"}}, nil
	case t.Kind() == reflect.Slice && t.Elem().Kind() == reflect.Uint8:
		return &schema{types: []string{"string"}, keywords: keywords{Encoding: "base64"}}, nil
	}
	return nil, nil
}

func implements(t, what reflect.Type) bool {
	return t.Implements(what) || reflect.PointerTo(t).Implements(what)
}

func scalarSchema(t reflect.Type) (*schema, error) {
	switch t.Kind() {
	case reflect.String:
		return &schema{types: []string{"string"}}, nil
	case reflect.Bool:
		return &schema{types: []string{"boolean"}}, nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		return &schema{types: []string{"integer"}}, nil
	case reflect.Uint, reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return &schema{types: []string{"integer"}, keywords: keywords{Minimum: "0"}}, nil
	case reflect.Float32, reflect.Float64:
		return &schema{types: []string{"number"}}, nil
	}
	return nil, fmt.Errorf("%s has no JSON form", t)
}

func (r *reflector) mapSchema(t reflect.Type) (*schema, error) {
	if t.Key().Kind() != reflect.String {
		return nil, fmt.Errorf("%s: the keys of a map must be strings", t)
	}
	additional, err := r.typeSchema(t.Elem(), false)
	if err != nil {
		return nil, err
	}
	s := &schema{types: []string{"object"}}
	if len(additional.types) > 0 {
		s.additional = additional
	} else {
		s.additional = &schema{} // said aloud: any name, any value
	}
	return s, nil
}

func (r *reflector) structSchema(t reflect.Type, fillable bool) (*schema, error) {
	if slices.Contains(r.open, t) {
		return &schema{}, nil // a type inside itself: any value from here on
	}
	r.open = append(r.open, t)
	defer func() { r.open = r.open[:len(r.open)-1] }()
	s := &schema{types: []string{"object"}, closed: r.mode == closedObjects}
	if err := r.addFields(s, t, fillable); err != nil {
		return nil, err
	}
	return s, nil
}

func (r *reflector) addFields(s *schema, t reflect.Type, fillable bool) error {
	for i := range t.NumField() {
		field := t.Field(i)
		name, flags, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" && flags == "" {
			continue
		}
		if field.Anonymous && name == "" {
			if field.Type.Kind() != reflect.Struct {
				return fmt.Errorf("field %s: embed a struct, not %s", field.Name, field.Type)
			}
			if err := r.addFields(s, field.Type, fillable); err != nil {
				return err
			}
			continue
		}
		if !field.IsExported() {
			continue
		}
		if name == "" {
			name = field.Name
		}
		if s.property(name) != nil {
			return fmt.Errorf("field %s: the name %q is used twice", field.Name, name)
		}
		p, err := r.fieldProperty(field, name, flags, fillable)
		if err != nil {
			return fmt.Errorf("field %s: %w", field.Name, err)
		}
		s.properties = append(s.properties, p)
	}
	return nil
}

func (r *reflector) fieldProperty(field reflect.StructField, name, flags string, fillable bool) (property, error) {
	options := strings.Split(flags, ",")
	if slices.Contains(options, "string") {
		return property{}, fmt.Errorf("the json option `string` is not supported")
	}
	optional := slices.Contains(options, "omitempty") || slices.Contains(options, "omitzero")
	if r.mode == closedObjects {
		optional = optional || field.Type.Kind() == reflect.Pointer
	}
	s, err := r.typeSchema(field.Type, fillable && !optional && field.Type.Kind() == reflect.Struct)
	if err != nil {
		return property{}, err
	}
	if optional {
		s = s.orNull()
	}
	s, err = applyTags(s, field.Tag)
	if err != nil {
		return property{}, err
	}
	if s.Default != nil {
		if r.mode == closedObjects && !fillable {
			return property{}, fmt.Errorf("a default inside a list, a map or a pointer is not filled in")
		}
		if field.Type.Kind() == reflect.Map {
			return property{}, fmt.Errorf("a map has no default")
		}
	}
	return property{name: name, schema: s, required: !optional && (s.Default == nil || r.mode == openObjects)}, nil
}

// orNull returns the schema with null allowed too.
func (s *schema) orNull() *schema {
	if s.nullable() {
		return s
	}
	changed := *s
	changed.types = append(append([]string{}, s.types...), "null")
	return &changed
}
