package sdk_test

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
)

// generatedCode is where the packages of generated code are: their types are the
// wire's, and nobody's API.
const generatedCode = "github.com/flowrun/flowrun/sdk/proto/"

// exportedAPI has one line for each exported name of a package, for the fields and
// the methods of its types: what is promised, without names of parameters.
func exportedAPI(p *types.Package) []string {
	var lines []string
	eachExported(p, func(where string, o types.Object) {
		kind, name := "func", o.Name()
		text := typeText(o.Type())
		switch o := o.(type) {
		case *types.Const:
			kind, text = "const", text+" = "+o.Val().ExactString()
		case *types.Var:
			kind = "var"
			if o.IsField() {
				kind, name = "field", where+"."+name
			}
		case *types.Func:
			text = strings.TrimPrefix(text, "func")
			if where != "" {
				kind, name = "method", "("+where+") "+name
			}
		case *types.TypeName:
			kind, text = "type", typeNameText(o)
		}
		separator := " "
		if kind == "func" || kind == "method" {
			separator = ""
		}
		lines = append(lines, p.Name()+": "+kind+" "+name+separator+text)
	})
	return lines
}

// eachExported visits the exported objects of a package; where is the type that a
// field or a method is of, "" for others.
func eachExported(p *types.Package, visit func(where string, o types.Object)) {
	for _, name := range p.Scope().Names() {
		o := p.Scope().Lookup(name)
		if !o.Exported() {
			continue
		}
		visit("", o)
		if _, isType := o.(*types.TypeName); isType && !isAlias(o) {
			eachMember(o.Type(), func(member types.Object) { visit(o.Name(), member) })
		}
	}
}

func isAlias(o types.Object) bool {
	name, ok := o.(*types.TypeName)
	return ok && name.IsAlias()
}

// eachMember visits the exported fields and methods of a type, those that it has
// from embedded types too.
func eachMember(t types.Type, visit func(types.Object)) {
	if s, ok := t.Underlying().(*types.Struct); ok {
		for i := range s.NumFields() {
			if s.Field(i).Exported() {
				visit(s.Field(i))
			}
		}
	}
	of := t
	if !types.IsInterface(t) {
		of = types.NewPointer(t)
	}
	set := types.NewMethodSet(of)
	for i := range set.Len() {
		if method := set.At(i).Obj(); method.Exported() {
			visit(method)
		}
	}
}

// generatedTypes returns a line for each exported thing whose type names one of
// generated code.
func generatedTypes(p *types.Package) []string {
	var found []string
	eachExported(p, func(where string, o types.Object) {
		s := &search{of: p, seen: map[types.Type]bool{}}
		if s.in(declared(o)); s.found == "" {
			return
		}
		name := p.Name() + "." + o.Name()
		if where != "" {
			name = p.Name() + "." + where + "." + o.Name()
		}
		found = append(found, fmt.Sprintf("%s shows %s, a type of generated code", name, s.found))
	})
	return found
}

// declared is what an object's declaration shows by itself: of a type what stands
// behind its name. Its fields and methods are objects of their own.
func declared(o types.Object) types.Type {
	name, ok := o.(*types.TypeName)
	switch {
	case !ok || name.IsAlias():
		return o.Type()
	case types.IsInterface(o.Type()):
		return types.Typ[types.Invalid]
	}
	if _, isStruct := o.Type().Underlying().(*types.Struct); isStruct {
		return types.Typ[types.Invalid]
	}
	return o.Type().Underlying()
}

// search looks for a type of generated code in whatever a user of a type can reach
// by its exported names.
type search struct {
	of    *types.Package
	seen  map[types.Type]bool
	found string
}

func (s *search) in(t types.Type) {
	if s.found != "" || s.seen[t] {
		return
	}
	s.seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		s.inNamed(t)
	case *types.Alias:
		s.in(types.Unalias(t))
	case *types.Signature:
		s.inTuple(t.Params())
		s.inTuple(t.Results())
	case *types.Map:
		s.in(t.Key())
		s.in(t.Elem())
	case *types.Struct:
		for i := range t.NumFields() {
			if t.Field(i).Exported() {
				s.in(t.Field(i).Type())
			}
		}
	case *types.Interface:
		for i := range t.NumMethods() {
			s.in(t.Method(i).Type())
		}
	case interface{ Elem() types.Type }:
		s.in(t.Elem())
	}
}

func (s *search) inNamed(t *types.Named) {
	for i := range t.TypeArgs().Len() {
		s.in(t.TypeArgs().At(i))
	}
	switch from := t.Obj().Pkg(); {
	case from == nil:
	case strings.HasPrefix(from.Path(), generatedCode):
		s.found = t.Obj().Name()
	case from.Path() == s.of.Path() && !t.Obj().Exported():
		// what has a name of its own is listed by that
		if _, isStruct := t.Underlying().(*types.Struct); !isStruct {
			s.in(t.Underlying())
		}
		eachMember(t, func(member types.Object) { s.in(member.Type()) })
	}
}

func (s *search) inTuple(t *types.Tuple) {
	for v := range t.Variables() {
		s.in(v.Type())
	}
}

func typeNameText(o *types.TypeName) string {
	text := ""
	if named, ok := o.Type().(*types.Named); ok && named.TypeParams().Len() > 0 {
		var parameters []string
		for p := range named.TypeParams().TypeParams() {
			parameters = append(parameters, p.Obj().Name()+" "+typeText(p.Constraint()))
		}
		text = "[" + strings.Join(parameters, ", ") + "] "
	}
	switch underlying := o.Type().Underlying().(type) {
	case *types.Struct:
		if !o.IsAlias() {
			return text + "struct"
		}
	case *types.Interface:
		if !o.IsAlias() {
			return text + interfaceText(underlying)
		}
	default:
		if !o.IsAlias() {
			return text + typeText(underlying)
		}
	}
	return "= " + typeText(types.Unalias(o.Type()))
}

// interfaceText has the methods that others must have: with one more they fit no more.
func interfaceText(t *types.Interface) string {
	methods := []string{}
	for i := range t.NumMethods() {
		if !t.Method(i).Exported() {
			return "interface, of this package alone"
		}
		methods = append(methods, t.Method(i).Name())
	}
	return "interface{" + strings.Join(methods, "; ") + "}"
}

// typeText writes a type with the names of packages and without those of parameters.
func typeText(t types.Type) string {
	return types.TypeString(withoutNames(t), func(p *types.Package) string { return p.Name() })
}

// withoutNames takes the names of parameters out of functions, also of those that
// stand in a pointer, a list or another function.
func withoutNames(t types.Type) types.Type {
	switch t := t.(type) {
	case *types.Signature:
		parameters := make([]*types.TypeParam, 0, t.TypeParams().Len())
		for p := range t.TypeParams().TypeParams() {
			parameters = append(parameters, types.NewTypeParam(types.NewTypeName(token.NoPos, p.Obj().Pkg(), p.Obj().Name(), nil), p.Constraint()))
		}
		return types.NewSignatureType(nil, nil, parameters, unnamed(t.Params()), unnamed(t.Results()), t.Variadic())
	case *types.Slice:
		return types.NewSlice(withoutNames(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(withoutNames(t.Elem()))
	}
	return t
}

func unnamed(t *types.Tuple) *types.Tuple {
	var list []*types.Var
	for v := range t.Variables() {
		list = append(list, types.NewParam(token.NoPos, v.Pkg(), "", withoutNames(v.Type())))
	}
	return types.NewTuple(list...)
}
