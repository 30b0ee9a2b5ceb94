// Package schema is the type system of workflows: it reads JSON Schemas into
// types, converts and validates values by them with exact integers, and decides
// which type fits into which.
package schema

import "regexp"

// Kind is the shape of a type.
type Kind uint8

// The kinds. Any is a value that nothing is known of.
const (
	Any Kind = iota
	Null
	Bool
	Int
	Number
	String
	Time     // string with format date-time; a time.Time in expressions
	Duration // string with format duration; a time.Duration in expressions
	List
	Object
)

// Type is a type of the workflow language. Types are immutable once made and
// safe for concurrent use; they may be shared.
type Type struct {
	Kind     Kind
	Nullable bool // null is a value of it too
	Secret   bool // writeOnly in the schema: secret references only
	// File says, of String, that a value is the path of a file that is read and handed over
	// with it: format project-file in the schema.
	File bool
	// Expected is of a whole narrowed schema: what an answer should be, by which
	// expressions are checked, and no promise (x-flowrun-expected in the schema).
	Expected bool
	Doc      string
	// Blob says, of Object, that a value refers to a large value: x-flowrun-blob in the
	// schema. Its fields are those of BlobRef.
	Blob bool

	Elem *Type // of List; nil = Any
	// Tuple, of List, are the types by place of a list of fixed length, as cross
	// and list literals make; nil = not known. Elem is what they have in common.
	Tuple []*Type

	Fields     []Field // of Object, in the schema's order
	Additional *Type   // of Object: type of names that are not in Fields; nil = none are allowed
	// Open, of Object, says that a value may have names besides, of which nothing is
	// known and which can't be read by name: answers may have more than their schema
	// declares. Additional is nil then.
	Open bool

	Enum      []any // allowed values as Decode makes them; nil = all
	Min, Max  *float64
	MinLength *int // of String in characters, of List in items
	MaxLength *int
	Pattern   string // of String: RE2, unanchored
	Default   []byte // JSON; nil = none

	// Alternatives, of Any, are the types of which a value has one; nil = nothing
	// is known of it. None of them is Any, null or nullable.
	Alternatives []*Type

	// Variants, of Object, are the objects of which a value has one whole, as anyOf and
	// oneOf list them, and by the first of which that takes it it is decoded; Fields and the
	// rest are what they have in common. nil = it is one.
	Variants []*Type

	compiled *regexp.Regexp // of Pattern; nil = not compiled yet
	index    map[string]int // of Fields, when there are many
}

// Field is a named part of an object.
type Field struct {
	Name     string
	Type     *Type
	Required bool // a field that is not required reads as nullable
}
