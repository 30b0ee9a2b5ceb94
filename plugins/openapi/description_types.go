package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// typeWords are the types that a description names in a word.
var typeWords = map[string]string{
	"text": `{"type":"string"}`, "string": `{"type":"string"}`, "integer": `{"type":"integer"}`, "number": `{"type":"number"}`, "boolean": `{"type":"boolean"}`,
	"time": `{"type":"string","format":"date-time"}`, "date": `{"type":"string","format":"date"}`, "secret": `{"type":"string","format":"password"}`,
	"object": `{"type":"object"}`, "any": `{}`, "nothing": `{"type":"null"}`, "file": `{"type":"string","format":"binary"}`,
}

// schema writes a type of a description as a schema: a word, the name of a type, words
// with | between them, [type] for a list, an object of fields, or `schema:` with a JSON
// Schema. `optional` before a word lets it be left out or null; behind `; ` stands what it
// is.
func (x expansion) schema(n *tree.Node, place string) (sdk.Value, error) {
	switch {
	case n.IsText():
		return x.word(n.Text(), place)
	case n.IsList():
		items := n.Items()
		if len(items) != 1 {
			return nil, fmt.Errorf("%s: a list is written as [type]", place)
		}
		inner, err := x.schema(items[0], place)
		if err != nil {
			return nil, err
		}
		return tree.Object{{Name: "type", Value: sdk.Value(`"array"`)}, {Name: "items", Value: inner}}.JSON(), nil
	case !n.IsObject():
		return nil, fmt.Errorf("%s: a type is due, such as text, integer, [text] or an object of fields", place)
	case isWritten(n):
		return n.Get("schema").JSON(), nil
	}
	properties, required := tree.Object{}, []string{}
	for _, field := range n.Members() {
		schema, err := x.schema(field.Value, child(place, field.Name))
		if err != nil {
			return nil, err
		}
		properties = append(properties, tree.Field{Name: field.Name, Value: schema})
		if !optional(field.Value) {
			required = append(required, field.Name)
		}
	}
	out := tree.Object{{Name: "type", Value: sdk.Value(`"object"`)}, {Name: "properties", Value: properties.JSON()}}
	if len(required) > 0 {
		out = out.With("required", sdk.JSON(required))
	}
	return out.JSON(), nil
}

// isWritten reports whether a type is a JSON Schema: `schema:`, with `optional: true`
// beside it or not.
func isWritten(n *tree.Node) bool {
	return n.Get("schema").IsObject() && !slices.ContainsFunc(n.Members(), func(m tree.Member) bool {
		return m.Name != "schema" && (m.Name != "optional" || !m.Value.IsBool())
	})
}

// optional reports whether a type says that a value may be left out.
func optional(n *tree.Node) bool {
	if n.IsObject() {
		return isWritten(n) && n.Get("optional").True()
	}
	return strings.HasPrefix(strings.TrimSpace(n.Text()), optionalWord)
}

const optionalWord = "optional "

func (x expansion) word(word, place string) (sdk.Value, error) {
	word, doc, _ := strings.Cut(word, "; ")
	plain, may := strings.CutPrefix(strings.TrimSpace(word), optionalWord)
	schema, err := x.plain(strings.TrimSpace(plain), place)
	if err != nil {
		return nil, err
	}
	if may {
		schema = orNothing(schema)
	}
	if object, ok := tree.ReadObject(schema); ok && doc != "" {
		schema = object.With("description", tree.Text(strings.TrimSpace(doc))).JSON()
	}
	return schema, nil
}

// orNothing lets a schema take null.
func orNothing(schema sdk.Value) sdk.Value {
	object, _ := tree.ReadObject(schema)
	if kind := object.Get("type"); kind != nil && object.Get("enum") == nil && tree.Of(kind).IsText() {
		return object.With("type", tree.List([]sdk.Value{kind, sdk.Value(`"null"`)})).JSON()
	}
	return tree.Object{{Name: "anyOf", Value: tree.List([]sdk.Value{schema, sdk.Value(`{"type":"null"}`)})}}.JSON()
}

// plain writes what a word names.
func (x expansion) plain(plain, place string) (sdk.Value, error) {
	var schema sdk.Value
	switch {
	case typeWords[plain] != "":
		schema = sdk.Value(typeWords[plain])
	case strings.HasPrefix(plain, "[") && strings.HasSuffix(plain, "]"):
		inner, err := x.word(plain[1:len(plain)-1], place)
		if err != nil {
			return nil, err
		}
		schema = tree.Object{{Name: "type", Value: sdk.Value(`"array"`)}, {Name: "items", Value: inner}}.JSON()
	case x.types.Has(plain):
		schema = tree.Object{{Name: "$ref", Value: tree.Text("#" + child("/components/schemas", plain))}}.JSON()
	case strings.Contains(plain, "|"):
		var words []sdk.Value
		for one := range strings.SplitSeq(plain, "|") {
			words = append(words, tree.Text(strings.TrimSpace(one)))
		}
		schema = tree.Object{{Name: "type", Value: sdk.Value(`"string"`)}, {Name: "enum", Value: tree.List(words)}}.JSON()
	default:
		known := []string{}
		for name := range typeWords {
			known = append(known, name)
		}
		for _, member := range x.types.Members() {
			known = append(known, member.Name)
		}
		slices.Sort(known)
		if near := sdk.Nearest(plain, known); near != "" {
			return nil, fmt.Errorf("%s: there is no type `%s`: did you mean %s?", place, sdk.Shown(plain, 40), near)
		}
		return nil, fmt.Errorf("%s: there is no type `%s`: there are %s", place, sdk.Shown(plain, 40), strings.Join(known, ", "))
	}
	return schema, nil
}

