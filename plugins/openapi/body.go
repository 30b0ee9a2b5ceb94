package openapi

import (
	"mime"
	"slices"
	"strings"

	"github.com/flowrun/flowrun/plugins/internal/recipe"
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// isJSON reports whether a media type is JSON.
func isJSON(media string) bool {
	name := baseMedia(media)
	return name == "application/json" || strings.HasSuffix(name, "+json") || name == "text/json"
}

func baseMedia(media string) string {
	name, _, err := mime.ParseMediaType(media)
	if err != nil {
		return strings.ToLower(strings.TrimSpace(media))
	}
	return name
}

// isText reports whether a media type is a text that people read.
func isText(media string) bool {
	name := baseMedia(media)
	if strings.HasPrefix(name, "text/") || strings.HasSuffix(name, "+xml") || strings.HasSuffix(name, "+yaml") {
		return true
	}
	return slices.Contains([]string{"application/xml", "application/yaml", "application/javascript", "application/x-ndjson", "application/graphql"}, name)
}

// bodyKind is how a body of a media type is made.
func bodyKind(media string) string {
	switch name := baseMedia(media); {
	case isJSON(media), name == "*/*", name == "application/*":
		return recipe.BodyJSON
	case name == "application/x-www-form-urlencoded":
		return recipe.BodyForm
	case name == "multipart/form-data":
		return recipe.BodyMultipart
	case isText(media):
		return recipe.BodyText
	}
	return recipe.BodyBytes
}

// bodyKinds are the kinds of bodies, the one that is taken first where a service takes
// several.
var bodyKinds = []string{recipe.BodyJSON, recipe.BodyForm, recipe.BodyMultipart, recipe.BodyText, recipe.BodyBytes}

// body makes the body of a request an input.
func (s *schemas) body(in *inputs, body *tree.Node, place string) {
	var chosen tree.Member
	for _, content := range body.Get("content").Members() {
		better := slices.Index(bodyKinds, bodyKind(content.Name)) < slices.Index(bodyKinds, bodyKind(chosen.Name))
		if chosen.Value == nil || better || baseMedia(content.Name) == "application/json" {
			chosen = content
		}
	}
	if chosen.Value == nil {
		return
	}
	for _, content := range body.Get("content").Members() {
		if content.Name != chosen.Name && bodyKind(content.Name) != bodyKind(chosen.Name) {
			s.notes.add(child(place, "content", content.Name), "is not sent: %s is", chosen.Name)
		}
	}
	at := child(place, "content", chosen.Name)
	b := &recipe.Body{Input: bodyInput, Kind: bodyKind(chosen.Name), Media: chosen.Name}
	if strings.Contains(chosen.Name, "*") || b.Kind == recipe.BodyForm || b.Kind == recipe.BodyMultipart {
		b.Media = ""
	}
	written := s.bodySchema(b, chosen.Value, at)
	if doc := shortDoc(body.Get("description").Text()); doc != "" {
		written = written.With("description", tree.Text(doc))
	}
	in.properties = append(in.properties, tree.Field{Name: bodyInput, Value: written.JSON()})
	if body.Get("required").True() {
		in.required = append(in.required, bodyInput)
	}
	in.recipe.Body = b
}

func (s *schemas) bodySchema(b *recipe.Body, content *tree.Node, place string) tree.Object {
	schema := content.Get("schema")
	switch b.Kind {
	case recipe.BodyText:
		return tree.Object{{Name: "type", Value: sdk.Value(`"string"`)}}
	case recipe.BodyBytes:
		return tree.Object{{Name: "type", Value: sdk.Value(`"string"`)}, {Name: "contentEncoding", Value: sdk.Value(`"base64"`)}}
	case recipe.BodyForm, recipe.BodyMultipart:
		return s.parts(b, content, place)
	}
	return s.of(schema, child(place, "schema"))
}

// fileSchema is a part that is a file.
const fileSchema = `{"type":"object","properties":{"name":{"type":"string","description":"Name of the file"},"text":{"type":"string","description":"Its content, as text"},"base64":{"type":"string","contentEncoding":"base64","description":"Its content, in Base64"},"type":{"type":"string","description":"Its media type"}},"additionalProperties":false}`

// parts writes the schema of a form or of parts: those that are files are objects with
// their content.
func (s *schemas) parts(b *recipe.Body, content *tree.Node, place string) tree.Object {
	schema, at := s.deref(content.Get("schema"), child(place, "schema"))
	written := s.of(schema, at)
	properties, ok := tree.ReadObject(orEmpty(written.Get("properties")))
	if !ok {
		return written.With("type", sdk.Value(`"object"`))
	}
	b.Parts = map[string]recipe.PartKind{}
	for _, field := range schema.Get("properties").Members() {
		encoding := content.Get("encoding").Get(field.Name)
		node, _ := s.deref(field.Value, child(at, "properties", field.Name))
		kind := recipe.PartKind{Media: encoding.Get("contentType").Text(), Style: encoding.Get("style").Text(), Explode: !encoding.Get("explode").False()}
		if strings.ContainsAny(kind.Media, ",*") {
			kind.Media = "" // a choice
		}
		item, several := node, node.Get("items")
		if several != nil {
			item, _ = s.deref(several, child(at, "properties", field.Name, "items"))
		}
		if b.Kind == recipe.BodyMultipart && isFile(item) && properties.Get(field.Name) != nil {
			kind.File = true
			text := sdk.Value(fileSchema)
			if several != nil {
				text = tree.Object{{Name: "type", Value: sdk.Value(`"array"`)}, {Name: "items", Value: text}}.JSON()
			}
			properties = properties.With(field.Name, text)
		}
		b.Parts[field.Name] = kind
	}
	return written.With("properties", properties.JSON())
}

// isFile reports whether a part is a file.
func isFile(n *tree.Node) bool {
	format := n.Get("format").Text()
	return format == "binary" || format == "byte" || n.Has("contentMediaType") || n.Get("type").Text() == "file"
}
