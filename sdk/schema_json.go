package sdk

import (
	"bytes"
	"encoding/json"
)

// JSON returns the schema as deterministic bytes: properties stand in the
// order of the struct, so that docs and forms show them so.
func (s *schema) JSON() json.RawMessage {
	var w objectWriter
	s.writeType(&w)
	if s.doc != "" {
		w.member("description", encoded(s.doc))
	}
	s.writeLimits(&w)
	if s.fallback != nil {
		w.member("default", s.fallback)
	}
	if s.secret {
		w.member("writeOnly", []byte("true"))
	}
	if s.example != nil {
		w.member("examples", append(append([]byte{'['}, s.example...), ']'))
	}
	if s.items != nil {
		w.member("items", s.items.JSON())
	}
	s.writeMembers(&w)
	return w.close()
}

func (s *schema) writeType(w *objectWriter) {
	switch len(s.types) {
	case 0:
	case 1:
		w.member("type", encoded(s.types[0]))
	default:
		w.member("type", encoded(s.types))
	}
	if s.format != "" {
		w.member("format", encoded(s.format))
	}
	if s.encoding != "" {
		w.member("contentEncoding", encoded(s.encoding))
	}
	if len(s.enum) > 0 {
		w.member("enum", encoded(s.enum))
	}
}

func (s *schema) writeLimits(w *objectWriter) {
	if s.pattern != nil {
		w.member("pattern", encoded(s.pattern.String()))
	}
	if s.minimum != "" {
		w.member("minimum", []byte(s.minimum))
	}
	if s.maximum != "" {
		w.member("maximum", []byte(s.maximum))
	}
	for _, limit := range []struct {
		word  string
		value *int
	}{{"minLength", s.minLength}, {"maxLength", s.maxLength}, {"minItems", s.minItems}, {"maxItems", s.maxItems}} {
		if limit.value != nil {
			w.member(limit.word, encoded(*limit.value))
		}
	}
}

func (s *schema) writeMembers(w *objectWriter) {
	var required []string
	if len(s.properties) > 0 {
		var properties objectWriter
		for _, p := range s.properties {
			properties.member(p.name, p.schema.JSON())
			if p.required {
				required = append(required, p.name)
			}
		}
		w.member("properties", properties.close())
	}
	if len(required) > 0 {
		w.member("required", encoded(required))
	}
	switch {
	case s.closed:
		w.member("additionalProperties", []byte("false"))
	case s.additional != nil:
		w.member("additionalProperties", s.additional.JSON())
	}
}

// objectWriter writes a JSON object whose members keep their order.
type objectWriter struct{ buffer bytes.Buffer }

func (w *objectWriter) member(name string, value []byte) {
	if w.buffer.Len() == 0 {
		w.buffer.WriteByte('{')
	} else {
		w.buffer.WriteByte(',')
	}
	w.buffer.Write(encoded(name))
	w.buffer.WriteByte(':')
	w.buffer.Write(value)
}

func (w *objectWriter) close() json.RawMessage {
	if w.buffer.Len() == 0 {
		return json.RawMessage("{}")
	}
	w.buffer.WriteByte('}')
	return w.buffer.Bytes()
}

// encoded encodes a value that is JSON by its type.
func encoded(v any) []byte {
	text, err := marshalJSON(v)
	if err != nil {
		return []byte("null")
	}
	return text
}
