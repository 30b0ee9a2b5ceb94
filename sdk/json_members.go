package sdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
)

// Member is one member of an object: its name, and its value as written.
type Member struct {
	Name  string
	Value Value
}

// Text is a text as a JSON value.
func Text(text string) Value { return encoded(text) }

// JSON is what has a JSON form as a value, with <, > and & as they are.
func JSON(v any) Value { return encoded(v) }

// Members are the members of an object in their order.
type Members []Member

// ReadMembers reads an object whose members stay in their order and whose values
// stay as they were written; false for a document that is no object.
func ReadMembers(object Value) (Members, bool) {
	list, err := members(object)
	return list, err == nil
}

func members(object Value) (Members, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if opening, err := decoder.Token(); err != nil || opening != json.Delim('{') {
		return nil, errors.New("is no object")
	}
	list := Members{}
	for decoder.More() {
		token, err := decoder.Token()
		if err != nil {
			return nil, err
		}
		name, _ := token.(string)
		var value Value
		if err := decoder.Decode(&value); err != nil {
			return nil, err
		}
		list = append(list, Member{Name: name, Value: value})
	}
	return list, nil
}

// Get returns the value of a name, nil where the object has no such member.
func (m Members) Get(name string) Value {
	value, _ := m.get(name)
	return value
}

func (m Members) get(name string) (Value, bool) {
	for _, member := range m {
		if member.Name == name {
			return member.Value, true
		}
	}
	return nil, false
}

// With returns the members with one of them set: in its place where it is there
// already, else behind the others.
func (m Members) With(name string, value Value) Members {
	changed := slices.Clone(m)
	for i := range changed {
		if changed[i].Name == name {
			changed[i].Value = value
			return changed
		}
	}
	return append(changed, Member{Name: name, Value: value})
}

// JSON writes the object.
func (m Members) JSON() Value {
	var out bytes.Buffer
	out.WriteByte('{')
	for i, member := range m {
		if i > 0 {
			out.WriteByte(',')
		}
		out.Write(encoded(member.Name))
		out.WriteByte(':')
		out.Write(member.Value)
	}
	out.WriteByte('}')
	return out.Bytes()
}
