package openapisim

import (
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
)

// fitter says whether a value fits a schema: examples of documents often break the
// schemas beside them, and those are not served.
type fitter struct{ defs *tree.Node }

func (f fitter) fits(n, value *tree.Node, depth int) bool {
	if depth > 64 {
		return true
	}
	if ref := n.Get("$ref").Text(); ref != "" {
		if value.IsNull() && n.Get("nullable").True() {
			return true
		}
		return f.fits(f.defs.Get(ref[len("#/$defs/"):]), value, depth+1)
	}
	for _, part := range n.Get("allOf").Items() {
		if !f.fits(part, value, depth+1) {
			return false
		}
	}
	for _, word := range []string{"anyOf", "oneOf"} {
		choices := n.Get(word).Items()
		if len(choices) > 0 && !slices.ContainsFunc(choices, func(choice *tree.Node) bool { return f.fits(choice, value, depth+1) }) {
			return false
		}
	}
	if !ofType(n, value) {
		return false
	}
	if values := n.Get("enum").Items(); len(values) > 0 {
		return slices.ContainsFunc(values, func(one *tree.Node) bool { return string(one.JSON()) == string(value.JSON()) })
	}
	switch {
	case value.IsText():
		return textFits(n, value.Text())
	case value.IsNumber():
		return numberFits(n, value)
	case value.IsList():
		return f.listFits(n, value, depth)
	case value.IsObject():
		return f.objectFits(n, value, depth)
	}
	return true
}

func ofType(n, value *tree.Node) bool {
	kinds := n.Get("type").Texts()
	if kind := n.Get("type").Text(); kind != "" {
		kinds = []string{kind}
	}
	_, whole := value.Number()
	return len(kinds) == 0 || slices.ContainsFunc(kinds, func(kind string) bool {
		switch kind {
		case "string":
			return value.IsText()
		case "integer":
			return whole
		case "number":
			return value.IsNumber()
		case "boolean":
			return value.IsBool()
		case "array":
			return value.IsList()
		case "object":
			return value.IsObject()
		}
		return value.IsNull()
	})
}

func textFits(n *tree.Node, text string) bool {
	length := int64(utf8.RuneCountInString(text))
	if least, ok := n.Get("minLength").Number(); ok && length < least {
		return false
	}
	if most, ok := n.Get("maxLength").Number(); ok && length > most {
		return false
	}
	if n.Get("format").Text() == "date-time" {
		if _, err := time.Parse(time.RFC3339Nano, text); err != nil {
			return false
		}
	}
	pattern := n.Get("pattern").Text()
	if pattern == "" {
		return true
	}
	compiled, err := regexp.Compile(pattern)
	return err == nil && compiled.MatchString(text)
}

func numberFits(n, value *tree.Node) bool {
	number, err := strconv.ParseFloat(value.Plain(), 64)
	if err != nil {
		return false
	}
	for word, refuses := range map[string]func(bound float64) bool{
		"minimum":          func(bound float64) bool { return number < bound },
		"maximum":          func(bound float64) bool { return number > bound },
		"exclusiveMinimum": func(bound float64) bool { return number <= bound },
		"exclusiveMaximum": func(bound float64) bool { return number >= bound },
	} {
		if bound, err := strconv.ParseFloat(n.Get(word).Plain(), 64); err == nil && refuses(bound) {
			return false
		}
	}
	return true
}

func (f fitter) listFits(n, value *tree.Node, depth int) bool {
	length := int64(len(value.Items()))
	if least, ok := n.Get("minItems").Number(); ok && length < least {
		return false
	}
	if most, ok := n.Get("maxItems").Number(); ok && length > most {
		return false
	}
	return !slices.ContainsFunc(value.Items(), func(item *tree.Node) bool { return n.Has("items") && !f.fits(n.Get("items"), item, depth+1) })
}

func (f fitter) objectFits(n, value *tree.Node, depth int) bool {
	for _, name := range n.Get("required").Texts() {
		if !value.Has(name) {
			return false
		}
	}
	properties, more := n.Get("properties"), n.Get("additionalProperties")
	for _, member := range value.Members() {
		switch schema := properties.Get(member.Name); {
		case schema != nil:
			if !f.fits(schema, member.Value, depth+1) {
				return false
			}
		case more.False(), more.IsObject() && !f.fits(more, member.Value, depth+1):
			return false
		}
	}
	return true
}
