package eval

import (
	"slices"
	"strings"

	"github.com/flowrun/flowrun/engine/schema"
)

// Scope holds the names that an expression sees, their types and what is known
// of them beyond that. Scopes are immutable and safe for concurrent use; the
// zero value and nil have no names.
type Scope struct {
	parent *Scope
	name   string
	typ    *schema.Type // of name; nil in a narrowing
	path   string       // narrowed path, joined
	narrow *schema.Type // type of path; nil = it is not null
}

// NewScope returns a scope without names.
func NewScope() *Scope { return &Scope{} }

// With returns a scope that has name besides, hiding an older one and what was
// known of it.
func (s *Scope) With(name string, t *schema.Type) *Scope {
	return &Scope{parent: s, name: name, typ: t}
}

// Narrow returns a scope in which the value at path has type t.
func (s *Scope) Narrow(path []string, t *schema.Type) *Scope {
	return &Scope{parent: s, path: joinPath(path), narrow: t}
}

// NonNull returns a scope in which the value at path and all on the way to it
// are not null.
func (s *Scope) NonNull(path []string) *Scope {
	for i := range path {
		s = &Scope{parent: s, path: joinPath(path[:i+1])}
	}
	return s
}

// Lookup returns the type of a name.
func (s *Scope) Lookup(name string) (*schema.Type, bool) {
	for ; s != nil; s = s.parent {
		if s.typ != nil && s.name == name {
			return s.typ, true
		}
	}
	return nil, false
}

// Names returns the visible names, sorted.
func (s *Scope) Names() []string {
	var names []string
	for ; s != nil; s = s.parent {
		if s.typ != nil {
			names = append(names, s.name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// refine returns what is known of the value at path, which has type t as far as
// its schema says.
func (s *Scope) refine(path []string, t *schema.Type) *schema.Type {
	if len(path) == 0 {
		return t
	}
	key, nonNull := "", false
	for ; s != nil; s = s.parent {
		if s.typ != nil && s.name == path[0] {
			break // what is known beyond is of another value
		}
		if s.path == "" {
			continue
		}
		if key == "" {
			key = joinPath(path)
		}
		if s.path != key {
			continue
		}
		if s.narrow != nil {
			t = s.narrow
			break
		}
		nonNull = true
	}
	if nonNull {
		return schema.NonNull(t)
	}
	return t
}

func joinPath(path []string) string { return strings.Join(path, "\x00") }
