package schema

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strconv"
	"strings"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/duration"
)

// references are those of one schema document: what they point at, and what was
// read of it. A reference to something that is being read already is a recursive
// schema, and cut: any value.
type references struct {
	objects map[string]*ordered  // of the document, by JSON Pointer
	known   map[string]*followed // what was read; nil = nothing is remembered
	open    []*following         // outermost first
}

// following is a reference that is being read.
type following struct {
	ref   string
	reach map[string]bool // the references in it
	cut   int             // the outermost place in `open` at which one of them was cut
}

// followed is what was read of a reference.
type followed struct {
	t      *Type
	made   int             // types
	levels int             // below the reference
	reach  map[string]bool // the references in it: it is another type inside of these
}

// cut reports whether the reference is being read, and notes it where it is.
func (r *references) cut(ref string) bool {
	for i, f := range r.open {
		if f.ref != ref {
			continue
		}
		last := r.open[len(r.open)-1]
		last.cut = min(last.cut, i)
		last.reach[ref] = true
		return true
	}
	return false
}

// remembered returns what was read of a reference, nil where it has to be read:
// for the first time, or because what is being read would be cut in it.
func (r *references) remembered(ref string) *followed {
	f := r.known[ref]
	if f == nil {
		return nil
	}
	for _, open := range r.open {
		if f.reach[open.ref] {
			return nil
		}
	}
	r.reaches(ref, f.reach)
	return f
}

// reaches notes that the reference which is being read leads to another, and to
// where that leads.
func (r *references) reaches(ref string, reach map[string]bool) {
	if len(r.open) == 0 {
		return
	}
	last := r.open[len(r.open)-1]
	last.reach[ref] = true
	for far := range reach {
		last.reach[far] = true
	}
}

func (r *references) enter(ref string) {
	r.open = append(r.open, &following{ref: ref, reach: map[string]bool{}, cut: len(r.open)})
}

// leave ends the innermost reference. What was read is remembered where it does
// not depend on those around it.
func (r *references) leave(f *followed) {
	place := len(r.open) - 1
	last := r.open[place]
	r.open = r.open[:place]
	f.reach = last.reach
	if last.cut >= place && r.known != nil {
		r.known[last.ref] = f
	}
	r.reaches(last.ref, last.reach)
	if place > 0 {
		r.open[place-1].cut = min(r.open[place-1].cut, last.cut)
	}
}

// lookUp finds the schema that a reference names. Each object of the document is
// parsed once.
func (r *references) lookUp(ref string) (*ordered, error) {
	rest, ok := strings.CutPrefix(ref, "#")
	if !ok {
		return nil, fmt.Errorf("$ref %s points out of the schema", duration.Quote(ref))
	}
	decoded, err := url.PathUnescape(rest) // the pointer is a fragment of a URI (RFC 6901, 6)
	if err != nil {
		return nil, fmt.Errorf("$ref %s has a %% that begins no escaped sign", duration.Quote(ref))
	}
	at, pointer, isList := r.objects[""], "", false
	for _, part := range diag.PointerParts(decoded) {
		if part == "" {
			continue
		}
		pointer += diag.Pointer(part)
		next, ok := r.objects[pointer]
		if !ok {
			text, there := at.values[part]
			if !there {
				return nil, fmt.Errorf("$ref %s points at nothing", duration.Quote(ref))
			}
			if next, err = parsePart(text); err != nil {
				return nil, fmt.Errorf("$ref %s: %w", duration.Quote(ref), err)
			}
			r.objects[pointer] = next
		}
		at, isList = next, next.list
	}
	if isList {
		return nil, fmt.Errorf("$ref %s points at a list, which is no schema", duration.Quote(ref))
	}
	return at, nil
}

// parsePart parses a part of a document on the way to a schema: a schema, or a list of
// them, such as anyOf, whose elements go by their numbers.
func parsePart(text json.RawMessage) (*ordered, error) {
	var elements []json.RawMessage
	if !bytes.HasPrefix(bytes.TrimSpace(text), []byte("[")) || json.Unmarshal(text, &elements) != nil {
		return parseSchema(text)
	}
	o := &ordered{values: map[string]json.RawMessage{}, list: true}
	for i, element := range elements {
		o.names = append(o.names, strconv.Itoa(i))
		o.values[strconv.Itoa(i)] = element
	}
	return o, nil
}
