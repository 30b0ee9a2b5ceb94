package jsontext

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"
)

// Writer appends JSON to Out, byte for byte as json.Marshal writes it. Its methods are for
// the members of a struct that is often written, in their order; json.Marshal writes what
// is rare. After an error it appends what nobody reads.
type Writer struct {
	Out []byte
	Err error

	comma bool // an object has members already
}

// Open and Close are the brackets of an object.
func (w *Writer) Open() { w.Out, w.comma = append(w.Out, '{'), false }

// Close ends an object.
func (w *Writer) Close() { w.Out, w.comma = append(w.Out, '}'), true }

// Member begins a member of an object.
func (w *Writer) Member(name string) {
	if w.comma {
		w.Out = append(w.Out, ',')
	}
	w.comma = true
	w.Out = append(w.Out, '"')
	w.Out = append(w.Out, name...)
	w.Out = append(w.Out, '"', ':')
}

// Marshal appends what json.Marshal writes of v.
func (w *Writer) Marshal(v any) {
	encoded, err := json.Marshal(v)
	if err != nil && w.Err == nil {
		w.Err = err
	}
	w.Out = append(w.Out, encoded...)
	w.comma = true
}

// Text appends a text.
func (w *Writer) Text(s string) {
	if !Stands(s) {
		w.Marshal(s)
		return
	}
	w.Out = append(w.Out, '"')
	w.Out = append(w.Out, s...)
	w.Out = append(w.Out, '"')
}

// Stands reports whether json.Marshal writes a text without an escape. false costs time,
// nothing else.
func Stands(s string) bool {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= utf8.RuneSelf, c == '"', c == '\\', c == '<', c == '>', c == '&':
			return false
		}
	}
	return true
}

// Named appends a member that is a text.
func (w *Writer) Named(name, s string) {
	w.Member(name)
	w.Text(s)
}

// Optional appends a member that is left out where it is empty.
func (w *Writer) Optional(name, s string) {
	if s != "" {
		w.Named(name, s)
	}
}

// Number appends a member that is a whole number.
func (w *Writer) Number(name string, n int64) {
	w.Member(name)
	w.Out = strconv.AppendInt(w.Out, n, 10)
}

// Count is Number, left out where it is 0.
func (w *Writer) Count(name string, n int64) {
	if n != 0 {
		w.Number(name, n)
	}
}

// Unsigned appends a member that is a whole number without a sign.
func (w *Writer) Unsigned(name string, n uint64) {
	w.Member(name)
	w.Out = strconv.AppendUint(w.Out, n, 10)
}

// Float appends a member that is a number.
func (w *Writer) Float(name string, f float64) {
	w.Member(name)
	if whole := int64(f); float64(whole) == f && whole > -1<<50 && whole < 1<<50 && (whole != 0 || !math.Signbit(f)) {
		w.Out = strconv.AppendInt(w.Out, whole, 10)
		return
	}
	w.Marshal(f)
}

// Bool appends a member that is a boolean.
func (w *Writer) Bool(name string, set bool) {
	w.Member(name)
	w.Out = strconv.AppendBool(w.Out, set)
}

// Time appends a member that is a time.
func (w *Writer) Time(name string, t time.Time) {
	w.Member(name)
	if year := t.Year(); t.Location() != time.UTC || year < 0 || year > 9999 {
		w.Marshal(t)
		return
	}
	w.Out = append(w.Out, '"')
	w.Out = t.AppendFormat(w.Out, time.RFC3339Nano)
	w.Out = append(w.Out, '"')
}

// OptionalTime is Time, left out where there is none.
func (w *Writer) OptionalTime(name string, t *time.Time) {
	if t != nil {
		w.Time(name, *t)
	}
}

// Raw appends a member that is JSON already.
func (w *Writer) Raw(name string, raw json.RawMessage) {
	w.Member(name)
	if !Plain(raw) {
		w.Marshal(raw)
		return
	}
	w.Out = append(w.Out, raw...)
}

// OptionalRaw is Raw, left out where it is empty.
func (w *Writer) OptionalRaw(name string, raw json.RawMessage) {
	if len(raw) > 0 {
		w.Raw(name, raw)
	}
}

// Bytes appends bytes that are left out where there are none.
func (w *Writer) Bytes(name string, data []byte) {
	if len(data) == 0 {
		return
	}
	w.Member(name)
	w.Out = append(w.Out, '"')
	w.Out = base64.StdEncoding.AppendEncode(w.Out, data)
	w.Out = append(w.Out, '"')
}

// Flag appends a boolean that is left out where it is false.
func (w *Writer) Flag(name string, set bool) {
	if set {
		w.Member(name)
		w.Out = append(w.Out, "true"...)
	}
}

// Values appends an object of documents, in the order of their names; null for a nil one.
func (w *Writer) Values(values map[string]json.RawMessage) {
	if values == nil {
		w.Out = append(w.Out, "null"...)
		return
	}
	var room [16]string
	names := room[:0]
	for name := range values {
		if !Stands(name) { // a name that is not written as it is may stand elsewhere in the order
			w.Marshal(values)
			return
		}
		names = append(names, name)
	}
	slices.Sort(names)
	w.Open()
	for _, name := range names {
		w.Raw(name, values[name])
	}
	w.Close()
}

// Object appends a member as json.Marshal writes it, unless it is nil.
func Object[T any](w *Writer, name string, value *T) {
	if value != nil {
		w.Member(name)
		w.Marshal(value)
	}
}

// List appends a member as json.Marshal writes it, unless it is empty.
func List[T any](w *Writer, name string, values []T) {
	if len(values) > 0 {
		w.Member(name)
		w.Marshal(values)
	}
}

// Map appends a member as json.Marshal writes it, unless it is empty.
func Map[K comparable, V any](w *Writer, name string, values map[K]V) {
	if len(values) > 0 {
		w.Member(name)
		w.Marshal(values)
	}
}

// Elements appends a list, each element by write; null for a nil one.
func Elements[T any](w *Writer, values []T, write func(*T)) {
	if values == nil {
		w.Out = append(w.Out, "null"...)
		return
	}
	w.Out = append(w.Out, '[')
	for i := range values {
		if i > 0 {
			w.Out = append(w.Out, ',')
		}
		write(&values[i])
	}
	w.Out, w.comma = append(w.Out, ']'), true
}

// OptionalElements appends a member that is a list, unless it is empty.
func OptionalElements[T any](w *Writer, name string, values []T, write func(*T)) {
	if len(values) > 0 {
		w.Member(name)
		Elements(w, values, write)
	}
}

// Texts appends a member that is a list of texts, unless it is empty.
func Texts[T ~string](w *Writer, name string, values []T) {
	OptionalElements(w, name, values, func(s *T) { w.Text(string(*s)) })
}
