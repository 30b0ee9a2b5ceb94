package importer

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/spec"
)

// The values of files of other products, read with whatever stands there: a wrong shape is
// nothing.

func textOf(f *spec.Foreign) string {
	if f == nil || f.Kind != spec.Scalar || f.Type == "null" {
		return ""
	}
	return f.Text
}

func boolOf(f *spec.Foreign) bool { return strings.EqualFold(textOf(f), "true") }

func intOf(f *spec.Foreign) (int, bool) {
	n, err := strconv.Atoi(textOf(f))
	return n, err == nil && n >= 0
}

// textsOf is a list of texts, or one text.
func textsOf(f *spec.Foreign) []string {
	if f == nil {
		return nil
	}
	if one := textOf(f); one != "" {
		return []string{one}
	}
	var all []string
	for _, item := range f.Items {
		if one := textOf(item); one != "" {
			all = append(all, one)
		}
	}
	return all
}

// pairsOf are the pairs of a map; none of anything else.
func pairsOf(f *spec.Foreign) []spec.ForeignPair {
	if f == nil {
		return nil
	}
	return f.Pairs
}

// itemsOf are the items of a list; none of anything else.
func itemsOf(f *spec.Foreign) []*spec.Foreign {
	if f == nil {
		return nil
	}
	return f.Items
}

// remarks are the comments of a value and of its keys.
func remarks(f *spec.Foreign, but ...string) []string {
	if f == nil {
		return nil
	}
	lines := slices.Clone(f.Above)
	for _, p := range f.Pairs {
		if !slices.Contains(but, p.Key) && p.Value.Kind == spec.Scalar {
			lines = append(append(lines, p.Value.Above...), p.Value.Beside...)
		}
	}
	return lines
}

// written is a value on one line, for a comment.
func written(f *spec.Foreign) string {
	if f == nil {
		return ""
	}
	return oneLine(plainValue(f).shown())
}

// shown is a value on one line, whatever it holds.
func (v *value) shown() string {
	if one, ok := v.flow(); ok {
		return one
	}
	if v.kind == spec.Scalar {
		return quotedText(v.text)
	}
	var parts []string
	for _, item := range v.items {
		parts = append(parts, item.shown())
	}
	for _, p := range v.pairs {
		parts = append(parts, p.key+": "+p.value.shown())
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// plainValue is a value as it is written, without expressions.
func plainValue(f *spec.Foreign) *value {
	switch f.Kind {
	case spec.Mapping:
		out := mapping()
		for _, p := range f.Pairs {
			out.add(p.Key, plainValue(p.Value))
		}
		return out
	case spec.Sequence:
		out := list()
		for _, item := range f.Items {
			out.items = append(out.items, plainValue(item))
		}
		return out
	}
	return scalarValue(f)
}

// scalarValue is a scalar with the type that YAML gives it.
func scalarValue(f *spec.Foreign) *value {
	if bare, ok := bareValue(f); ok {
		return bare
	}
	return text(literalSigns(f.Text))
}

func bareValue(f *spec.Foreign) (*value, bool) {
	if f.Style != spec.Plain {
		return nil, false
	}
	switch f.Type {
	case "bool":
		return bare(strings.ToLower(f.Text)), true
	case "null":
		return bare("null"), true
	case "int":
		if isInteger(strings.TrimPrefix(f.Text, "-")) {
			return bare(f.Text), true
		}
	case "float":
		if _, err := strconv.ParseFloat(f.Text, 64); err == nil && decimal().MatchString(f.Text) {
			return bare(f.Text), true
		}
	}
	return nil, false
}

var decimal = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)\.[0-9]+$`)
})

// literalExpr is a value that is written out, as an expression.
func literalExpr(f *spec.Foreign) expr {
	if f.Kind == spec.Scalar {
		if v, ok := bareValue(f); ok {
			return expr{source: strings.Replace(v.text, "null", "nil", 1), kind: map[string]kind{"bool": kindBool, "int": kindNumber, "float": kindNumber}[f.Type]}
		}
		return expr{source: quoteText(f.Text), kind: kindText}
	}
	var parts []string
	for _, item := range f.Items {
		parts = append(parts, literalExpr(item).source)
	}
	for _, p := range f.Pairs {
		parts = append(parts, quoteText(p.Key)+": "+literalExpr(p.Value).source)
	}
	if f.Kind == spec.Mapping {
		return expr{source: "{" + strings.Join(parts, ", ") + "}", kind: kindObject}
	}
	return expr{source: "[" + strings.Join(parts, ", ") + "]", kind: kindList}
}

// kindOfLiteral is what is known of a value by how it is written.
func kindOfLiteral(f *spec.Foreign) kind { return literalExpr(f).kind }

// allText is every scalar below a value, joined: to look whether a name stands in it.
func allText(f *spec.Foreign) string {
	var b strings.Builder
	var walk func(f *spec.Foreign)
	walk = func(f *spec.Foreign) {
		if f == nil {
			return
		}
		b.WriteString(f.Text + "\n")
		for _, p := range f.Pairs {
			walk(p.Value)
		}
		for _, item := range f.Items {
			walk(item)
		}
	}
	walk(f)
	return b.String()
}

// minutes is a number of minutes as a duration.
func minutes(f *spec.Foreign) (string, bool) {
	n, ok := intOf(f)
	return strconv.Itoa(n) + "m", ok && n > 0 && n < 1_000_000
}

// seconds is a number of seconds as a duration.
func seconds(f *spec.Foreign) (string, bool) {
	n, ok := intOf(f)
	switch {
	case !ok || n == 0 || n > 1_000_000_000:
		return "", false
	case n%3600 == 0:
		return strconv.Itoa(n/3600) + "h", true
	case n%60 == 0:
		return strconv.Itoa(n/60) + "m", true
	}
	return strconv.Itoa(n) + "s", true
}
