package openapi

import (
	"regexp"
	"slices"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// jsonTypes are the types that a schema may name.
var jsonTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// typesOf are the types that a schema names.
func typesOf(n *tree.Node) []string {
	kind := n.Get("type")
	if kind.IsText() {
		return []string{kind.Text()}
	}
	return kind.Texts()
}

// kind writes the types of a schema, its enum, format and pattern.
func (s *schemas) kind(out tree.Object, n *tree.Node, place string) tree.Object {
	var types []string
	for _, name := range typesOf(n) {
		switch {
		case name == "file":
			types = append(types, "string")
		case !slices.Contains(jsonTypes, name):
			s.notes.add(child(place, "type"), "%q is no type of JSON", sdk.Shown(name, 40))
		case !slices.Contains(types, name):
			types = append(types, name)
		}
	}
	if len(types) == 0 && n.Has("properties") {
		types = []string{"object"}
	}
	if len(types) == 0 && n.Has("items") {
		types = []string{"array"}
	}
	switch len(types) {
	case 0:
	case 1:
		out = out.With("type", tree.Text(types[0]))
	default:
		out = out.With("type", sdk.JSON(types))
	}
	out = s.enum(out, n, place, types)
	if format := n.Get("format").Text(); format != "" && format != "password" && s.readsFormat(format) {
		out = out.With("format", tree.Text(format))
	}
	if pattern := n.Get("pattern"); pattern.IsText() {
		if _, err := regexp.Compile(pattern.Text()); err != nil {
			s.notes.add(child(place, "pattern"), "is not read: Go knows no such expression")
		} else {
			out = out.With("pattern", pattern.JSON())
		}
	}
	return out
}

// readsFormat reports whether a format is kept. Times are kept both ways. Other formats
// are checked in inputs alone: services write what they like.
func (s *schemas) readsFormat(format string) bool {
	switch format {
	case "date-time":
		return true
	case "date", "uuid", "ipv4", "ipv6", "byte", "binary", "email", "int32", "int64", "float", "double":
		return s.way == toService
	}
	return false
}

// enum writes enum and const. Values of another type than the schema's are left out: no
// value could be one.
func (s *schemas) enum(out tree.Object, n *tree.Node, place string, types []string) tree.Object {
	var values []*tree.Node
	word := "enum"
	switch {
	case n.Has("const"):
		values, word = []*tree.Node{n.Get("const")}, "const"
	case n.Get("enum").IsList():
		values = n.Get("enum").Items()
	case n.Has("enum"):
		s.notes.add(child(place, word), "is no list")
		return out
	default:
		return out
	}
	var kept []sdk.Value
	for _, value := range values {
		if len(types) > 0 && !value.IsNull() && !fits(value, types) {
			s.notes.add(child(place, word), "%s is of another type than the schema's", sdk.Shown(string(value.JSON()), 40))
			continue
		}
		if !slices.ContainsFunc(kept, func(k sdk.Value) bool { return string(k) == string(value.JSON()) }) {
			kept = append(kept, value.JSON())
		}
	}
	if len(kept) == 0 {
		return out
	}
	return out.With("enum", tree.List(kept))
}

// fits reports whether a value is of one of the types.
func fits(value *tree.Node, types []string) bool {
	_, whole := value.Number()
	return slices.ContainsFunc(types, func(name string) bool {
		switch name {
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

// bounds writes the bounds of numbers, texts and lists. In 3.0 an exclusive bound is a
// flag of the other.
func (s *schemas) bounds(out tree.Object, n *tree.Node, place string) tree.Object {
	for _, word := range []string{"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"} {
		bound := n.Get(word)
		switch {
		case bound == nil || bound.IsBool():
		case !bound.IsNumber():
			s.notes.add(child(place, word), "is no number")
		default:
			name := word
			if flag := map[string]string{"minimum": "exclusiveMinimum", "maximum": "exclusiveMaximum"}[word]; flag != "" && n.Get(flag).True() {
				name = flag
			}
			out = out.With(name, bound.JSON())
		}
	}
	for _, word := range []string{"minLength", "maxLength", "minItems", "maxItems"} {
		bound := n.Get(word)
		if bound == nil {
			continue
		}
		number, ok := bound.Number()
		if !ok || number < 0 || number > 1<<31-1 {
			s.notes.add(child(place, word), "is no length")
			continue
		}
		out = out.With(word, sdk.JSON(number))
	}
	return out
}

// object writes the fields of an object: those that go this way.
func (s *schemas) object(out tree.Object, n *tree.Node, place string) tree.Object {
	properties := tree.Object{}
	var gone []string
	if fields := n.Get("properties"); fields != nil && !fields.IsObject() {
		s.notes.add(child(place, "properties"), "is no object")
	}
	for _, field := range n.Get("properties").Members() {
		at := child(place, "properties", field.Name)
		if !s.goes(field.Value, at) {
			gone = append(gone, field.Name)
			continue
		}
		properties = append(properties, tree.Field{Name: field.Name, Value: s.of(field.Value, at).JSON()})
	}
	if n.Get("properties").IsObject() {
		out = out.With("properties", properties.JSON())
	}
	if required := n.Get("required"); required.IsList() {
		var names []string
		for _, name := range required.Texts() {
			if !slices.Contains(gone, name) && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
		if len(names) > 0 {
			out = out.With("required", sdk.JSON(names))
		}
	} else if required != nil && !required.IsBool() {
		s.notes.add(child(place, "required"), "is no list of names")
	}
	switch more := n.Get("additionalProperties"); {
	case more == nil:
	case more.IsBool():
		out = out.With("additionalProperties", more.JSON())
	case more.IsObject():
		out = out.With("additionalProperties", s.of(more, child(place, "additionalProperties")).JSON())
	default:
		s.notes.add(child(place, "additionalProperties"), "is no schema")
	}
	return out
}

// list writes the elements of a list.
func (s *schemas) list(out tree.Object, n *tree.Node, place string) tree.Object {
	items := n.Get("items")
	switch {
	case items.IsObject():
		out = out.With("items", s.of(items, child(place, "items")).JSON())
	case items.IsList():
		s.notes.add(child(place, "items"), "a schema for each place is not read: the elements may be anything")
	}
	if n.Has("prefixItems") {
		s.notes.add(child(place, "prefixItems"), "a schema for each place is not read: the elements may be anything")
		out = slices.DeleteFunc(out, func(m tree.Field) bool { return m.Name == "items" })
	}
	return out
}

// null lets a schema take null, where 3.0 says so in a word of its own.
func (s *schemas) null(out tree.Object, n *tree.Node) tree.Object {
	if !n.Get("nullable").True() && !n.Get("x-nullable").True() {
		return out
	}
	if values := out.Get("enum"); values != nil && !slices.ContainsFunc(tree.Of(values).Items(), (*tree.Node).IsNull) {
		var kept []sdk.Value
		for _, value := range tree.Of(values).Items() {
			kept = append(kept, value.JSON())
		}
		out = out.With("enum", tree.List(append(kept, sdk.Value("null"))))
	}
	switch kind := tree.Of(orEmpty(out.Get("type"))); {
	case kind.IsText():
		return out.With("type", sdk.JSON([]string{kind.Text(), "null"}))
	case kind.IsList():
		return out.With("type", sdk.JSON(append(kind.Texts(), "null")))
	case len(out) == 0:
		return out // takes null already
	}
	return tree.Object{{Name: "anyOf", Value: tree.List([]sdk.Value{out.JSON(), sdk.Value(`{"type":"null"}`)})}}
}

func orEmpty(value sdk.Value) sdk.Value {
	if value == nil {
		return sdk.Value("null")
	}
	return value
}
