package eval

import (
	"strings"
	"unicode/utf8"

	"github.com/flowrun/flowrun/engine/schema"
)

func textFunctions() []*function {
	return append([]*function{
		{
			signature: "len(x: text|list|object): integer", doc: "The number of characters, elements or fields.", example: "len(inputs.sites)",
			run:     func(m *machine, args []any) (any, error) { return m.length(args[0]) },
			encoded: true,
		},
		{
			signature: "type(x: any): text", doc: "The name of a value's kind: nil, bool, int, float, string, array, map, time.Time or time.Duration.", example: "type(1.5)",
			run:     func(_ *machine, args []any) (any, error) { return typeWord(schema.KindOf(args[0])), nil },
			encoded: true,
		},
		{
			converts:  true,
			signature: "string(x: text|number|boolean|time|duration): text", doc: "The text of a value: times as RFC 3339, durations such as 1h30m.", example: "string(42)",
			run: func(m *machine, args []any) (any, error) {
				text, err := Text(args[0])
				if err != nil {
					return nil, err
				}
				return text, m.text(len(text))
			},
		},
		mapping("upper", "The text in capital letters.", `upper("abc")`, strings.ToUpper),
		mapping("lower", "The text in small letters.", `lower("ABC")`, strings.ToLower),
		{
			signature: "replace(text: text, old: text, new: text, times?: integer): text", doc: "The text with every `old`, or the first `times` of them, replaced.", example: `replace("a-b", "-", "_")`,
			run: func(m *machine, args []any) (any, error) { return m.replace(args) },
		},
		{
			signature: "repeat(text: text, times: integer): text", doc: "The text that many times.", example: `repeat("-", 20)`,
			run: func(m *machine, args []any) (any, error) {
				s, n := args[0].(string), args[1].(int)
				if n < 0 {
					return nil, failf("repeat expects 0 or more, got %d", n)
				}
				if len(s) > 0 && n > m.bytes/len(s) {
					return nil, m.text(m.bytes + 1)
				}
				if err := m.text(len(s) * n); err != nil {
					return nil, err
				}
				return strings.Repeat(s, n), nil
			},
		},
		{
			signature: "indexOf(text: text, part: text): integer", doc: "The place of the first occurrence in characters from 0, or -1.", example: `indexOf("abc", "c")`,
			run: func(m *machine, args []any) (any, error) { return m.indexOf(args, strings.Index) },
		},
		{
			signature: "lastIndexOf(text: text, part: text): integer", doc: "The place of the last occurrence in characters from 0, or -1.", example: `lastIndexOf("a.b.c", ".")`,
			run: func(m *machine, args []any) (any, error) { return m.indexOf(args, strings.LastIndex) },
		},
		{
			signature: "hasPrefix(text: text, prefix: text): boolean", doc: "Whether the text begins with a prefix.", example: `hasPrefix("https://x", "https:")`,
			run: func(_ *machine, args []any) (any, error) {
				return strings.HasPrefix(args[0].(string), args[1].(string)), nil
			},
		},
		{
			signature: "hasSuffix(text: text, suffix: text): boolean", doc: "Whether the text ends with a suffix.", example: `hasSuffix("a.csv", ".csv")`,
			run: func(_ *machine, args []any) (any, error) {
				return strings.HasSuffix(args[0].(string), args[1].(string)), nil
			},
		},
	}, append(trimFunctions(), splitFunctions()...)...)
}

func trimFunctions() []*function {
	return []*function{
		{
			signature: "trim(text: text, characters?: text): text", doc: "The text without spaces, or without those characters, at both ends.", example: `trim("  a ")`,
			run: func(m *machine, args []any) (any, error) {
				s := args[0].(string)
				if len(args) == 1 {
					return strings.TrimSpace(s), m.read(len(s))
				}
				return strings.Trim(s, args[1].(string)), m.scan2(s, args[1].(string))
			},
		},
		{
			signature: "trimPrefix(text: text, prefix?: text): text", doc: "The text without a prefix, by default one space.", example: `trimPrefix("v1.2", "v")`,
			run: func(_ *machine, args []any) (any, error) {
				return strings.TrimPrefix(args[0].(string), orSpace(args)), nil
			},
		},
		{
			signature: "trimSuffix(text: text, suffix?: text): text", doc: "The text without a suffix, by default one space.", example: `trimSuffix("a.txt", ".txt")`,
			run: func(_ *machine, args []any) (any, error) {
				return strings.TrimSuffix(args[0].(string), orSpace(args)), nil
			},
		},
	}
}

