package schema

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine/duration"
)

// secretKey is the only key of a secret reference.
const secretKey = "$secret"

// SecretRef returns the reference to the secret of that name, as it stands in
// values, journals and requests.
func SecretRef(name string) map[string]any { return map[string]any{secretKey: name} }

// IsSecretRef reports whether v is a secret reference.
func IsSecretRef(v any) bool {
	_, ok := SecretName(v)
	return ok
}

// SecretName returns the name in a secret reference; false when v is none.
func SecretName(v any) (string, bool) {
	object, ok := v.(map[string]any)
	if !ok || len(object) != 1 {
		return "", false
	}
	name, ok := object[secretKey].(string)
	return name, ok && name != ""
}

// Walk visits a value as JSON decodes it and all that is in it; visit returns whether
// to go on below.
func Walk(value any, visit func(part any) bool) {
	if !visit(value) {
		return
	}
	switch value := value.(type) {
	case map[string]any:
		for _, part := range value {
			Walk(part, visit)
		}
	case []any:
		for _, part := range value {
			Walk(part, visit)
		}
	case *Encoded:
		_ = value.each(func(_ int, part any) error { // what can't be read holds nothing
			Walk(part, visit)
			return nil
		})
	}
}

// KindOf returns the kind of a value as Decode makes it; Any for what is no
// such value.
func KindOf(v any) Kind {
	switch v := v.(type) {
	case nil:
		return Null
	case bool:
		return Bool
	case int:
		return Int
	case float64:
		return Number
	case json.Number:
		if isIntegerText(string(v)) {
			return Int
		}
		return Number
	case string:
		return String
	case time.Time:
		return Time
	case time.Duration:
		return Duration
	case []any, *Encoded:
		return List
	case map[string]any:
		return Object
	}
	return Any
}

// ParseTime reads an RFC 3339 time. The result is in UTC or in a fixed zone
// without a name, never in the host's zone, so that it is equal everywhere.
func ParseTime(text string) (time.Time, error) {
	var t time.Time
	if err := t.UnmarshalText([]byte(text)); err != nil {
		return time.Time{}, fmt.Errorf("%s is not a time; write it as 2006-01-02T15:04:05Z", duration.Quote(text))
	}
	return FixZone(t), nil
}

// FixZone returns t in UTC or in a zone that is its offset alone.
func FixZone(t time.Time) time.Time {
	_, offset := t.Zone()
	if offset == 0 {
		return t.UTC()
	}
	return t.In(time.FixedZone("", offset))
}

// FormatTime writes t as RFC 3339 with as many digits of a second as it has.
func FormatTime(t time.Time) string { return t.Format(time.RFC3339Nano) }

// exactNumber turns a JSON number into int when it is a whole number that fits,
// else float64 when it has a fraction or an exponent, else it stays.
func exactNumber(n json.Number) any {
	text := string(n)
	if isIntegerText(text) {
		if i, err := strconv.ParseInt(text, 10, 64); err == nil {
			return int(i)
		}
		return n
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsInf(f, 0) {
		return n
	}
	return f
}

func isIntegerText(text string) bool { return !strings.ContainsAny(text, ".eE") }

// wholeNumber returns the number as an int when it has no fraction and fits.
func wholeNumber(n json.Number) (int, bool) {
	if i, err := strconv.ParseInt(string(n), 10, 64); err == nil {
		return int(i), true
	}
	f, err := strconv.ParseFloat(string(n), 64)
	if err != nil || isIntegerText(string(n)) || f != math.Trunc(f) || math.Abs(f) > 1<<53 {
		return 0, false
	}
	return int(f), true
}
