// Package tree reads large JSON and YAML documents without decoding them: a document
// is looked at once for being valid, and its parts are cut out of it when they are asked
// for. What nobody asks for costs nothing.
package tree

import (
	"encoding/json"
	"strconv"
	"strings"
)

// Node is a value of a document. A nil Node is a value that is not there: all its
// methods answer as for one that has nothing in it. A Node remembers what was cut out of
// it, so that it is for one goroutine at a time.
type Node struct {
	raw     []byte // as it is written; nil = it was changed, see text
	members []Member
	items   []*Node
	index   map[string]int // of the members, where there are many
	cut     bool
	object  bool // of a changed node
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value *Node
}

// indexFrom is how many members an object has that is looked up by an index.
const indexFrom = 12

// Of returns the node of a part of a valid JSON document. Others go through Parse.
func Of(valid []byte) *Node { return &Node{raw: valid} }

// kind is the sign that a value begins with, 0 for none.
func (n *Node) kind() byte {
	switch {
	case n == nil:
		return 0
	case n.raw == nil && n.object:
		return '{'
	case n.raw == nil:
		return '['
	}
	return n.raw[0]
}

// IsObject reports whether the value is an object.
func (n *Node) IsObject() bool { return n.kind() == '{' }

// IsList reports whether the value is a list.
func (n *Node) IsList() bool { return n.kind() == '[' }

// IsText reports whether the value is a text.
func (n *Node) IsText() bool { return n.kind() == '"' }

// IsNull reports whether the value is null or missing.
func (n *Node) IsNull() bool { return n.kind() == 'n' || n.kind() == 0 }

// IsNumber reports whether the value is a number.
func (n *Node) IsNumber() bool {
	kind := n.kind()
	return kind == '-' || kind >= '0' && kind <= '9'
}

// IsBool reports whether the value is true or false.
func (n *Node) IsBool() bool { return n.kind() == 't' || n.kind() == 'f' }

// True reports whether the value is true.
func (n *Node) True() bool { return n.kind() == 't' }

// False reports whether the value is false.
func (n *Node) False() bool { return n.kind() == 'f' }

// Text returns a text, "" for any other value.
func (n *Node) Text() string {
	if !n.IsText() {
		return ""
	}
	return unquote(n.raw)
}

// Plain returns a text, a number or a boolean as text, "" for any other value.
func (n *Node) Plain() string {
	switch {
	case n.IsText():
		return n.Text()
	case n.IsNumber(), n.IsBool():
		return string(n.raw)
	}
	return ""
}

// Members returns the members of an object in their order, none for another value. Of a
// name that stands twice the last value counts.
func (n *Node) Members() []Member {
	if !n.IsObject() {
		return nil
	}
	if !n.cut {
		n.members, n.cut = cutMembers(n.raw), true
	}
	return n.members
}

// Items returns the elements of a list, none for another value.
func (n *Node) Items() []*Node {
	if !n.IsList() {
		return nil
	}
	if !n.cut {
		n.items, n.cut = cutItems(n.raw), true
	}
	return n.items
}

// Has reports whether an object has a member.
func (n *Node) Has(name string) bool { return n.Get(name) != nil }

// Get returns the member of an object, nil where there is none.
func (n *Node) Get(name string) *Node {
	members := n.Members()
	if len(members) < indexFrom {
		for _, member := range members {
			if member.Name == name {
				return member.Value
			}
		}
		return nil
	}
	if n.index == nil {
		n.index = make(map[string]int, len(members))
		for i, member := range members {
			n.index[member.Name] = i
		}
	}
	if i, ok := n.index[name]; ok {
		return members[i].Value
	}
	return nil
}

// At returns the value that a JSON Pointer (RFC 6901) leads to, nil where there is none.
func (n *Node) At(pointer string) *Node {
	if pointer == "" {
		return n
	}
	if pointer[0] != '/' {
		return nil
	}
	at := n
	for token := range strings.SplitSeq(pointer[1:], "/") {
		if strings.Contains(token, "~") {
			token = pointerUnescapes.Replace(token)
		}
		if at.IsList() {
			items := at.Items()
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(items) {
				return nil
			}
			at = items[i]
			continue
		}
		at = at.Get(token)
	}
	return at
}

// JSON returns the value as JSON: as it is written, where it was not changed. It must
// not be changed; it is "null" for a value that is not there.
func (n *Node) JSON() []byte {
	if n == nil {
		return []byte("null")
	}
	if n.raw != nil {
		return n.raw
	}
	return n.write(nil)
}

// Texts returns the texts of a list; elements that are none are left out.
func (n *Node) Texts() []string {
	var texts []string
	for _, item := range n.Items() {
		if item.IsText() {
			texts = append(texts, item.Text())
		}
	}
	return texts
}

// Number returns an integer, and false for what is none.
func (n *Node) Number() (int64, bool) {
	if !n.IsNumber() {
		return 0, false
	}
	number, err := strconv.ParseInt(string(n.raw), 10, 64)
	if err == nil {
		return number, true
	}
	float, err := strconv.ParseFloat(string(n.raw), 64)
	return int64(float), err == nil && float == float64(int64(float)) && float < 1<<53 && float > -1<<53
}

// Decode decodes the value into a pointer with encoding/json.
func (n *Node) Decode(into any) error { return json.Unmarshal(n.JSON(), into) }
