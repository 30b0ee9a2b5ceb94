package openapisim

import (
	"encoding/json"
	"math"
	"regexp/syntax"
	"slices"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// maker makes values that fit the schemas of one document: the smallest that show all
// fields, the same at each time.
type maker struct{ defs *tree.Node }

// deepest is how deep fields are shown that may be left out.
const deepest = 8

// of makes a value of a schema. Below the deepest level it has what is required alone.
func (m maker) of(n *tree.Node, depth int) json.RawMessage {
	if ref := n.Get("$ref").Text(); ref != "" {
		if depth > 4*deepest {
			return json.RawMessage("null") // nested without an end: the host takes anything here
		}
		return m.of(m.defs.Get(strings.TrimPrefix(ref, "#/$defs/")), depth+1)
	}
	if values := n.Get("enum").Items(); len(values) > 0 {
		return values[0].JSON()
	}
	if examples := n.Get("examples").Items(); len(examples) > 0 && fitter(m).fits(n, examples[0], 0) {
		return examples[0].JSON()
	}
	if parts := n.Get("allOf").Items(); len(parts) > 0 {
		return m.all(n, parts, depth)
	}
	for _, word := range []string{"oneOf", "anyOf"} {
		if choices := n.Get(word).Items(); len(choices) > 0 {
			return m.of(m.choice(choices), depth+1)
		}
	}
	switch kind := kindOf(n); kind {
	case "object":
		return m.object(n, depth)
	case "array":
		return m.list(n, depth)
	case "string":
		return tree.Text(text(n))
	case "integer", "number":
		return number(n, kind == "integer")
	case "boolean":
		return json.RawMessage("true")
	}
	return json.RawMessage("null")
}

// kindOf is the type of the value that is made: of several the first that is not null.
func kindOf(n *tree.Node) string {
	kinds := n.Get("type").Texts()
	if kind := n.Get("type").Text(); kind != "" {
		kinds = []string{kind}
	}
	for _, kind := range kinds {
		if kind != "null" {
			return kind
		}
	}
	if n.Get("properties").IsObject() {
		return "object"
	}
	return ""
}

// choice is the first choice that is more than null.
func (m maker) choice(choices []*tree.Node) *tree.Node {
	for _, choice := range choices {
		if choice.Get("type").Text() != "null" {
			return choice
		}
	}
	return choices[0]
}

// all makes a value of all parts: their fields together, where they are objects.
func (m maker) all(n *tree.Node, parts []*tree.Node, depth int) json.RawMessage {
	out := tree.Object{}
	for _, part := range parts {
		made := m.of(part, depth+1)
		fields, ok := tree.ReadObject(made)
		if !ok {
			if len(out) == 0 && string(made) != "null" {
				return made
			}
			continue
		}
		for _, field := range fields {
			out = out.With(field.Name, field.Value)
		}
	}
	own, _ := tree.ReadObject(m.object(n, depth))
	for _, field := range own {
		out = out.With(field.Name, field.Value)
	}
	return out.JSON()
}

func (m maker) object(n *tree.Node, depth int) json.RawMessage {
	out := tree.Object{}
	required := n.Get("required").Texts()
	for _, field := range n.Get("properties").Members() {
		if depth < deepest || slices.Contains(required, field.Name) {
			out = append(out, tree.Field{Name: field.Name, Value: m.of(field.Value, depth+1)})
		}
	}
	for _, name := range required {
		if out.Get(name) == nil {
			out = append(out, tree.Field{Name: name, Value: json.RawMessage("null")})
		}
	}
	return out.JSON()
}

func (m maker) list(n *tree.Node, depth int) json.RawMessage {
	length, _ := n.Get("minItems").Number()
	if length == 0 && depth < deepest {
		length = 1
	}
	if most, ok := n.Get("maxItems").Number(); ok {
		length = min(length, most)
	}
	var items []json.RawMessage
	for range min(length, 100) {
		items = append(items, m.of(n.Get("items"), depth+1))
	}
	return tree.List(items)
}

// samples are texts of the formats.
var samples = map[string]string{
	"date-time": "2026-01-31T09:00:00Z", "date": "2026-01-31", "duration": "1h", "uuid": "00000000-0000-4000-8000-000000000000", "email": "someone@example.com",
	"uri": "https://example.com", "url": "https://example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "byte": "AA==", "binary": "AA==",
}

func text(n *tree.Node) string {
	if pattern := n.Get("pattern").Text(); pattern != "" {
		if parsed, err := syntax.Parse(pattern, syntax.Perl); err == nil {
			return matching(parsed)
		}
	}
	sample := samples[n.Get("format").Text()]
	if n.Get("contentEncoding").Text() == "base64" {
		sample = "AA=="
	}
	if sample == "" {
		sample = "text"
	}
	if least, ok := n.Get("minLength").Number(); ok && int64(len(sample)) < least {
		sample += strings.Repeat("x", int(min(least, 10_000))-len(sample))
	}
	if most, ok := n.Get("maxLength").Number(); ok && int64(len(sample)) > most {
		sample = sample[:most]
	}
	return sample
}

// matching is a short text that an expression matches.
func matching(re *syntax.Regexp) string {
	switch re.Op {
	case syntax.OpLiteral:
		return string(re.Rune)
	case syntax.OpCharClass:
		for _, wanted := range "a1A-" {
			for i := 0; i+1 < len(re.Rune); i += 2 {
				if re.Rune[i] <= wanted && wanted <= re.Rune[i+1] {
					return string(wanted)
				}
			}
		}
		if len(re.Rune) > 0 {
			return string(re.Rune[0])
		}
	case syntax.OpAnyChar, syntax.OpAnyCharNotNL:
		return "a"
	case syntax.OpCapture, syntax.OpPlus:
		return matching(re.Sub[0])
	case syntax.OpRepeat:
		return strings.Repeat(matching(re.Sub[0]), re.Min)
	case syntax.OpConcat:
		var out strings.Builder
		for _, part := range re.Sub {
			out.WriteString(matching(part))
		}
		return out.String()
	case syntax.OpAlternate:
		return matching(re.Sub[0])
	}
	return ""
}

// number is a number within its bounds: 1 where there are none.
func number(n *tree.Node, whole bool) json.RawMessage {
	value := 1.0
	step := 1.0
	bound := func(word string) (float64, bool) {
		f, err := strconv.ParseFloat(n.Get(word).Plain(), 64)
		return f, err == nil
	}
	if low, ok := bound("minimum"); ok {
		value = max(value, math.Ceil(low))
	}
	if low, ok := bound("exclusiveMinimum"); ok && value <= low {
		value = math.Floor(low) + step
	}
	if high, ok := bound("maximum"); ok && value > high {
		value = high
		if whole {
			value = math.Floor(high)
		}
	}
	if high, ok := bound("exclusiveMaximum"); ok && value >= high {
		value = math.Ceil(high) - step
		if low, ok := bound("minimum"); ok && value < low {
			value = (low + high) / 2
		}
	}
	return json.RawMessage(strconv.FormatFloat(value, 'f', -1, 64))
}