func splitFunctions() []*function {
	texts := func(k *call) *schema.Type {
		parts := schema.ListOf(schema.Of(schema.String))
		if separator, ok := k.literal(1); ok && separator != "" && len(k.args) == 2 {
			return schema.AtLeast(parts, 1) // an empty text has one part
		}
		return parts
	}
	return []*function{
		{
			signature: "split(text: text, separator: text, parts?: integer): list", doc: "The parts of a text between separators; at most `parts` of them.", example: `split("a,b", ",")`,
			result: texts,
			run:    func(m *machine, args []any) (any, error) { return m.split(args, strings.SplitN) },
		},
		{
			signature: "splitAfter(text: text, separator: text, parts?: integer): list", doc: "split, with the separator kept at each part's end.", example: `splitAfter("a,b", ",")`,
			result: texts,
			run:    func(m *machine, args []any) (any, error) { return m.split(args, strings.SplitAfterN) },
		},
		{
			signature: "join(texts: list, separator?: text): text", doc: "The texts of a list behind each other.", example: `join(["a", "b"], ", ")`,
			result: (*call).joined,
			run:    func(m *machine, args []any) (any, error) { return m.join(args) },
		},
	}
}

func mapping(name, doc, example string, run func(string) string) *function {
	return &function{
		signature: name + "(text: text): text", doc: doc, example: example,
		run: func(m *machine, args []any) (any, error) {
			s := args[0].(string)
			// A letter can grow to three times its bytes.
			if err := m.text(3 * len(s)); err != nil {
				return nil, err
			}
			return run(s), m.step(len(s) / 64)
		},
	}
}

func orSpace(args []any) string {
	if len(args) == 2 {
		return args[1].(string)
	}
	return " "
}

// scan2 takes the steps of looking for each character of s in set.
func (m *machine) scan2(s, set string) error {
	if err := m.read(len(s)); err != nil {
		return err
	}
	if len(set) > 0 && len(s) > (m.steps+1)*bytesPerStep/len(set) {
		return m.step(m.steps + 1)
	}
	return m.read(len(s) * len(set))
}

func (m *machine) length(v any) (any, error) {
	switch v := v.(type) {
	case string:
		return utf8.RuneCountInString(v), m.read(len(v))
	case []any:
		return len(v), nil
	case *schema.Encoded:
		return v.Len(), nil
	case map[string]any:
		return len(v), nil
	}
	return nil, failf("len expects text, list or object, got %s", article(v))
}

// typeWord is what expr calls a kind.
func typeWord(kind schema.Kind) string {
	switch kind {
	case schema.Null:
		return "nil"
	case schema.Bool:
		return "bool"
	case schema.Int:
		return "int"
	case schema.Number:
		return "float"
	case schema.String:
		return "string"
	case schema.Time:
		return "time.Time"
	case schema.Duration:
		return "time.Duration"
	case schema.List:
		return "array"
	case schema.Object:
		return "map"
	}
	return "unknown"
}

func (m *machine) replace(args []any) (any, error) {
	s, from, to, times := args[0].(string), args[1].(string), args[2].(string), -1
	if len(args) == 4 {
		times = args[3].(int)
	}
	if err := m.read(len(s)); err != nil {
		return nil, err
	}
	found := strings.Count(s, from)
	if times >= 0 {
		found = min(found, times)
	}
	if len(to) > 0 && found > m.bytes/len(to) {
		return nil, m.text(m.bytes + 1)
	}
	if err := m.text(len(s) + found*len(to)); err != nil {
		return nil, err
	}
	return strings.Replace(s, from, to, times), m.step(found / 16)
}

// indexOf counts in characters, as len and slices do.
func (m *machine) indexOf(args []any, find func(s, part string) int) (any, error) {
	s := args[0].(string)
	if err := m.read(2 * len(s)); err != nil {
		return nil, err
	}
	at := find(s, args[1].(string))
	if at < 0 {
		return -1, nil
	}
	return utf8.RuneCountInString(s[:at]), nil
}

func (m *machine) split(args []any, cut func(s, separator string, n int) []string) (any, error) {
	s, separator, most := args[0].(string), args[1].(string), -1
	if len(args) == 3 {
		most = args[2].(int)
	}
	if err := m.read(len(s)); err != nil {
		return nil, err
	}
	count := strings.Count(s, separator) + 1
	if most >= 0 {
		count = min(count, most)
	}
	if err := m.grow(count); err != nil {
		return nil, err
	}
	parts := cut(s, separator, most)
	list := make([]any, len(parts))
	for i, part := range parts {
		list[i] = part
	}
	return list, nil
}

func (m *machine) join(args []any) (any, error) {
	list, separator := args[0].([]any), ""
	if len(args) == 2 {
		separator = args[1].(string)
	}
	var b strings.Builder
	for i, item := range list {
		text, ok := item.(string)
		if !ok {
			return nil, failf("join expects texts, got %s", article(item)).hint("map(list, string(#)) makes texts of the elements")
		}
		if i > 0 {
			text = separator + text
		}
		if err := m.text(len(text)); err != nil {
			return nil, err
		}
		b.WriteString(text)
	}
	return b.String(), m.step(len(list) / 16)
}

// shorten quotes a value for a message.
func shorten(text string) string {
	const most = 40
	if runes := []rune(text[:min(len(text), 4*most+4)]); len(runes) > most {
		text = string(runes[:most]) + "…"
	}
	return `"` + text + `"`
}
