package openapi

import (
	"cmp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// way is the way that a value goes: some fields go one way only.
type way bool

const (
	toService   way = true  // inputs
	fromService way = false // outputs
)

// schemas writes schemas of a document as JSON Schema that the host reads. What the
// schemas refer to stands in $defs, each once. One of these is for one schema of an
// action.
type schemas struct {
	*document
	way   way
	deep  int  // references that lie deeper in each other stand for any value
	level int  // of the schema that is being written
	own   bool // it is of an input that is not sent: its default is ours

	names map[string]string // in $defs, by place
	taken map[string]bool
	queue []definition
	defs  tree.Object
}

// definition is a schema that was referred to and is still to be written.
type definition struct {
	node  *tree.Node
	place string
	name  string
	level int
}

func (d *document) schemas(w way, deep int) *schemas {
	return &schemas{document: d, way: w, deep: deep, names: map[string]string{}, taken: map[string]bool{}}
}

// finish writes what was referred to, and puts it below the schema.
func (s *schemas) finish(root tree.Object) sdk.Value {
	for len(s.queue) > 0 {
		next := s.queue[0]
		s.queue = s.queue[1:]
		s.level = next.level
		s.defs = append(s.defs, tree.Field{Name: next.name, Value: s.of(next.node, next.place).JSON()})
	}
	if len(s.defs) > 0 {
		root = root.With("$defs", s.defs.JSON())
	}
	return root.JSON()
}

// of writes a schema. A schema that takes anything is an empty object.
func (s *schemas) of(n *tree.Node, place string) tree.Object {
	if n.Has("$ref") {
		return s.reference(n, place)
	}
	out := tree.Object{}
	if !n.IsObject() {
		if n.False() {
			s.notes.add(place, "a schema that takes nothing is read as one that takes anything")
		}
		return out
	}
	out = s.kind(out, n, place)
	if doc := s.docOf(n); doc != "" {
		out = out.With("description", tree.Text(doc))
	}
	out = s.bounds(out, n, place)
	out = s.object(out, n, place)
	out = s.list(out, n, place)
	out = s.choices(out, n, place)
	if s.secret(n) {
		out = out.With("writeOnly", sdk.Value("true"))
	}
	if fallback := n.Get("default"); s.own && fallback != nil {
		out = out.With("default", fallback.JSON())
	}
	if example := n.Get("example"); example != nil && !example.IsObject() && !example.IsList() {
		out = out.With("examples", sdk.Value("["+string(example.JSON())+"]"))
	}
	return s.null(out, n)
}

// secret reports whether a value is one: a password, or a text that is only ever sent.
func (s *schemas) secret(n *tree.Node) bool {
	if n.Get("format").Text() == "password" {
		return true
	}
	return s.way == toService && n.Get("writeOnly").True() && slices.Contains(typesOf(n), "string")
}

// docOf is the description of a schema. The default of an input is told in it: it is the
// service that puts it in, so that a change of a record does not set what was not named.
func (s *schemas) docOf(n *tree.Node) string {
	doc := shortDoc(cmp.Or(n.Get("description").Text(), n.Get("title").Text()))
	if fallback := n.Get("default"); s.way == toService && !s.own && fallback != nil && !fallback.IsNull() {
		said := "Default: " + sdk.Shown(string(fallback.JSON()), 100)
		if doc == "" {
			return said
		}
		return strings.TrimRight(doc, ". ") + ". " + said
	}
	return doc
}

// annotations are words beside a reference that allow no less.
var annotations = []string{"$ref", "description", "summary", "title", "example", "examples", "deprecated", "nullable", "externalDocs", "xml", "default", "readOnly", "writeOnly"}

// reference writes a schema that is elsewhere.
func (s *schemas) reference(n *tree.Node, place string) tree.Object {
	target, at := s.deref(n, place)
	if target == nil {
		return tree.Object{}
	}
	name, ok := s.define(target, at)
	if !ok {
		s.notes.add(place, "is any value: the schemas that refer to each other are too large to be read whole")
		return tree.Object{}
	}
	out := tree.Object{{Name: "$ref", Value: tree.Text("#/$defs/" + name)}}
	beside := slices.ContainsFunc(n.Members(), func(m tree.Member) bool {
		return !slices.Contains(annotations, m.Name) && !strings.HasPrefix(m.Name, "x-")
	})
	if beside && !s.v30 { // 3.0 does not read what stands beside a reference
		rest := tree.NewObject()
		for _, member := range n.Members() {
			if member.Name != "$ref" {
				rest.Set(member.Name, member.Value)
			}
		}
		own := s.of(rest, place)
		return tree.Object{{Name: "allOf", Value: tree.List([]sdk.Value{out.JSON(), own.JSON()})}}
	}
	if doc := shortDoc(n.Get("description").Text()); doc != "" {
		out = out.With("description", tree.Text(doc))
	}
	if n.Get("nullable").True() || n.Get("x-nullable").True() {
		out = out.With("nullable", sdk.Value("true"))
	}
	return out
}

// define gives what a place holds a name in $defs; false where it lies too deep.
func (s *schemas) define(n *tree.Node, place string) (string, bool) {
	if name, ok := s.names[place]; ok {
		return name, true
	}
	if s.level >= s.deep {
		return "", false
	}
	base := strings.Map(func(r rune) rune {
		if r < 128 && (r == '_' || r == '-' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z') {
			return r
		}
		return '_'
	}, unescape(place[strings.LastIndex(place, "/")+1:]))
	name := base
	for i := 2; s.taken[name]; i++ {
		name = base + "_" + string(sdk.JSON(i))
	}
	s.taken[name], s.names[place] = true, name
	s.queue = append(s.queue, definition{n, place, name, s.level + 1})
	return name, true
}

// choices writes anyOf, oneOf and allOf.
func (s *schemas) choices(out tree.Object, n *tree.Node, place string) tree.Object {
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		parts := n.Get(word)
		if parts == nil {
			continue
		}
		if len(parts.Items()) == 0 {
			s.notes.add(child(place, word), "is no list of schemas")
			continue
		}
		var all []sdk.Value
		for i, part := range parts.Items() {
			at := child(place, word, i)
			if !s.goes(part, at) {
				continue
			}
			all = append(all, s.tagged(n, part, s.of(part, at)).JSON())
		}
		if len(all) > 0 {
			out = out.With(word, tree.List(all))
		}
	}
	for _, word := range unread {
		if value := n.Get(word); value != nil && (!value.False() || strings.HasPrefix(word, "unevaluated")) {
			s.notes.add(child(place, word), "is not read: what it excludes is not noticed")
		}
	}
	return out
}

