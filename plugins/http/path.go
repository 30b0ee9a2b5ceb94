package http

import (
	"encoding/json"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// placeholder matches {name} and {+name} in a path.
var placeholder = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(\+?)([A-Za-z0-9_.-]+)\}`) })

// namesIn are the placeholders of a path, in its order.
func namesIn(path string) []string {
	var names []string
	for _, match := range placeholder().FindAllStringSubmatch(path, -1) {
		names = append(names, match[2])
	}
	return names
}

// fill puts values into a path, each escaped so that it stays one segment; {+name} keeps
// the slashes of its value. The error is CodeInvalid, with the input that is wrong.
func fill(path string, values map[string]string, pointer func(name string) string) (string, error) {
	var failure error
	filled := placeholder().ReplaceAllStringFunc(path, func(match string) string {
		parts := placeholder().FindStringSubmatch(match)
		keepsSlashes, name := parts[1] == "+", parts[2]
		value, given := values[name]
		if !given {
			failure = sdk.Invalid("/path", "there is no value for {%s}", name).WithHint("give it in params")
			return ""
		}
		segments := []string{value}
		if keepsSlashes {
			segments = strings.Split(value, "/")
		}
		for i, segment := range segments {
			escaped, err := sdk.PathEscape(segment)
			if err != nil {
				failure = sdk.Invalid(pointer(name), "%s", "as a part of the path "+wordsOf(err))
			}
			segments[i] = escaped
		}
		return strings.Join(segments, "/")
	})
	return filled, failure
}

// wordsOf are the words of an SDK error without its code.
func wordsOf(err error) string {
	_, words, _ := strings.Cut(err.Error(), ": ")
	return words
}

// pathProblem says what is wrong with a path as it is written, "" for nothing.
func pathProblem(path string) string {
	plain := placeholder().ReplaceAllString(path, "x")
	switch {
	case !strings.HasPrefix(plain, "/"):
		return "must begin with /"
	case strings.ContainsAny(plain, "?#"):
		return "must not have ? or #: parameters belong in query, and a value in params is escaped"
	case strings.ContainsAny(plain, `{}`):
		return "has a brace that is no {name}"
	case strings.Contains(plain, `\`):
		return `must not have \`
	}
	if _, err := url.PathUnescape(plain); err != nil {
		return "has a % that begins no escaped sign: write %25 for the sign itself"
	}
	for _, segment := range strings.Split(plain, "/") {
		if text, _ := url.PathUnescape(segment); text == "." || text == ".." {
			return "must not have . or .. as a segment"
		}
	}
	return ""
}

// escaped escapes what a path may not hold as it is, such as spaces; what is escaped stays.
func escaped(path string) string {
	var out strings.Builder
	for i := 0; i < len(path); i++ {
		if sign := path[i]; sign <= ' ' || sign > 126 || strings.IndexByte("\"<>^`|", sign) >= 0 {
			const digits = "0123456789ABCDEF"
			out.Write([]byte{'%', digits[sign>>4], digits[sign&15]})
			continue
		}
		out.WriteByte(path[i])
	}
	return out.String()
}

// texts are values as they stand in a URL.
func texts(values map[string]sdk.Value) map[string]string {
	all := make(map[string]string, len(values))
	for name, value := range values {
		all[name] = text(value)
	}
	return all
}

// text is a scalar as it stands in a URL, a form or a header: a text without its quotes,
// numbers as they are written.
func text(value sdk.Value) string {
	var s string
	if json.Unmarshal(value, &s) == nil && len(value) > 0 && value[0] == '"' {
		return s
	}
	return string(value)
}

// parameters are the values of a query or a form. null is left out; lists are written as
// style says.
func parameters(given map[string]sdk.Value, style string) url.Values {
	values := url.Values{}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		value := given[name]
		if sdk.IsNull(value) {
			continue
		}
		var list []sdk.Value
		if value[0] != '[' || json.Unmarshal(value, &list) != nil {
			values.Set(name, text(value))
			continue
		}
		items := make([]string, len(list))
		for i, item := range list {
			items[i] = text(item)
		}
		switch {
		case len(items) == 0:
		case style == "comma":
			values.Set(name, strings.Join(items, ","))
		case style == "brackets":
			values[name+"[]"] = items
		default:
			values[name] = items
		}
	}
	return values
}
