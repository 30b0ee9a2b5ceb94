package spec

import "slices"

// Language is the table of the language: each key that a workflow may have, with what its value may be. What this package reads, what
// engine/check reports of keys, words and bounds, the schema of engine/editor, the tables of docs/language.md and `flowrun explain KEY` are made
// of it. The first map is the workflow. A Language is not changed once it is in use, and then safe for concurrent use.
type Language struct {
	Maps []Map
}

// Map is one map of the language: the workflow, a step, `retry`.
type Map struct {
	Name string // unique in the language; a key that is this map alone mostly has the same
	What string // as messages say it: "`retry`", "a poll"
	Doc  string
	// Keys are those that the map may have, in the order of the documents.
	Keys []Key
	// Each is what every value is where authors choose the names: inputs, labels. Names is the pattern of those names, MaxName their length
	// in characters (0 = any). Both stand without Keys.
	Each    *Key
	Names   string
	MaxName int
	Not     []string // names that are taken
	// One says that exactly one of the keys is written.
	One bool
	// KindBy is the key whose word says which kind the map is; without it the key that is written says so (Key.Makes).
	KindBy string
}

// Type says what a single value must be.
type Type uint8

// The types of single values.
const (
	None       Type = iota // it can't be a single value
	Text                   // text as it stands, without expressions
	Template               // text that may hold `${{ }}`
	Expression             // one `${{ }}` and nothing else
	Condition              // an expression without `${{ }}` that gives true or false
	Word                   // one of Values
	Integer
	Number
	Duration // Least is in seconds
	Secret   // ${{ secrets.NAME }}
	Named    // a name, or one `${{ }}` that gives it
	Anything // any value, be it a map or a list
)

// Key is one key of the language with what its value may be: a single value, a map, a list, or one of several of these.
type Key struct {
	Name string // "" for each value of a map whose names the author chooses, and for an item
	Doc  string // one or two sentences, in Markdown
	What string // a single value, as messages say it: "a `run_if`"; "" where the type says enough

	Type        Type
	Values      []string // the words
	Least, Most float64  // bounds of numbers, both included; Most 0 = none
	Pattern     string   // of texts, RE2 and ECMAScript alike
	MaxRunes    int      // characters of a text; 0 = any
	Null        bool     // an empty value is no problem here: what reads it says what is wrong

	Map   string // the name of the Map that a map is; "" = it can't be one
	Items *Key   // what the items of a list are; nil = it can't be a list
	Some  bool   // a list or map has at least one element

	Default string // as an author would write it; "" = none
	Example string // "retry: {attempts: 4}"
	Needed  bool   // the map can't be without it
	Missing string // what to do where it is needed and not there; "" where the message says enough
	Kinds   []string
	Makes   string // the kind that a map with this key is
}

// Map returns a map of the language; nil when there is none of that name.
func (l *Language) Map(name string) *Map {
	for i := range l.Maps {
		if l.Maps[i].Name == name {
			return &l.Maps[i]
		}
	}
	return nil
}

// Key returns the key of that name: of those that belong to different kinds the first.
func (m *Map) Key(name string) *Key { return m.KeyOf("", name) }

// KeyOf returns the key of that name that belongs to a kind, nil when there is none; "" stands for any kind.
func (m *Map) KeyOf(kind, name string) *Key {
	for i := range m.Keys {
		if key := &m.Keys[i]; key.Name == name && key.of(kind) {
			return key
		}
	}
	return nil
}

// of reports whether the key belongs to a kind. A key without kinds belongs to all.
func (k *Key) of(kind string) bool {
	return kind == "" || k.Makes == kind || slices.Contains(k.Kinds, kind) || k.Makes == "" && k.Kinds == nil
}

// KeyNames returns the names of the keys that belong to a kind, each once; "" stands for any kind.
func (m *Map) KeyNames(kind string) []string {
	var names []string
	for i := range m.Keys {
		if key := &m.Keys[i]; key.of(kind) && !slices.Contains(names, key.Name) {
			names = append(names, key.Name)
		}
	}
	return names
}

// Kinds returns the kinds that the map may be, in the order of the keys that make them; nil when it has no kinds. Those of a map with KindBy are
// the words of that key.
func (m *Map) Kinds() []string {
	if m.KindBy != "" {
		return m.Key(m.KindBy).Values
	}
	var kinds []string
	for _, key := range m.Keys {
		if key.Makes != "" && !slices.Contains(kinds, key.Makes) {
			kinds = append(kinds, key.Makes)
		}
	}
	return kinds
}

// Shape returns the shapes that the key's value may have.
func (k *Key) Shape() Shape {
	var shape Shape
	if k.Type != None {
		shape |= aScalar
	}
	if k.Map != "" {
		shape |= aMapping
	}
	if k.Items != nil {
		shape |= aSequence
	}
	if k.Type == Anything {
		shape = aScalar | aMapping | aSequence
	}
	return shape
}

// Shape says which kinds of nodes a value may be.
type Shape uint8

const (
	aScalar Shape = 1 << iota
	aMapping
	aSequence
)

// Allows reports whether a value may be a node of this kind.
func (s Shape) Allows(kind Kind) bool {
	switch kind {
	case Mapping:
		return s&aMapping != 0
	case Sequence:
		return s&aSequence != 0
	}
	return s&aScalar != 0
}

// String names the shape as a message does after "must be".
func (s Shape) String() string {
	switch s {
	case aMapping:
		return "a map"
	case aSequence:
		return "a list"
	case aMapping | aSequence:
		return "a map or a list"
	case aScalar | aMapping:
		return "a single value or a map"
	case aScalar | aSequence:
		return "a single value or a list"
	}
	return "a single value"
}
