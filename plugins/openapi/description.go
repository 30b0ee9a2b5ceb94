package openapi

import (
	"fmt"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// A description says in few lines what an OpenAPI document says in many: `api: 1` at its
// top, and then the actions with method, path, query, body and answer. It is read as the
// OpenAPI document that it stands for.

// descriptionWords are the words at the top of a description.
var descriptionWords = []string{"api", "title", "version", "base_url", "auth", "envelope", "paging", "limits", "check", "timeout", "faults", "types", "actions"}

// actionWords are the words of an action besides its method.
var actionWords = []string{
	"doc", "deprecated", "path", "query", "headers", "body", "form", "parts", "answer", "effect", "key_header", "limits", "timeout", "paging", "envelope", "faults",
	"own", "fixed", "as", "refuse", "fill", "join", "only", "examples",
}

// expand writes a description as an OpenAPI document.
func expand(root *tree.Node) (*tree.Node, error) {
	if version := root.Get("api").Plain(); version != "1" {
		return nil, fmt.Errorf("`api: %s` is not known: it is 1", sdk.Shown(version, 16))
	}
	if err := onlyWords(root, "", descriptionWords); err != nil {
		return nil, err
	}
	x := expansion{types: root.Get("types")}
	info := tree.Object{{Name: "title", Value: root.Get("title").JSON()}, {Name: "version", Value: tree.Text(root.Get("version").Plain())}}
	out := tree.Object{{Name: "openapi", Value: sdk.Value(`"3.1.0"`)}, {Name: "info", Value: info.JSON()}}
	if base := root.Get("base_url"); base.IsText() {
		server := tree.Object{{Name: "url", Value: base.JSON()}}
		out = out.With("servers", tree.List([]sdk.Value{server.JSON()}))
	}
	paths, err := x.paths(root)
	if err != nil {
		return nil, err
	}
	out = out.With("paths", paths.JSON())
	schemes, err := x.security(root.Get("auth"))
	if err != nil {
		return nil, err
	}
	types := tree.Object{}
	for _, member := range x.types.Members() {
		schema, err := x.schema(member.Value, child("/types", member.Name))
		if err != nil {
			return nil, err
		}
		types = append(types, tree.Field{Name: member.Name, Value: schema})
	}
	components := tree.Object{{Name: "schemas", Value: types.JSON()}}
	if schemes != nil {
		components = components.With("securitySchemes", schemes.JSON())
		var all []sdk.Value
		for _, scheme := range schemes {
			all = append(all, tree.Object{{Name: scheme.Name, Value: sdk.Value("[]")}}.JSON())
		}
		if len(all) > 0 {
			out = out.With("security", tree.List(all))
		}
	}
	out = out.With("components", components.JSON())
	for _, word := range []string{"limits", "check"} {
		if said := root.Get(word); said != nil {
			out = out.With("x-flowrun-"+word, said.JSON())
		}
	}
	return tree.Parse(out.JSON())
}

// onlyWords refuses words that are not known, with the one that was probably meant.
func onlyWords(n *tree.Node, place string, known []string) error {
	for _, member := range n.Members() {
		if slices.Contains(known, member.Name) {
			continue
		}
		if near := sdk.Nearest(member.Name, known); near != "" {
			return fmt.Errorf("%s: there is no word `%s`: did you mean %s?", child(place, member.Name), sdk.Shown(member.Name, 40), near)
		}
		return fmt.Errorf("%s: there is no word `%s`: there are %s", child(place, member.Name), sdk.Shown(member.Name, 40), strings.Join(known, ", "))
	}
	return nil
}

// expansion writes the parts of a description.
type expansion struct{ types *tree.Node }

// paths writes the actions below their paths.
func (x expansion) paths(root *tree.Node) (tree.Object, error) {
	actions := root.Get("actions").Members()
	if len(actions) == 0 {
		return nil, fmt.Errorf("/actions: the description has no actions")
	}
	paths := tree.Object{}
	for _, action := range actions {
		place := child("/actions", action.Name)
		method, path, err := methodOf(action.Value, place)
		if err != nil {
			return nil, err
		}
		operation, err := x.operation(root, action, path, place)
		if err != nil {
			return nil, err
		}
		item, _ := tree.ReadObject(orObject(paths.Get(path)))
		if item.Get(method) != nil {
			return nil, fmt.Errorf("%s: another action is %s %s too", place, strings.ToUpper(method), path)
		}
		paths = paths.With(path, item.With(method, operation.JSON()).JSON())
	}
	return paths, nil
}

func orObject(value sdk.Value) sdk.Value {
	if value == nil {
		return sdk.Value("{}")
	}
	return value
}

// methodOf finds the method and the path of an action: `get: /contacts/{id}`.
func methodOf(n *tree.Node, place string) (method, path string, err error) {
	if err := onlyWords(n, place, append(slices.Clone(methods), actionWords...)); err != nil {
		return "", "", err
	}
	for _, word := range methods {
		if !n.Has(word) {
			continue
		}
		if method != "" {
			return "", "", fmt.Errorf("%s: it has two methods, %s and %s", place, method, word)
		}
		method, path = word, n.Get(word).Text()
	}
	if !strings.HasPrefix(path, "/") {
		return "", "", fmt.Errorf("%s: it has no method with a path, such as `get: /contacts`", place)
	}
	return method, path, nil
}

// operation writes one action as an operation.
func (x expansion) operation(root *tree.Node, action tree.Member, path, place string) (tree.Object, error) {
	n := action.Value
	out := tree.Object{{Name: "operationId", Value: tree.Text(action.Name)}, {Name: "x-flowrun-name", Value: tree.Text(action.Name)}}
	if doc := n.Get("doc").Text(); doc != "" {
		out = out.With("x-flowrun-doc", tree.Text(doc))
	}
	if n.Get("deprecated").True() {
		out = out.With("deprecated", sdk.Value("true"))
	}
	parameters, err := x.parameters(n, path, place)
	if err != nil {
		return nil, err
	}
	out = out.With("parameters", tree.List(parameters))
	for _, kind := range [][2]string{{"body", "application/json"}, {"form", "application/x-www-form-urlencoded"}, {"parts", "multipart/form-data"}} {
		word, media := kind[0], kind[1]
		if !n.Has(word) {
			continue
		}
		content, optional, err := x.content(n.Get(word), media, child(place, word))
		if err != nil {
			return nil, err
		}
		out = out.With("requestBody", tree.Object{{Name: "required", Value: sdk.JSON(!optional)}, {Name: "content", Value: content}}.JSON())
	}
	responses := tree.Object{{Name: "2XX", Value: sdk.Value(`{"description":"done"}`)}}
	if n.Has("answer") {
		content, _, err := x.content(wrapped(root, n), "application/json", child(place, "answer"))
		if err != nil {
			return nil, err
		}
		responses = responses.With("2XX", tree.Object{{Name: "description", Value: sdk.Value(`"done"`)}, {Name: "content", Value: content}}.JSON())
	}
	out = out.With("responses", responses.JSON())
	for _, word := range []string{"effect", "key_header", "limits", "timeout", "paging", "envelope", "join", "only"} {
		value := n.Get(word)
		if value == nil && (word == "timeout" || word == "paging" || word == "envelope") {
			value = root.Get(word)
		}
		if value != nil {
			out = out.With("x-flowrun-"+strings.ReplaceAll(word, "_", "-"), sdk.Value(value.JSON()))
		}
	}
	for _, listed := range []struct {
		word string
		all  []sdk.Value
	}{
		{"faults", append(named(n.Get("faults"), faultOf), named(root.Get("faults"), faultOf)...)},
		{"refuse", refusals(n.Get("refuse"))}, {"fill", named(n.Get("fill"), fillOf)}, {"examples", named(n.Get("examples"), exampleOf)},
	} {
		if len(listed.all) > 0 {
			out = out.With("x-flowrun-"+listed.word, tree.List(listed.all))
		}
	}
	return out, nil
}

// wrapped is the answer of an action inside of the service's envelope.
func wrapped(root, n *tree.Node) *tree.Node {
	envelope := n.Get("envelope")
	if envelope == nil {
		envelope = root.Get("envelope")
	}
	answer := n.Get("answer")
	tokens := strings.Split(strings.TrimPrefix(envelope.Get("data").Text(), "/"), "/")
	slices.Reverse(tokens)
	for _, token := range tokens {
		if token != "" {
			outer := tree.NewObject()
			outer.Set(strings.NewReplacer("~1", "/", "~0", "~").Replace(token), answer)
			answer = outer
		}
	}
	return answer
}
