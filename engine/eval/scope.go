package eval

import (
	"slices"
	"strings"

	"github.com/expr-lang/expr/ast"

	"github.com/flowrun/flowrun/engine/schema"
)

// Scope holds the names that an expression sees, their types and what is known
// of them beyond that. Scopes are immutable and safe for concurrent use; the
// zero value and nil have no names.
type Scope struct {
	parent *Scope
	name   string
	typ    *schema.Type // of name; nil in a narrowing
	means  ast.Node     // what a name of `let` was made of, in the scope parent
	path   string       // narrowed path, joined
	narrow *schema.Type // type of path; nil = it is not null
	least  int          // elements that the list at path has at least
	fact   *implication
}

// implication is a fact about paths that follows from one about another: where
// path is one of values, present is.
type implication struct {
	path    string
	values  []string
	present []string
}

// NewScope returns a scope without names.
func NewScope() *Scope { return &Scope{} }

// With returns a scope that has name besides, hiding an older one and what was
// known of it.
func (s *Scope) With(name string, t *schema.Type) *Scope {
	return &Scope{parent: s, name: name, typ: t}
}

// meaning is With for a name of which it is known what it was made of: what that
// proves is proved by the name.
func (s *Scope) meaning(name string, t *schema.Type, means ast.Node) *Scope {
	return &Scope{parent: s, name: name, typ: t, means: means}
}

// WithValue returns a scope that has name besides, which stands for what x gives
// in this scope. Where the name is true, all holds that x proves.
func (s *Scope) WithValue(name string, t *schema.Type, x *Expression) *Scope {
	return s.meaning(name, t, x.root)
}

// Implies returns a scope in which the value at present is not null wherever the
// text at path is one of values.
func (s *Scope) Implies(path []string, values []string, present []string) *Scope {
	return &Scope{parent: s, fact: &implication{path: joinPath(path), values: values, present: present}}
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

// AtLeast returns a scope in which the list at path is there and has n elements
// or more.
func (s *Scope) AtLeast(path []string, n int) *Scope {
	return &Scope{parent: s.NonNull(path), path: joinPath(path), least: n}
}

// Lookup returns the type of a name.
func (s *Scope) Lookup(name string) (*schema.Type, bool) {
	if binding := s.binding(name); binding != nil {
		return binding.typ, true
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
		if s.path == "" || s.least > 0 {
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

// known calls visit with what is known of the value at path, the newest first.
func (s *Scope) known(path []string, visit func(fact *Scope) bool) bool {
	if len(path) == 0 {
		return false
	}
	key := joinPath(path)
	for ; s != nil && (s.typ == nil || s.name != path[0]); s = s.parent {
		if s.path == key && visit(s) {
			return true
		}
	}
	return false
}

// isPresent reports whether the value of a path is known not to be null.
func (s *Scope) isPresent(node ast.Node) bool {
	path, ok := memberPath(node)
	return ok && s.known(path, func(fact *Scope) bool { return fact.narrow == nil && fact.least == 0 })
}

// leastOf returns how many elements a list at a path is known to have.
func (s *Scope) leastOf(node ast.Node) int {
	least := 0
	if path, ok := memberPath(node); ok {
		s.known(path, func(fact *Scope) bool {
			least = max(least, fact.least)
			return false
		})
	}
	return least
}

// binding returns the scope that gives a name its value, nil when none does.
func (s *Scope) binding(name string) *Scope {
	for ; s != nil; s = s.parent {
		if s.typ != nil && s.name == name {
			return s
		}
	}
	return nil
}

func joinPath(path []string) string { return strings.Join(path, "\x00") }
