package tree

import (
	"encoding/json"
	"strings"
)

// Object is an object that is being written: its members in their order.
type Object []Field

// Field is a member of an Object.
type Field struct {
	Name  string
	Value json.RawMessage
}

// Get returns the value of a member, nil where there is none.
func (o Object) Get(name string) json.RawMessage {
	for i := range o {
		if o[i].Name == name {
			return o[i].Value
		}
	}
	return nil
}

// With sets a member, in its place where it is there already, and returns the object: the
// one that it is called on is not used any more.
func (o Object) With(name string, value json.RawMessage) Object {
	for i := range o {
		if o[i].Name == name {
			o[i].Value = value
			return o
		}
	}
	return append(o, Field{Name: name, Value: value})
}

// JSON writes the object.
func (o Object) JSON() json.RawMessage {
	size := 2
	for i := range o {
		size += len(o[i].Name) + len(o[i].Value) + 4
	}
	out := append(make([]byte, 0, size), '{')
	for i := range o {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quote(o[i].Name)...), ':')
		out = append(out, o[i].Value...)
	}
	return append(out, '}')
}

// ReadObject reads an object to write it in another form; ok is false for another value.
// The document must be valid.
func ReadObject(valid []byte) (o Object, ok bool) {
	n := Of(valid)
	if len(valid) == 0 || !n.IsObject() {
		return nil, false
	}
	o = Object{}
	for _, member := range n.Members() {
		o = append(o, Field{Name: member.Name, Value: member.Value.JSON()})
	}
	return o, true
}

// Text writes a text.
func Text(text string) json.RawMessage { return quote(text) }

// List writes a list of values.
func List(values []json.RawMessage) json.RawMessage {
	out := []byte{'['}
	for i, value := range values {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']')
}

// pointerEscapes are those of a token of a JSON Pointer, and how they are undone.
var (
	pointerEscapes   = strings.NewReplacer("~", "~0", "/", "~1")
	pointerUnescapes = strings.NewReplacer("~1", "/", "~0", "~")
)

// Child is the JSON Pointer of a member of what stands at another.
func Child(pointer, name string) string {
	if strings.ContainsAny(name, "~/") {
		name = pointerEscapes.Replace(name)
	}
	return pointer + "/" + name
}