// parameters writes the parameters of an action: those of the path are text where nothing
// else is said.
func (x expansion) parameters(n *tree.Node, path, place string) ([]sdk.Value, error) {
	all := []sdk.Value{}
	add := func(name, in string, kind *tree.Node, at string) error {
		schema, err := x.schema(kind, at)
		if err != nil {
			return err
		}
		p := tree.Object{{Name: "name", Value: tree.Text(name)}, {Name: "in", Value: tree.Text(in)}, {Name: "schema", Value: schema}}
		if in == "path" || !optional(kind) {
			p = p.With("required", sdk.Value("true"))
		}
		if form := n.Get("as").Get(name); form != nil {
			p = p.With("x-flowrun-as", form.JSON())
		}
		all = append(all, p.JSON())
		return nil
	}
	for _, name := range templates(path) {
		kind := n.Get("path").Get(name)
		if kind == nil {
			kind = tree.NewText("text")
		}
		if err := add(name, "path", kind, child(place, "path", name)); err != nil {
			return nil, err
		}
	}
	for _, member := range n.Get("path").Members() {
		if !slices.Contains(templates(path), member.Name) {
			return nil, fmt.Errorf("%s: the path %s has no {%s}", child(place, "path", member.Name), path, sdk.Shown(member.Name, 40))
		}
	}
	for _, kind := range [][2]string{{"query", "query"}, {"headers", "header"}} {
		word, in := kind[0], kind[1]
		for _, member := range n.Get(word).Members() {
			if err := add(member.Name, in, member.Value, child(place, word, member.Name)); err != nil {
				return nil, err
			}
		}
	}
	for _, member := range n.Get("fixed").Members() {
		all = append(all, tree.Object{
			{Name: "name", Value: tree.Text(member.Name)}, {Name: "in", Value: sdk.Value(`"query"`)}, {Name: "x-flowrun-fixed", Value: member.Value.JSON()},
		}.JSON())
	}
	own, err := x.own(n.Get("own"), place)
	return append(all, own...), err
}

// own writes the inputs of an action that are not sent.
func (x expansion) own(n *tree.Node, place string) ([]sdk.Value, error) {
	var all []sdk.Value
	for _, member := range n.Members() {
		schema, err := x.schema(member.Value, child(place, "own", member.Name))
		if err != nil {
			return nil, err
		}
		all = append(all, tree.Object{
			{Name: "name", Value: tree.Text(member.Name)}, {Name: "in", Value: sdk.Value(`"query"`)}, {Name: "x-flowrun-own", Value: sdk.Value("true")},
			{Name: "schema", Value: schema},
		}.JSON())
	}
	return all, nil
}

// content writes a type as the content of a body or an answer.
func (x expansion) content(n *tree.Node, media, place string) (content sdk.Value, may bool, err error) {
	schema, err := x.schema(n, place)
	if err != nil {
		return nil, false, err
	}
	inner := tree.Object{{Name: "schema", Value: schema}}
	return tree.Object{{Name: media, Value: inner.JSON()}}.JSON(), optional(n), nil
}

// security writes how the service wants credentials: a word, or an API key with its
// header.
func (x expansion) security(n *tree.Node) (tree.Object, error) {
	schemes := tree.Object{}
	if n == nil || n.IsNull() {
		return nil, nil // it does not say
	}
	if n.Text() == "none" {
		return schemes, nil
	}
	choices := []*tree.Node{n}
	if n.IsList() {
		choices = n.Items()
	}
	for _, one := range choices {
		switch {
		case one.Text() == "bearer" || one.Text() == "basic":
			schemes = append(schemes, tree.Field{Name: one.Text(), Value: tree.Object{{Name: "type", Value: sdk.Value(`"http"`)}, {Name: "scheme", Value: one.JSON()}}.JSON()})
		case one.Get("api_key").IsText():
			in := one.Get("in").Text()
			if in == "" {
				in = "header"
			}
			schemes = append(schemes, tree.Field{Name: one.Get("api_key").Text(), Value: tree.Object{
				{Name: "type", Value: sdk.Value(`"apiKey"`)}, {Name: "name", Value: one.Get("api_key").JSON()}, {Name: "in", Value: tree.Text(in)},
			}.JSON()})
		case one.Get("token_url").IsText():
			flow := tree.Object{{Name: "tokenUrl", Value: one.Get("token_url").JSON()}}
			flows := tree.Object{{Name: "clientCredentials", Value: flow.JSON()}}
			schemes = append(schemes, tree.Field{Name: "oauth", Value: tree.Object{{Name: "type", Value: sdk.Value(`"oauth2"`)}, {Name: "flows", Value: flows.JSON()}}.JSON()})
		default:
			return nil, fmt.Errorf("/auth: bearer, basic, none, {api_key: HEADER} or {token_url: URL} is due")
		}
	}
	return schemes, nil
}
