package schema

import (
	"bytes"
	"encoding/json"
	"slices"
)

// checkWhole is up to which size a part of a document is decoded to be checked: of
// larger ones the parts are, one after the other.
const checkWhole = 64 << 10

// Check returns the error that Decode would return, and holds no more of the value
// at a time than a part.
func (t *Type) Check(data []byte) error { return t.check(data, coercion{own: true, json: true}) }

// CheckAnswer is Check for DecodeAnswer.
func (t *Type) CheckAnswer(data []byte) error {
	return t.check(data, coercion{own: true, json: true, trim: true})
}

func (t *Type) check(data []byte, c coercion) error {
	if len(data) <= checkWhole || !json.Valid(data) {
		_, err := t.decodeWith(data, c)
		return err
	}
	return c.parts(t, bytes.TrimSpace(data))
}

// parts checks a valid JSON value part by part.
func (c *coercion) parts(t *Type, data []byte) error {
	switch data[0] {
	case '[':
		t = t.Shaped(List)
	case '{':
		t = t.Shaped(Object)
	}
	plain := len(data) > checkWhole && len(c.path) <= maxDepth && !t.Secret && c.inSecret == 0 && t.Enum == nil && t.Variants == nil && !t.Blob
	switch {
	case plain && data[0] == '[' && t.Kind == List:
		return c.listParts(t, data)
	case plain && data[0] == '[' && !t.Known():
		return c.listParts(&Type{Kind: List}, data)
	case plain && data[0] == '{' && (t.Kind == Object || !t.Known()):
		if t.Kind == Any {
			t = &Type{Kind: Object, Additional: &Type{}}
		}
		if members, ok := membersOf(data); ok {
			return c.memberParts(t, members)
		}
	}
	v, err := parseJSON(data)
	if err == nil {
		_, _, err = c.value(t, v)
	}
	return err
}

// listParts checks the elements of a list, many small ones at a time.
func (c *coercion) listParts(t *Type, data []byte) error {
	count := 0
	for range elements(data) {
		count++
	}
	if err := t.checkCount(c.path, count); err != nil {
		return err
	}
	elem, at := t.Element(), 0
	for chunk := range Chunks(data, checkWhole) {
		if len(chunk) > checkWhole { // one element
			c.path.pushIndex(at)
			if err := c.parts(elem, chunk[1:len(chunk)-1]); err != nil {
				return err
			}
			c.path.pop()
			at++
			continue
		}
		if v, ok := c.typed(&Type{Kind: List, Elem: elem}, chunk); ok {
			list, _ := v.([]any)
			at += len(list)
			continue
		}
		v, err := parseJSON(chunk)
		if err != nil {
			return err
		}
		list, _ := v.([]any)
		for _, item := range list {
			c.path.pushIndex(at)
			if _, _, err := c.value(elem, item); err != nil {
				return err
			}
			c.path.pop()
			at++
		}
	}
	return nil
}

// memberParts checks the members of an object in the order of coercion.object.
func (c *coercion) memberParts(t *Type, members map[string][]byte) error {
	for _, field := range t.Fields {
		if _, there := members[field.Name]; !there && field.Required {
			return mismatchf(c.path, "field `%s` is missing", field.Name)
		}
	}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if c.trim && t.excludes(name) {
			continue
		}
		part, err := c.part(t, name)
		if err != nil {
			return err
		}
		c.path.push(name)
		if err := c.parts(part, members[name]); err != nil {
			return err
		}
		c.path.pop()
	}
	return nil
}

// mostMembers is of how many members an object is checked one by one: one of more
// is decoded as a whole.
const mostMembers = 10_000

// membersOf returns the texts of an object's members; false for one that may be a
// reference to a secret, or has very many.
func membersOf(data []byte) (map[string][]byte, bool) {
	members := map[string][]byte{}
	for at := blank(data, 1); data[at] != '}'; {
		end := valueEnd(data, at)
		var name string
		if json.Unmarshal(data[at:end], &name) != nil || name == secretKey || len(members) == mostMembers {
			return nil, false
		}
		at = blank(data, blank(data, end)+1) // behind the colon
		end = valueEnd(data, at)
		members[name] = data[at:end]
		if at = blank(data, end); data[at] == ',' {
			at = blank(data, at+1)
		}
	}
	return members, true
}

// Members returns the texts of the members of a valid JSON object; false where it is
// none, or has very many.
func Members(data []byte) (map[string][]byte, bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '{' {
		return nil, false
	}
	return membersOf(data)
}

// elements yields the texts of a list's elements.
func elements(data []byte) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		for at := blank(data, 1); data[at] != ']'; {
			end := valueEnd(data, at)
			if !yield(data[at:end]) {
				return
			}
			if at = blank(data, end); data[at] == ',' {
				at = blank(data, at+1)
			}
		}
	}
}

// Elements yields the texts of the elements of a valid JSON list; none of what is
// no list.
func Elements(data []byte) func(yield func([]byte) bool) {
	data = bytes.TrimSpace(data)
	if len(data) == 0 || data[0] != '[' {
		return func(func([]byte) bool) {}
	}
	return elements(data)
}

// Chunks yields a list's elements as lists of at most so many bytes, but for those
// of one larger element.
func Chunks(data []byte, size int) func(yield func([]byte) bool) {
	return func(yield func([]byte) bool) {
		var chunk []byte
		for element := range Elements(data) {
			if len(chunk) > 0 && len(chunk)+len(element)+2 > size {
				if !yield(append(chunk, ']')) {
					return
				}
				chunk = chunk[:0]
			}
			if len(chunk) == 0 {
				chunk = append(chunk, '[')
			} else {
				chunk = append(chunk, ',')
			}
			chunk = append(chunk, element...)
		}
		if len(chunk) > 0 {
			yield(append(chunk, ']'))
		}
	}
}

// blank is the place of the first byte from at on that is no white space.
func blank(data []byte, at int) int {
	for data[at] == ' ' || data[at] == '\t' || data[at] == '\n' || data[at] == '\r' {
		at++
	}
	return at
}

// valueEnd is the end of the value of a valid document that begins at a place; of one that
// is damaged, some place, which may lie behind its end.
func valueEnd(data []byte, at int) int {
	depth := 0
	for ; at < len(data); at++ {
		switch data[at] {
		case '"':
			for at++; at < len(data) && data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
			if depth == 0 {
				return at + 1
			}
		case '[', '{':
			depth++
		case ']', '}':
			if depth--; depth < 0 {
				return at // of a number or word that ends its container
			}
			if depth == 0 {
				return at + 1
			}
		case ',', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return at
			}
		}
	}
	return at
}

// Weight is about what a JSON text takes in memory when it is decoded.
func Weight(data []byte) int64 {
	weight := int64(len(data)) + 64
	for at := 0; at < len(data); at++ {
		switch data[at] {
		case '"':
			for at++; at < len(data) && data[at] != '"'; at++ {
				if data[at] == '\\' {
					at++
				}
			}
			weight += 16
		case '[':
			weight += 64
		case '{':
			weight += 340
		case ',':
			weight += 32
		}
	}
	return weight
}
