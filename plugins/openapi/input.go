package openapi

import (
	"cmp"
	"regexp"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// bodyInput is the input that the body of a request is, whatever it holds: a field that
// the service adds to it can't be mistaken for a parameter.
const bodyInput = "body"

// inputs are the inputs of an operation, while they are gathered.
type inputs struct {
	properties tree.Object
	required   []string
	recipe     *recipe.Recipe
}

// places are those of parameters, in the order in which they take their names.
var places = []string{recipe.InPath, recipe.InQuery, recipe.InHeader, recipe.InCookie}

// parameter is a parameter of an operation.
type parameter struct {
	node  *tree.Node
	place string
	name  string
	in    string
}

// inputs gathers the parameters and the body of an operation.
func (s *schemas) inputs(o *Operation, r *recipe.Recipe) *inputs {
	in := &inputs{properties: tree.Object{}, recipe: r}
	body, place := s.deref(o.node.Get("requestBody"), child(o.place, "requestBody"))
	if body.IsObject() {
		s.body(in, body, place)
	}
	for _, p := range s.parameters(o) {
		if o.keyHeader() != "" && p.in == recipe.InHeader && strings.EqualFold(p.name, o.keyHeader()) {
			continue // the plugin sends it
		}
		s.parameter(in, p)
	}
	return in
}

// parameters are those of the operation and of its path, by place and then in the order
// of the document. One of the operation stands for the one of the path with its name.
func (s *schemas) parameters(o *Operation) []parameter {
	var all []parameter
	shared := strings.TrimSuffix(o.place, child("", strings.ToLower(o.Method)))
	for _, from := range []struct {
		list  *tree.Node
		place string
	}{{o.node.Get("parameters"), child(o.place, "parameters")}, {o.item.Get("parameters"), child(shared, "parameters")}} {
		for i, item := range from.list.Items() {
			node, place := s.deref(item, child(from.place, i))
			p := parameter{node: node, place: place, name: node.Get("name").Text(), in: node.Get("in").Text()}
			same := func(other parameter) bool { return other.name == p.name && other.in == p.in }
			if s.sendable(p) && !slices.ContainsFunc(all, same) {
				all = append(all, p)
			}
		}
	}
	for _, name := range templates(o.Path) {
		if !slices.ContainsFunc(all, func(p parameter) bool { return p.in == recipe.InPath && p.name == name }) {
			s.notes.add(o.place, "the path has {%s}, and no parameter says what it is: text is taken", sdk.Shown(name, 60))
			all = append(all, parameter{place: o.place, name: name, in: recipe.InPath})
		}
	}
	slices.SortStableFunc(all, func(a, b parameter) int {
		return cmp.Compare(slices.Index(places, a.in), slices.Index(places, b.in))
	})
	return slices.DeleteFunc(all, func(p parameter) bool {
		return p.in == recipe.InPath && !slices.Contains(templates(o.Path), p.name)
	})
}

// sendable reports whether a parameter can be sent.
func (s *schemas) sendable(p parameter) bool {
	switch {
	case p.node == nil:
		return false
	case p.name == "" || !slices.Contains(places, p.in):
		s.notes.add(p.place, "the parameter is left out: it has no name, or no place that is known")
		return false
	case p.in == recipe.InHeader && recipe.IsSetByClient(p.name):
		return false
	case p.in == recipe.InHeader && !sdk.IsHeaderName(p.name):
		s.notes.add(p.place, "the parameter is left out: %q is no name of a header", sdk.Shown(p.name, 60))
		return false
	}
	return true
}

// templates are the names of the parameters in a path.
func templates(path string) []string {
	var names []string
	for {
		_, rest, ok := strings.Cut(path, "{")
		if !ok {
			return names
		}
		name, after, closed := strings.Cut(rest, "}")
		if !closed {
			return names
		}
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
		path = after
	}
}

// parameter makes one parameter an input.
func (s *schemas) parameter(in *inputs, p parameter) {
	if fixed := p.node.Get("x-flowrun-fixed"); fixed != nil {
		in.recipe.Params = append(in.recipe.Params, recipe.Param{Name: p.name, In: p.in, Fixed: fixed.JSON()})
		return
	}
	name := in.free(p)
	param := recipe.Param{Input: name, Name: p.name, In: p.in, Style: p.node.Get("style").Text(), Segments: p.node.Get("x-multi-segment").True(), As: p.node.Get("x-flowrun-as").Text()}
	schema, place := p.node.Get("schema"), child(p.place, "schema")
	for _, content := range p.node.Get("content").Members() {
		schema, place = content.Value.Get("schema"), child(p.place, "content", content.Name, "schema")
		param.JSON = isJSON(content.Name)
	}
	param.Explode = p.in == recipe.InQuery || p.in == recipe.InCookie
	if style := param.Style; style != "" && style != "form" {
		param.Explode = style == "deepObject"
	}
	if said := p.node.Get("explode"); said.IsBool() {
		param.Explode = said.True()
	}
	s.own = p.node.Get("x-flowrun-own").True()
	written := s.of(schema, place)
	own := s.own
	s.own = false
	if p.node == nil {
		written = tree.Object{{Name: "type", Value: sdk.Value(`"string"`)}}
	}
	if doc := shortDoc(p.node.Get("description").Text()); doc != "" {
		if own := tree.Of(orEmpty(written.Get("description"))).Text(); strings.HasPrefix(own, "Default: ") {
			doc = strings.TrimRight(doc, ". ") + ". " + own
		}
		written = written.With("description", tree.Text(doc))
	}
	if p.in == recipe.InPath {
		written = notEmpty(written)
	}
	in.properties = append(in.properties, tree.Field{Name: name, Value: written.JSON()})
	if p.node.Get("required").True() || p.in == recipe.InPath {
		in.required = append(in.required, name)
	}
	if own {
		return
	}
	in.recipe.Params = append(in.recipe.Params, param)
}

// notEmpty refuses an empty text, which no path can carry, where the pattern does not.
func notEmpty(schema tree.Object) tree.Object {
	if pattern := tree.Of(orEmpty(schema.Get("pattern"))); pattern.IsText() {
		if read, err := regexp.Compile(pattern.Text()); err == nil && !read.MatchString("") {
			return schema
		}
	}
	if string(schema.Get("type")) == `"string"` && schema.Get("minLength") == nil && schema.Get("enum") == nil {
		return schema.With("minLength", sdk.Value("1"))
	}
	return schema
}

// free is a name for an input that no other has: the parameter's own, else with its
// place before it.
func (in *inputs) free(p parameter) string {
	name := p.name
	if in.properties.Get(name) != nil {
		name = p.in + "_" + p.name
	}
	for in.properties.Get(name) != nil {
		name += "_"
	}
	return name
}

// schema is the schema of the inputs.
func (in *inputs) schema() tree.Object {
	out := tree.Object{{Name: "type", Value: sdk.Value(`"object"`)}, {Name: "properties", Value: in.properties.JSON()}}
	if len(in.required) > 0 {
		out = out.With("required", sdk.JSON(in.required))
	}
	return out.With("additionalProperties", sdk.Value("false"))
}
