package schema

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
)

func (t *Type) checkRange(p path, value float64, shown string) error {
	if t.Min != nil && value < *t.Min {
		return mismatchf(p, "%s is less than the minimum %s", shown, formatBound(*t.Min))
	}
	if t.Max != nil && value > *t.Max {
		return mismatchf(p, "%s is more than the maximum %s", shown, formatBound(*t.Max))
	}
	return nil
}

func formatBound(f float64) string {
	if f == math.Trunc(f) && math.Abs(f) < 1e15 {
		return strconv.FormatFloat(f, 'f', -1, 64)
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

func (t *Type) checkText(p path, s string) error {
	if t.MinLength != nil || t.MaxLength != nil {
		n := utf8.RuneCountInString(s)
		if t.MinLength != nil && n < *t.MinLength {
			if n == 0 {
				return mismatchf(p, "the text is empty")
			}
			return mismatchf(p, "the text has %s, at least %d are needed", diag.Count(n, "character"), *t.MinLength)
		}
		if t.MaxLength != nil && n > *t.MaxLength {
			return mismatchf(p, "the text has %s, at most %d are allowed", diag.Count(n, "character"), *t.MaxLength)
		}
	}
	if t.Pattern == "" {
		return nil
	}
	pattern := t.compiled
	if pattern == nil {
		var err error
		if pattern, err = regexp.Compile(t.Pattern); err != nil {
			return mismatchf(p, "pattern %s of the schema is wrong: %v", duration.Quote(t.Pattern), err)
		}
	}
	if !pattern.MatchString(s) {
		return mismatchf(p, "%s does not match the pattern %s", duration.Quote(s), t.Pattern)
	}
	return nil
}

func (t *Type) checkCount(p path, n int) error {
	if t.MinLength != nil && n < *t.MinLength {
		return mismatchf(p, "the list has %s, at least %d are needed", diag.Count(n, "element"), *t.MinLength)
	}
	if t.MaxLength != nil && n > *t.MaxLength {
		return mismatchf(p, "the list has %s, at most %d are allowed", diag.Count(n, "element"), *t.MaxLength)
	}
	return nil
}

func (t *Type) checkEnum(p path, v any) error {
	if t.Enum == nil || slices.ContainsFunc(t.Enum, func(allowed any) bool { return sameScalar(allowed, v) }) {
		return nil
	}
	m := mismatchf(p, "must be one of %s; got %s", showEnum(t.Enum), show(v))
	if text, ok := v.(string); ok {
		m.Hint = diag.DidYouMean(text, enumTexts(t.Enum))
	}
	return m
}

// sameScalar compares values of an enum; lists and objects in an enum are
// compared by their JSON.
func sameScalar(a, b any) bool {
	if t, ok := a.(time.Time); ok {
		other, ok := b.(time.Time)
		return ok && t.Equal(other)
	}
	if KindOf(a) < List && KindOf(b) < List {
		return a == b
	}
	return Same(a, b)
}

func enumTexts(values []any) []string {
	var texts []string
	for _, value := range values {
		if text, ok := value.(string); ok {
			texts = append(texts, text)
		}
	}
	return texts
}

// showEnum lists the values, those that differ only in the case of letters once.
func showEnum(values []any) string {
	const most = 24
	var shown []string
	seen := map[string]bool{}
	for _, value := range values {
		text := show(value)
		switch folded := strings.ToLower(text); {
		case value == nil, seen[folded]:
			continue
		case len(shown) == most:
			return strings.Join(shown, ", ") + ", …"
		default:
			seen[folded] = true
		}
		shown = append(shown, text)
	}
	return strings.Join(shown, ", ")
}

func show(v any) string {
	if text, ok := v.(string); ok {
		return duration.Quote(text)
	}
	encoded, err := Encode(v)
	if err != nil {
		return fmt.Sprint(v)
	}
	if text := string(encoded); len(text) <= 60 {
		return text
	}
	return TypeOf(v)
}
