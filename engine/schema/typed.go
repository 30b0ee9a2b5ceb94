package schema

import (
	"bytes"
	"slices"
	"strconv"
)

// typed reads a JSON value into a value of the type in one pass: what parseJSON and the
// coercion make of it where nothing is wrong. ok is false for all that is wrong or rare:
// those two read it again, and say what is wrong.
func (c *coercion) typed(t *Type, data []byte) (v any, ok bool) {
	return c.typedParts(t, data, nil)
}

// typedParts is typed for a list that is known to be one of the type: of its elements that
// are objects it reads the members of these names alone. nil = all.
func (c *coercion) typedParts(t *Type, data []byte, names []string) (v any, ok bool) {
	if c.all != nil || c.clear || c.inSecret > 0 {
		return nil, false
	}
	p := typedParser{parser: parser{data: data}, leaf: coercion{exact: c.exact, own: true, json: true, trim: c.trim}, names: names}
	if len(data) <= sharedText {
		p.text = string(data)
	}
	if names != nil {
		v, ok = p.elements(t, len(c.path))
	} else {
		v, ok = p.typed(t, len(c.path))
	}
	p.space()
	return v, ok && p.at == len(p.data)
}

// typedParser is a parser that knows what it reads. Its methods return false where it does
// not go on.
type typedParser struct {
	parser
	leaf  coercion // of what is read without a type
	names []string // of the members of elements that are read; nil = all
}

func (p *typedParser) typed(t *Type, depth int) (any, bool) {
	p.space()
	if p.at == len(p.data) || depth > maxDepth {
		return nil, false
	}
	if !t.Secret && t.Enum == nil {
		switch first := p.data[p.at]; {
		case t.Kind == Object && first == '{' && t.Variants == nil && !t.Blob:
			return p.members(t, depth, 0, nil)
		case t.Kind == List && first == '[':
			return p.elements(t, depth)
		case t.Kind == String && first == '"':
			text, ok := p.string(false)
			return text, ok && t.checkText(nil, text) == nil
		case (t.Kind == Int || t.Kind == Number) && first != 'n' && t.Min == nil && t.Max == nil:
			return p.exact(t)
		}
	}
	return p.untyped(t, depth)
}

// untyped reads a value as any, and makes one of the type of it.
func (p *typedParser) untyped(t *Type, depth int) (any, bool) {
	v, ok := p.value(depth)
	if !ok {
		return nil, false
	}
	v, _, err := p.leaf.value(t, v)
	return v, err == nil
}

// exact reads a number without bounds.
func (p *typedParser) exact(t *Type) (any, bool) {
	begin := p.at
	whole, ok := p.numeral()
	if !ok {
		return nil, false
	}
	text := p.data[begin:p.at]
	if t.Kind == Number {
		f, err := strconv.ParseFloat(string(text), 64)
		return f, err == nil
	}
	if n, err := strconv.ParseInt(string(text), 10, 64); whole && err == nil {
		return int(n), true
	}
	p.at = begin
	return p.untyped(t, 0) // 1.0 is a whole number
}

func (p *typedParser) elements(t *Type, depth int) (any, bool) {
	if !p.next('[') {
		return nil, false
	}
	list, elem, size, named := []any{}, t.Element(), 0, p.names
	p.names = nil // of lists in the elements all is read
	parts := elem.separate(named != nil)
	if p.next(']') {
		return list, t.checkCount(nil, 0) == nil
	}
	for {
		var item any
		var ok bool
		if p.space(); parts != nil && p.peek() == '{' {
			item, ok = p.members(parts, depth+1, size, named)
		} else {
			item, ok = p.typed(elem, depth+1)
		}
		if !ok {
			return nil, false
		}
		if object, isObject := item.(map[string]any); isObject {
			size = len(object) // the next one has as many, mostly
		}
		list = append(list, item)
		switch {
		case p.next(','):
		case p.next(']'):
			return list, t.checkCount(nil, len(list)) == nil
		default:
			return nil, false
		}
	}
}

// separate is the type by which the members of an object are read, each by itself; nil
// where they are not. named says that not all of them are.
func (t *Type) separate(named bool) *Type {
	switch {
	case t.Secret || t.Enum != nil || t.Variants != nil || t.Blob || t.Alternatives != nil:
		return nil
	case t.Kind == Object:
		return t
	case t.Kind == Any && named:
		return &Type{Kind: Object, Additional: beyond}
	}
	return nil
}

// members reads an object that has about so many members: those of the names alone,
// unless they are nil.
func (p *typedParser) members(t *Type, depth, size int, names []string) (any, bool) {
	p.at++
	if depth > maxDepth {
		return nil, false
	}
	object, field, required := make(map[string]any, size), -1, 0
	if !p.next('}') {
		for {
			var name string
			var ok bool
			if name, field, ok = p.name(t, field+1); !ok || !p.next(':') {
				return nil, false
			}
			before := len(object)
			if !p.member(t, object, depth, name, field, names) {
				return nil, false
			}
			if field >= 0 && t.Fields[field].Required && len(object) > before {
				required++
			}
			if p.next(',') {
				continue
			}
			if !p.next('}') {
				return nil, false
			}
			break
		}
	}
	if names != nil {
		return object, true
	}
	for i := range t.Fields {
		if t.Fields[i].Required {
			required--
		}
	}
	return object, required == 0
}

// member reads the value under a name, of a field or none (-1), into an object.
func (p *typedParser) member(t *Type, object map[string]any, depth int, name string, field int, names []string) bool {
	if names != nil && !slices.Contains(names, name) {
		p.pass()
		return true
	}
	part := beyond
	switch {
	case field >= 0:
		part = t.Fields[field].Type
	case p.leaf.trim && t.Additional == nil && !t.Open:
		_, ok := p.value(depth + 1)
		return ok
	case t.Additional != nil:
		part = t.Additional
	case p.leaf.exact:
		return false
	}
	v, ok := p.typed(part, depth+1)
	object[name] = v
	return ok
}

// name reads the name of a member, which is that of a field or of none (-1). Most objects
// have their members in the order of the fields: the one that is due is looked at first.
// What may be a secret's reference is not read.
func (p *typedParser) name(t *Type, due int) (name string, field int, ok bool) {
	p.space()
	if p.peek() != '"' {
		return "", 0, false
	}
	if due < len(t.Fields) {
		name = t.Fields[due].Name
		end := p.at + 1 + len(name)
		if end < len(p.data) && p.data[end] == '"' && string(p.data[p.at+1:end]) == name && isPlain(name) && name != secretKey {
			p.at = end + 1
			return name, due, true
		}
	}
	name, ok = p.string(true)
	return name, t.fieldIndex(name), ok && name != secretKey
}

// pass goes behind a value of a text that was checked: what stands in it is not looked at.
// Of one that was damaged since, it never goes behind the end.
func (p *typedParser) pass() {
	p.space()
	if p.peek() == '"' {
		rest := p.data[p.at+1:]
		end := bytes.IndexByte(rest, '"')
		if end >= 0 && bytes.IndexByte(rest[:end], '\\') < 0 {
			p.at += end + 2
			return
		}
	}
	p.at = min(valueEnd(p.data, p.at), len(p.data))
}
