package sdk

import (
	"encoding/json"
	"reflect"
)

// maxFillVisits ends the walk over an output that points at itself; encoding
// it fails then with an error of its own.
const maxFillVisits = 1 << 20

// encodeOutput encodes what an action returned (a pointer to it). Lists and
// maps that were never made become [] and {}: their schema does not take null.
// Documents of any type are passed on with their numbers as written.
func encodeOutput(output any) (json.RawMessage, error) {
	value := reflect.ValueOf(output).Elem()
	if value.Type() == rawType && value.Len() == 0 {
		return json.RawMessage("null"), nil
	}
	f := filler{left: maxFillVisits}
	f.fill(value)
	return marshalJSON(output)
}

// filler makes what is nil empty. It writes only into memory of its own: an
// author may return a value that other calls read at the same time, so lists
// and pointers are copied before anything in them changes.
type filler struct{ left int }

func (f *filler) fill(v reflect.Value) {
	if f.left--; f.left < 0 || !v.CanSet() || implements(v.Type(), marshalerType) {
		return
	}
	switch v.Kind() {
	case reflect.Slice:
		f.fillSlice(v)
	case reflect.Map:
		if v.IsNil() {
			v.Set(reflect.MakeMap(v.Type()))
		}
	case reflect.Array:
		for i := range v.Len() {
			f.fill(v.Index(i))
		}
	case reflect.Pointer:
		if !v.IsNil() {
			own := reflect.New(v.Type().Elem())
			own.Elem().Set(v.Elem())
			f.fill(own.Elem())
			v.Set(own)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f.fillField(v, i)
		}
	}
}

// fillField goes into embedded structs too, whose exported fields can be set
// even where the struct itself cannot.
func (f *filler) fillField(v reflect.Value, i int) {
	field := v.Type().Field(i)
	if field.Anonymous && !field.IsExported() && field.Type.Kind() == reflect.Struct {
		for j := range field.Type.NumField() {
			f.fillField(v.Field(i), j)
		}
		return
	}
	f.fill(v.Field(i))
}

func (f *filler) fillSlice(v reflect.Value) {
	elem := v.Type().Elem().Kind()
	if elem == reflect.Uint8 {
		return // bytes and raw JSON
	}
	if v.IsNil() {
		v.Set(reflect.MakeSlice(v.Type(), 0, 0))
		return
	}
	switch elem {
	case reflect.Struct, reflect.Slice, reflect.Map, reflect.Pointer, reflect.Array:
		own := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
		reflect.Copy(own, v)
		for i := range own.Len() {
			f.fill(own.Index(i))
		}
		v.Set(own)
	}
}

// sensitivePointers returns the JSON Pointers of secret fields that have a
// value in the document.
func sensitivePointers(s *schema, raw []byte) []string {
	var pointers []string
	s.secretsIn(raw, func(pointer string, _ any) { pointers = append(pointers, pointer) })
	return pointers
}
