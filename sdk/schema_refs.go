package sdk

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// maxTypes bounds the types of one schema, as the host does: references can double at
// every level.
const maxTypes = 20_000

// schemaReader reads one document and what references into it point at.
type schemaReader struct {
	root  json.RawMessage
	known map[string]followed
	open  map[string]bool // references that are being followed
	cuts  int             // references that met themselves
	made  int             // types, those that a known reference stands for too

	choices bool // read anyOf, oneOf and allOf
}

// followed is what a reference points at.
type followed struct {
	schema *schema
	made   int
}

// follow reads what a reference points at, with the words beside it. Inside of what it
// points at, it stands for any value: what is nested without an end is checked to its
// first level, as the host checks it.
func (r *schemaReader) follow(text schemaText) (*schema, error) {
	if r.open[text.Ref] {
		r.cuts++
		return &schema{}, nil
	}
	target, err := r.target(text.Ref)
	if err != nil {
		return nil, err
	}
	own := *target
	if text.Doc != "" {
		own.Doc = text.Doc
	}
	if text.Default != nil {
		own.Default = text.Default
	}
	own.Secret = own.Secret || text.Secret
	if text.Nullable && !own.nullable() {
		own.types = append(slices.Clone(own.types), "null")
	}
	return &own, nil
}

// target returns what a reference points at, read once; once more only where a part of
// it was cut.
func (r *schemaReader) target(ref string) (*schema, error) {
	if f, ok := r.known[ref]; ok {
		if r.made += f.made; r.made > maxTypes {
			return nil, fmt.Errorf("the schema is too large: more than %d types", maxTypes)
		}
		return f.schema, nil
	}
	raw, err := r.lookUp(ref)
	if err != nil {
		return nil, err
	}
	made, cuts := r.made, r.cuts
	r.open[ref] = true
	s, err := r.read(raw)
	delete(r.open, ref)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", ref, err)
	}
	if r.cuts == cuts {
		r.known[ref] = followed{schema: s, made: r.made - made}
	}
	return s, nil
}

// lookUp returns the text at a JSON pointer in the document (RFC 6901, as a fragment).
func (r *schemaReader) lookUp(ref string) (json.RawMessage, error) {
	pointer, local := strings.CutPrefix(ref, "#")
	pointer, err := url.PathUnescape(pointer)
	if !local || err != nil || pointer != "" && pointer[0] != '/' {
		return nil, fmt.Errorf("the reference %q is not one into the schema itself, such as #/$defs/name", plain(cut(ref, 200)))
	}
	at := r.root
	if pointer == "" {
		return at, nil
	}
	for _, token := range strings.Split(pointer[1:], "/") {
		if at = inside(at, strings.NewReplacer("~1", "/", "~0", "~").Replace(token)); at == nil {
			return nil, fmt.Errorf("the reference %q points at nothing", plain(cut(ref, 200)))
		}
	}
	return at, nil
}

// inside returns a member of an object or an item of an array, nil where there is none.
func inside(text json.RawMessage, token string) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(text, &object) == nil {
		return object[token]
	}
	var list []json.RawMessage
	i, err := strconv.Atoi(token)
	if err != nil || json.Unmarshal(text, &list) != nil || i < 0 || i >= len(list) {
		return nil
	}
	return list[i]
}
