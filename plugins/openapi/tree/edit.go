package tree

import (
	"bytes"
	"encoding/json"
	"slices"
)

// quote writes a text as JSON, with <, > and & as they are.
func quote(text string) []byte {
	if isPlain(text) {
		out := make([]byte, 0, len(text)+2)
		return append(append(append(out, '"'), text...), '"')
	}
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) // a text has a JSON form
	return bytes.TrimSuffix(out.Bytes(), []byte{'\n'})
}

// isPlain reports whether a text stands in JSON as it is.
func isPlain(text string) bool {
	for i := range len(text) {
		if c := text[i]; c < ' ' || c == '"' || c == '\\' || c > '~' {
			return false
		}
	}
	return true
}

// NewText returns a node of a text.
func NewText(text string) *Node { return &Node{raw: quote(text)} }

// NewObject returns an object without members.
func NewObject() *Node { return &Node{object: true, cut: true} }

// touch makes a node one that is written anew. What it lies in must be touched too:
// Set, Append and Remove do that for the node alone.
func (n *Node) touch() {
	if n.raw == nil {
		return
	}
	n.object = n.IsObject()
	if n.object {
		n.Members()
	} else {
		n.Items()
	}
	n.raw = nil
}

// Touch says that something in the object or list was changed, so that it is written
// anew.
func (n *Node) Touch() {
	if n.IsObject() || n.IsList() {
		n.touch()
	}
}

// Set gives an object a member, in the place of the one of that name where there is one.
func (n *Node) Set(name string, value *Node) {
	n.touch()
	n.index = nil
	for i := range n.members {
		if n.members[i].Name == name {
			n.members[i].Value = value
			return
		}
	}
	n.members = append(n.members, Member{Name: name, Value: value})
}

// Append adds an element to a list.
func (n *Node) Append(value *Node) {
	n.touch()
	n.items = append(n.items, value)
}

// Remove takes a value out of the object or list that it lies in.
func (n *Node) Remove(value *Node) {
	n.touch()
	n.index = nil
	n.members = slices.DeleteFunc(n.members, func(m Member) bool { return m.Value == value })
	n.items = slices.DeleteFunc(n.items, func(item *Node) bool { return item == value })
}

// Copy returns a node of its own with the same value.
func (n *Node) Copy() *Node { return &Node{raw: slices.Clone(n.JSON())} }

// Replace gives the node another value.
func (n *Node) Replace(value *Node) { *n = *value.Copy() }

// write appends the value as JSON.
func (n *Node) write(out []byte) []byte {
	if n == nil {
		return append(out, "null"...)
	}
	if n.raw != nil {
		return append(out, n.raw...)
	}
	if !n.object {
		out = append(out, '[')
		for i, item := range n.items {
			if i > 0 {
				out = append(out, ',')
			}
			out = item.write(out)
		}
		return append(out, ']')
	}
	out = append(out, '{')
	for i, member := range n.members {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(append(out, quote(member.Name)...), ':')
		out = member.Value.write(out)
	}
	return append(out, '}')
}
