package schema

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"io"
)

// jsonNumber reports whether a text is a number of JSON, with nothing around it.
func jsonNumber(text string) bool {
	return text != "" && (text[0] == '-' || isDigit(text[0])) && isDigit(text[len(text)-1]) && json.Valid([]byte(text))
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// Decode reads JSON into a value of the type: nil, bool, int (exact), float64,
// string, time.Time, time.Duration, []any and map[string]any. Where nothing is
// known of the type, whole numbers become int when they fit 64 bits and stay
// json.Number when not; other numbers become float64. Names beyond the schema
// are kept. The error is a *Mismatch.
func (t *Type) Decode(data []byte) (any, error) { return t.decode(data, false) }

// DecodeAnswer is Decode for what a service says: names that the schema excludes,
// by `additionalProperties: false`, are left out.
func (t *Type) DecodeAnswer(data []byte) (any, error) {
	return t.decodeWith(data, coercion{own: true, json: true, trim: true})
}

// DecodeExact is Decode for what people supply, such as a run's inputs: a name
// that an object does not allow is a mismatch, and a duration must be greater
// than 0.
func (t *Type) DecodeExact(data []byte) (any, error) { return t.decode(data, true) }

// DecodeClear is Decode for what a person gives to one call: what is marked secret
// may stand in clear, or be a reference. A *Mismatch does not show a clear value.
func (t *Type) DecodeClear(data []byte) (any, error) {
	return t.decodeWith(data, coercion{own: true, json: true, clear: true})
}

// Mismatches returns all that is wrong with JSON that DecodeExact refuses, at most
// 50 faults; nil where it is taken.
func (t *Type) Mismatches(data []byte) []*Mismatch {
	v, err := parseJSON(data)
	if err == nil {
		all := []*Mismatch{}
		c := coercion{exact: true, own: true, json: true, all: &all}
		if _, _, err = c.value(t, v); err == nil {
			return all
		}
		if last, ok := errors.AsType[*Mismatch](err); ok {
			return append(all, last)
		}
	}
	var wrong *Mismatch
	if !errors.As(err, &wrong) {
		wrong = &Mismatch{Message: err.Error()}
	}
	return []*Mismatch{wrong}
}

func (t *Type) decode(data []byte, exact bool) (any, error) {
	return t.decodeWith(data, coercion{exact: exact, own: true, json: true})
}

func (t *Type) decodeWith(data []byte, c coercion) (any, error) {
	if v, ok := c.typed(t, data); ok {
		return v, nil
	}
	v, err := parseJSON(data)
	if err != nil {
		return nil, err
	}
	value, _, err := c.value(t, v)
	if err != nil {
		return nil, err
	}
	return value, nil
}

// Accept takes an expression's result into a field of the type: an int fits a
// number, RFC 3339 text fits a time; a time does not fit text. The value is not
// changed; the result may share parts with it. The error is a *Mismatch.
func (t *Type) Accept(v any) (any, error) {
	c := coercion{exact: true}
	value, _, err := c.value(t, v)
	if err != nil {
		return nil, err
	}
	return value, nil
}

// parseJSON reads one JSON value: numbers as json.Number, or as int where that is exact.
func parseJSON(data []byte) (any, error) {
	if v, ok := fastParse(data); ok {
		return v, nil
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var v any
	err := decoder.Decode(&v)
	if err == nil {
		if _, more := decoder.Token(); errors.Is(more, io.EOF) {
			return v, nil
		}
	}
	return nil, &Mismatch{Message: "invalid JSON: " + cmp.Or(WhyNoJSON(data), "it can't be read")}
}
