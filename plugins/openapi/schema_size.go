package openapi

import (
	"github.com/flowrun/flowrun/plugins/openapi/tree"
	"github.com/flowrun/flowrun/sdk"
)

// The host reads schemas of at most 20,000 types, 64 levels deep, each reference counted
// with all that it stands for. These bounds are below, so that none is refused.
const (
	maxTypes  = 16_000
	maxLevels = 56
	maxText   = 400_000 // bytes; a recipe, which holds both schemas, has at most 1 MiB
)

// depths are how deep references are followed, from all to none, until a schema is
// small enough.
var depths = []int{1 << 20, 12, 8, 6, 5, 4, 3, 2, 1, 0}

// fittedSchema writes a schema as deep as the host reads it. What lies deeper stands for
// any value, and is noted.
func (d *document) fittedSchema(w way, write func(s *schemas) tree.Object) sdk.Value {
	said := d.notes
	defer func() { d.notes = said }()
	var text sdk.Value
	for _, deep := range depths {
		d.notes = &notes{}
		s := d.schemas(w, deep)
		text = s.finish(write(s))
		if len(text) <= maxText && small(text) {
			break
		}
	}
	for _, note := range d.notes.list {
		said.add(note.Place, "%s", note.Text)
	}
	return text
}

// small reports whether the host reads a schema whole.
func small(schema sdk.Value) bool {
	root := tree.Of(schema)
	m := measure{defs: root.Get("$defs"), known: map[string]extent{}, open: map[string]bool{}}
	size := m.of(root)
	return size.types <= maxTypes && size.levels <= maxLevels
}

// extent is how large a schema is.
type extent struct{ types, levels int }

func (e *extent) below(part extent) {
	e.types = min(e.types+part.types, maxTypes+1)
	e.levels = max(e.levels, part.levels+1)
}

// measure counts the types of a schema as the host does.
type measure struct {
	defs  *tree.Node
	known map[string]extent
	open  map[string]bool
}

func (m *measure) of(n *tree.Node) extent {
	size := extent{types: 1, levels: 1}
	if ref := n.Get("$ref").Text(); ref != "" {
		size.below(m.reference(ref))
		return size
	}
	for _, field := range n.Get("properties").Members() {
		size.below(m.of(field.Value))
	}
	for _, word := range []string{"items", "additionalProperties"} {
		if part := n.Get(word); part.IsObject() {
			size.below(m.of(part))
		}
	}
	for _, word := range []string{"anyOf", "oneOf", "allOf"} {
		for _, part := range n.Get(word).Items() {
			size.below(m.of(part))
		}
	}
	return size
}

func (m *measure) reference(ref string) extent {
	if size, ok := m.known[ref]; ok {
		return size
	}
	if m.open[ref] {
		return extent{types: 1, levels: 1} // the host cuts it there
	}
	m.open[ref] = true
	size := m.of(m.defs.Get(ref[len("#/$defs/"):]))
	delete(m.open, ref)
	m.known[ref] = size
	return size
}
