package openapi

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// document is an OpenAPI document.
type document struct {
	root  *tree.Node
	v30   bool // 3.0, whose schemas are a dialect of their own
	notes *notes
}

// newDocument looks at the version of a document.
func newDocument(root *tree.Node) (*document, error) {
	version := root.Get("openapi").Plain()
	d := &document{root: root, v30: strings.HasPrefix(version, "3.0"), notes: &notes{}}
	switch {
	case d.v30, strings.HasPrefix(version, "3.1"):
	case root.Has("swagger"):
		return nil, fmt.Errorf("the document is Swagger %s, which is not read: convert it to OpenAPI 3, for example with `npx swagger2openapi`", sdk.Shown(root.Get("swagger").Plain(), 16))
	case version == "":
		return nil, fmt.Errorf("the document has neither `openapi: 3.x` nor `api: 1` at its top")
	case strings.HasPrefix(version, "3."):
		d.notes.add("/openapi", "version %s is read as 3.1", sdk.Shown(version, 16))
	default:
		return nil, fmt.Errorf("the document is OpenAPI %s; 3.0 and 3.1 are read", sdk.Shown(version, 16))
	}
	if !root.Get("paths").IsObject() && !root.Has("webhooks") {
		return nil, fmt.Errorf("the document has no paths")
	}
	return d, nil
}

// maxReferences bounds how many references follow on each other.
const maxReferences = 32

// deref follows references to what they lead to, with its place. It is nil where one
// leads to nothing or out of the document, which is noted.
func (d *document) deref(n *tree.Node, place string) (*tree.Node, string) {
	for range maxReferences {
		ref := n.Get("$ref")
		if !ref.IsText() {
			return n, place
		}
		pointer, ok := pointerOf(ref.Text())
		if !ok {
			d.notes.add(place, "$ref %q leads out of the document, which is not followed: put all into one document first, for example with `npx @redocly/cli bundle`", sdk.Shown(ref.Text(), 120))
			return nil, place
		}
		next := d.root.At(pointer)
		if next == nil {
			d.notes.add(place, "$ref %q leads to nothing", sdk.Shown(ref.Text(), 120))
			return nil, place
		}
		n, place = next, pointer
	}
	d.notes.add(place, "references lead in a circle")
	return nil, place
}

// pointerOf returns the JSON Pointer of a reference into the document itself.
func pointerOf(ref string) (string, bool) {
	fragment, ok := strings.CutPrefix(ref, "#")
	if !ok || fragment != "" && fragment[0] != '/' {
		return "", false
	}
	if strings.Contains(fragment, "%") {
		fragment = unescape(fragment)
	}
	return fragment, true
}

// child is the place of a member or an element: steps are names and places in lists.
func child(place string, steps ...any) string {
	for _, step := range steps {
		switch step := step.(type) {
		case string:
			place = tree.Child(place, step)
		case int:
			place += "/" + strconv.Itoa(step)
		}
	}
	return place
}

// firstLine is the first sentence or line of a text, for lists.
func firstLine(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		text = text[:i]
	}
	if i := strings.Index(text, ". "); i >= 0 {
		text = text[:i+1]
	}
	return sdk.Shown(text, 200)
}

// maxDoc bounds a description in a schema, in bytes.
const maxDoc = 300

// shortDoc is a description for a schema: its first paragraph.
func shortDoc(text string) string {
	text = strings.TrimSpace(text)
	if i := strings.Index(text, "\n\n"); i >= 0 {
		text = text[:i]
	}
	return strings.TrimSpace(sdk.Shown(text, maxDoc))
}
