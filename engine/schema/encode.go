package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/duration"
)

// maxDepth bounds the nesting of values.
const maxDepth = 1000

// Encode writes a value as JSON: keys sorted, times as RFC 3339, durations as
// FormatDuration, json.Number verbatim. It refuses NaN, infinities, values
// nested deeper than 1,000 and what is no value of the language.
func Encode(v any) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := encode(&b, v, 0); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// Encode is the package's Encode: how a value is written does not depend on its
// type.
func (t *Type) Encode(v any) (json.RawMessage, error) { return Encode(v) }

func encode(b *bytes.Buffer, v any, depth int) error {
	if depth > maxDepth {
		return fmt.Errorf("value is nested deeper than %d", maxDepth)
	}
	switch v := v.(type) {
	case nil:
		b.WriteString("null")
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case int:
		b.Write(strconv.AppendInt(b.AvailableBuffer(), int64(v), 10))
	case float64:
		return encodeFloat(b, v)
	case json.Number:
		return encodeNumber(b, v)
	case string:
		encodeString(b, v)
	case time.Time:
		encodeString(b, FormatTime(v))
	case time.Duration:
		encodeString(b, FormatDuration(v))
	case []any:
		return encodeList(b, v, depth)
	case *Encoded:
		return encodeEncoded(b, v, depth)
	case map[string]any:
		return encodeObject(b, v, depth)
	default:
		return fmt.Errorf("%T is no value of a workflow", v)
	}
	return nil
}

// Same reports whether two values have the same JSON form: so have 1 and 1.0.
func Same(a, b any) bool {
	x, errA := Encode(a)
	y, errB := Encode(b)
	return errA == nil && errB == nil && string(x) == string(y)
}

func encodeFloat(b *bytes.Buffer, f float64) error {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return fmt.Errorf("number %v has no JSON form", f)
	}
	if f == 0 {
		f = 0 // drops the sign of minus zero, which an integer reader would lose
	}
	text, err := json.Marshal(f)
	if err != nil {
		return fmt.Errorf("encode number %v: %w", f, err)
	}
	b.Write(text)
	return nil
}

func encodeNumber(b *bytes.Buffer, n json.Number) error {
	if !jsonNumber(string(n)) {
		return fmt.Errorf("%s is no number", duration.Quote(string(n)))
	}
	b.WriteString(string(n))
	return nil
}

// encodeString writes without HTML escapes, so that texts stay readable.
func encodeString(b *bytes.Buffer, s string) {
	if isPlain(s) {
		b.Grow(len(s) + 2)
		b.WriteByte('"')
		b.WriteString(s)
		b.WriteByte('"')
		return
	}
	encoder := json.NewEncoder(b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(s)   // a string into a buffer cannot fail
	b.Truncate(b.Len() - 1) // the newline that Encode adds
}

// isPlain reports whether a text stands in JSON as it is: ASCII without an escape.
func isPlain(s string) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c >= utf8.RuneSelf || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

func encodeList(b *bytes.Buffer, list []any, depth int) error {
	b.WriteByte('[')
	for i, item := range list {
		if i > 0 {
			b.WriteByte(',')
		}
		if err := encode(b, item, depth+1); err != nil {
			return err
		}
	}
	b.WriteByte(']')
	return nil
}

// encodeEncoded writes a list that is kept as text as its elements are written.
func encodeEncoded(b *bytes.Buffer, list *Encoded, depth int) error {
	if size := list.Bytes(); b.Cap() == 0 {
		b.Grow(int(size + size/16)) // a buffer that doubles would hold most of it twice
	}
	b.WriteByte('[')
	err := list.each(func(i int, item any) error {
		if i > 0 {
			b.WriteByte(',')
		}
		return encode(b, item, depth+1)
	})
	b.WriteByte(']')
	return err
}

func encodeObject(b *bytes.Buffer, object map[string]any, depth int) error {
	b.WriteByte('{')
	var room [16]string
	for i, key := range sortedNames(room[:0], object) {
		if i > 0 {
			b.WriteByte(',')
		}
		encodeString(b, key)
		b.WriteByte(':')
		if err := encode(b, object[key], depth+1); err != nil {
			return err
		}
	}
	b.WriteByte('}')
	return nil
}
