package main

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
)

// poisoned is the canary in all forms, behind the name of the field that it is put into.
func poisoned(field, canary string) string {
	parts := []string{"at[" + field + "] " + canary}
	for _, before := range []string{"", "~", "~~"} {
		parts = append(parts, base64.StdEncoding.EncodeToString([]byte(before+canary)))
	}
	parts = append(parts, base64.RawURLEncoding.EncodeToString([]byte(canary)), hex.EncodeToString([]byte(canary)), strings.ToUpper(hex.EncodeToString([]byte(canary))))
	quoted, _ := json.Marshal(canary)
	return strings.Join(append(parts, url.QueryEscape(canary), string(quoted[1:len(quoted)-1])), " ")
}

// escaped is a text inside a JSON string, each letter as an escape.
func escaped(text string) string {
	var all strings.Builder
	for _, r := range text {
		fmt.Fprintf(&all, `\u%04x`, r)
	}
	return all.String()
}

// document is a JSON document that holds the canary as a name, a text and in escapes.
func document(field, canary string) []byte {
	doc, _ := json.Marshal(map[string]any{"text": poisoned(field, canary), canary: 1})
	return []byte(strings.TrimSuffix(string(doc), "}") + `,"escaped":"` + escaped(canary) + `"}`)
}

// poison puts the canary into each place of a message where the field stands. It goes
// by the descriptor: a field that comes to the protocol is filled like all others.
func poison(m proto.Message, field protoreflect.FullName, canary string) bool {
	return fill(m.ProtoReflect(), field, canary)
}

func fill(m protoreflect.Message, target protoreflect.FullName, canary string) bool {
	found := false
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		field := fields.Get(i)
		switch {
		case field.FullName() == target:
			set(m, field, canary)
			found = true
		case field.Message() == nil || !reaches(field.Message(), target, 0):
		case field.IsList():
			list := m.Mutable(field).List()
			if list.Len() == 0 {
				list.AppendMutable()
			}
			found = fill(list.Get(0).Message(), target, canary) || found
		default:
			found = fill(m.Mutable(field).Message(), target, canary) || found
		}
	}
	return found
}

func reaches(message protoreflect.MessageDescriptor, target protoreflect.FullName, depth int) bool {
	if depth > 4 {
		return false
	}
	for i := range message.Fields().Len() {
		field := message.Fields().Get(i)
		if field.FullName() == target || field.Message() != nil && reaches(field.Message(), target, depth+1) {
			return true
		}
	}
	return false
}

func set(m protoreflect.Message, field protoreflect.FieldDescriptor, canary string) {
	name := strings.TrimPrefix(string(field.FullName()), "flowrun.plugin.v1.")
	value := protoreflect.ValueOfString(poisoned(name, canary))
	if field.Kind() == protoreflect.BytesKind {
		value = protoreflect.ValueOfBytes(bytesFor(field, name, canary))
	}
	if name == "Error.pointer" {
		value = protoreflect.ValueOfString("/" + poisoned(name, canary))
	}
	if field.IsList() {
		m.Mutable(field).List().Append(value)
		return
	}
	m.Set(field, value)
}

// bytesFor is a schema, a document, or any bytes.
func bytesFor(field protoreflect.FieldDescriptor, name, canary string) []byte {
	switch field.Name() {
	case "config_schema", "input_schema", "output_schema":
		return []byte(`{"type":"object","description":` + string(quote(poisoned(name, canary))) + `,"properties":{"field":{"type":"string"},"api_key":{"type":"string","writeOnly":true}}}`)
	case "json", "fields", "meta", "details", "extra", "input", "output":
		return document(name, canary)
	}
	return []byte(poisoned(name, canary))
}

func quote(text string) []byte {
	quoted, _ := json.Marshal(text)
	return quoted
}
