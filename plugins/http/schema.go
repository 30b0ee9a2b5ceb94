package http

import (
	"encoding/json"
	"net/url"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// answerAt is where the schema that a step gives stands in a narrowed one.
const answerAt = "#/$defs/answer"

// Words of a schema in which other schemas stand.
var (
	oneInside  = []string{"additionalProperties", "additionalItems", "contains", "propertyNames", "not", "if", "then", "else", "items", "unevaluatedItems", "unevaluatedProperties", "contentSchema"}
	listInside = []string{"anyOf", "oneOf", "allOf", "prefixItems", "items"}
	mapInside  = []string{"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"}
)

// eachSchema calls change for a schema and for those inside of it, and returns the whole
// with what change made of each. Values, such as those of enum, are no schemas.
func eachSchema(schema sdk.Value, at string, change func(members sdk.Members, at string) sdk.Members) sdk.Value {
	members, isObject := sdk.ReadMembers(schema)
	if !isObject {
		return schema // true and false
	}
	for i, member := range members {
		here := at + sdk.Pointer(member.Name)
		switch {
		case has(mapInside, member.Name):
			if inner, is := sdk.ReadMembers(member.Value); is {
				for j := range inner {
					inner[j].Value = eachSchema(inner[j].Value, here+sdk.Pointer(inner[j].Name), change)
				}
				members[i].Value = inner.JSON()
			}
		case has(listInside, member.Name) && strings.HasPrefix(string(member.Value), "["):
			var list []sdk.Value
			if json.Unmarshal(member.Value, &list) == nil {
				for j := range list {
					list[j] = eachSchema(list[j], here+sdk.Pointer(j), change)
				}
				members[i].Value = sdk.JSON(list)
			}
		case has(oneInside, member.Name):
			members[i].Value = eachSchema(member.Value, here, change)
		}
	}
	return change(members, at).JSON()
}

func has(words []string, word string) bool {
	for _, known := range words {
		if known == word {
			return true
		}
	}
	return false
}

// wordProblem finds, innermost first, a type that is none, and a reference that leads out
// of the schema.
func wordProblem(schema sdk.Value) (pointer, problem string) {
	say := func(at, text string) {
		if problem == "" {
			pointer, problem = at, text
		}
	}
	eachSchema(schema, "", func(members sdk.Members, at string) sdk.Members {
		for i, name := range typeNames(members.Get("type")) {
			if has(jsonTypes, name) {
				continue
			}
			here := at + "/type"
			if members.Get("type")[0] == '[' {
				here += sdk.Pointer(i)
			}
			say(here, "is no type of JSON: write "+strings.Join(jsonTypes, ", "))
		}
		for _, word := range []string{"$id", "$anchor", "$dynamicRef", "$dynamicAnchor"} {
			if members.Get(word) != nil && (word != "$id" || at != "") {
				say(at+sdk.Pointer(word), "is not read: lead to a part of the schema with $ref and its JSON Pointer")
			}
		}
		if ref := members.Get("$ref"); ref != nil {
			if target := text(ref); target != "#" && !strings.HasPrefix(target, "#/") {
				say(at+"/$ref", "must lead into the schema itself, such as #/$defs/name")
			}
		}
		return members
	})
	return pointer, problem
}

// jsonTypes are the types that a schema may name.
var jsonTypes = []string{"string", "integer", "number", "boolean", "array", "object", "null"}

// typeNames are the words of `type`, one or a list of them.
func typeNames(value sdk.Value) []string {
	var one string
	var several []string
	switch {
	case value == nil:
		return nil
	case json.Unmarshal(value, &one) == nil:
		return []string{one}
	case json.Unmarshal(value, &several) == nil:
		return several
	}
	return []string{""}
}

// rooted is the schema as it stands in a narrowed one: its references begin there.
func rooted(schema sdk.Value) sdk.Value {
	return eachSchema(schema, "", func(members sdk.Members, at string) sdk.Members {
		kept := make(sdk.Members, 0, len(members))
		for _, member := range members {
			if at == "" && (member.Name == "$id" || member.Name == "$schema") {
				continue
			}
			if member.Name == "$ref" {
				member.Value = sdk.Text(answerAt + strings.TrimPrefix(text(member.Value), "#"))
			}
			kept = append(kept, member)
		}
		return kept
	})
}

// schemaAt is where the schema of the list at a pointer into a document stands in the
// document's schema, "" where that is not certain.
func schemaAt(schema sdk.Value, pointer string) string {
	at, here := "", schema
	step := func(tokens ...any) bool {
		next := atPointer(here, sdk.Pointer(tokens...))
		if next == nil {
			return false
		}
		at, here = at+sdk.Pointer(tokens...), next
		return true
	}
	follow := func() bool {
		for range 32 {
			ref := atPointer(here, "/$ref")
			if ref == nil {
				return true
			}
			target, err := url.PathUnescape(strings.TrimPrefix(text(ref), "#"))
			if err != nil {
				return false
			}
			if at, here = target, atPointer(schema, target); here == nil {
				return false
			}
		}
		return false
	}
	tokens := strings.Split(pointer, "/")[1:]
	for _, token := range tokens {
		if !follow() || !step("properties", unescapePointer(token)) {
			return ""
		}
	}
	if !follow() || !step("items") {
		return ""
	}
	return answerAt + strings.ReplaceAll(at, "%", "%25")
}
