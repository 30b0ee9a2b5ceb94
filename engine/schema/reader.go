package schema

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
)

// maxLevels bounds how deep the types of one schema lie in each other.
const maxLevels = 64

// reader reads one schema document.
type reader struct {
	references
	made    int // types, those that a remembered reference stands for too
	depth   int
	deepest int // that depth was since the reference began that is followed
}

func newReader(root *ordered) *reader {
	return &reader{references: references{objects: map[string]*ordered{"": root}, known: map[string]*followed{}}}
}

func (r *reader) raw(data []byte) (*Type, error) {
	o, err := parseSchema(data)
	if err != nil {
		return nil, err
	}
	return r.read(o)
}

func parseSchema(data []byte) (*ordered, error) {
	if bytes.Equal(bytes.TrimSpace(data), []byte("false")) {
		return nil, errors.New("the schema `false` allows no value")
	}
	return cutOrdered(data)
}

// count counts types of which the deepest lies so many levels below.
func (r *reader) count(types, levels int) error {
	if r.made += types; r.made > maxTypes {
		return fmt.Errorf("schema is too large: more than %d types", maxTypes)
	}
	if r.deepest = max(r.deepest, r.depth+levels); r.deepest > maxLevels {
		return fmt.Errorf("schema is nested deeper than %d", maxLevels)
	}
	return nil
}

func (r *reader) read(o *ordered) (*Type, error) {
	if err := r.count(1, 1); err != nil {
		return nil, err
	}
	r.depth++
	defer func() { r.depth-- }()
	if ref, ok := o.values["$ref"]; ok {
		return r.follow(ref, o)
	}
	t := &Type{}
	for _, read := range []func(*Type, *ordered) error{
		r.readWords, r.readKind, r.readParts, r.readBounds, r.readEnum,
	} {
		if err := read(t, o); err != nil {
			return nil, err
		}
	}
	t.indexFields()
	for _, word := range []string{"anyOf", "oneOf"} {
		if raw, ok := o.values[word]; ok {
			union, err := r.readUnion(word, raw)
			if err != nil {
				return nil, err
			}
			t = both(t, union)
		}
	}
	if raw, ok := o.values["allOf"]; ok {
		return r.readAll(t, raw)
	}
	return t, nil
}

// follow reads what a local reference points at, with the words beside it.
func (r *reader) follow(raw json.RawMessage, o *ordered) (*Type, error) {
	var ref string
	if err := json.Unmarshal(raw, &ref); err != nil {
		return nil, fmt.Errorf("$ref: %w", err)
	}
	if r.cut(ref) {
		return &Type{}, nil
	}
	t, err := r.target(ref)
	if err != nil {
		return nil, err
	}
	own := *t
	if err := r.readWords(&own, o); err != nil {
		return nil, err
	}
	if own.Doc == "" {
		own.Doc = t.Doc
	}
	own.Nullable = own.Nullable || t.Nullable
	own.Secret = own.Secret || t.Secret
	return &own, nil
}

// target returns the type that a reference points at: read once, and once more
// only where it would be another, inside of what it refers to itself.
func (r *reader) target(ref string) (*Type, error) {
	if f := r.remembered(ref); f != nil {
		return f.t, r.count(f.made, f.levels)
	}
	o, err := r.lookUp(ref)
	if err != nil {
		return nil, err
	}
	made, deepest := r.made, r.deepest
	r.deepest = r.depth
	r.enter(ref)
	t, err := r.read(o)
	if err != nil {
		return nil, err
	}
	r.leave(&followed{t: t, made: r.made - made, levels: r.deepest - r.depth})
	r.deepest = max(r.deepest, deepest)
	return t, nil
}