// unread are the words that allow less and are not read.
var unread = []string{
	"contains", "dependencies", "dependentRequired", "dependentSchemas", "if", "maxProperties", "minProperties", "multipleOf", "not", "patternProperties",
	"propertyNames", "unevaluatedItems", "unevaluatedProperties", "uniqueItems", "$dynamicRef", "$recursiveRef",
}

// tagged gives a choice the value of its tag, by the document's mapping or, where it has
// none, by the name of the schema: a wrong one is found, and a condition on the tag tells
// which of the choices an answer is.
func (s *schemas) tagged(union, part *tree.Node, written tree.Object) tree.Object {
	tag := union.Get("discriminator").Get("propertyName").Text()
	ref := part.Get("$ref").Text()
	if tag == "" || ref == "" {
		return written
	}
	var values []sdk.Value
	mapping := union.Get("discriminator").Get("mapping").Members()
	if len(mapping) == 0 {
		values = append(values, tree.Text(unescape(ref[strings.LastIndex(ref, "/")+1:])))
	}
	for _, entry := range mapping {
		if entry.Value.Text() == ref || strings.HasSuffix(ref, "/schemas/"+entry.Value.Text()) {
			values = append(values, tree.Text(entry.Name))
		}
	}
	if len(values) == 0 {
		return written
	}
	properties := tree.Object{{Name: tag, Value: tree.Object{
		{Name: "type", Value: sdk.Value(`"string"`)}, {Name: "enum", Value: tree.List(values)},
	}.JSON()}}
	narrowed := tree.Object{
		{Name: "type", Value: sdk.Value(`"object"`)}, {Name: "properties", Value: properties.JSON()},
		{Name: "required", Value: tree.List([]sdk.Value{tree.Text(tag)})}, {Name: "additionalProperties", Value: sdk.Value("true")},
	}
	return tree.Object{{Name: "allOf", Value: tree.List([]sdk.Value{written.JSON(), narrowed.JSON()})}}
}

// goes reports whether a field goes this way at all.
func (s *schemas) goes(n *tree.Node, place string) bool {
	if n.False() {
		return false
	}
	word := "writeOnly"
	if s.way == toService {
		word = "readOnly"
	}
	if n.Get(word).True() {
		return false
	}
	if n.Has("$ref") {
		target, _ := s.deref(n, place)
		return !target.Get(word).True()
	}
	return true
}
