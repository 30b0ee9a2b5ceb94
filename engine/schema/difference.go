package schema

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"

	"github.com/flowrun/flowrun/engine/diag"
)

// What differs between two types of the same thing.
const (
	DiffField    = "field"    // a field came or went
	DiffRequired = "required" // a field must be there now, or may be missing now
	DiffType     = "type"     // another kind of value
	DiffNull     = "null"     // null came or went
	DiffSecret   = "secret"   // secret references came or went
	DiffEnum     = "enum"     // values of an enum came or went
	DiffBound    = "bound"    // minimum, maximum, lengths, pattern
	DiffNames    = "names"    // names that no field declares came or went
	DiffDefault  = "default"  // what stands for a field that is left out
)

// Difference is one difference between two types of the same thing, such as an input of
// an action of two versions.
type Difference struct {
	What    string // one of the constants above
	Pointer string // of the part, "" for the whole; "*" stands for all elements or names
	Text    string // what is different, behind the part's name: "is gone"
	// Gives and Reads say whose work may not fit any more: of those who give such a
	// value, and of those who read one.
	Gives, Reads bool

	path []part
	set  func(*Type)
}

// part is one step from a type into its parts.
type part struct {
	name  string
	every bool // the elements of a list, the other names of an object
}

// Differences returns what is different in `next`, in the order of its parts. Texts for
// people are none: a description does not count.
func (t *Type) Differences(next *Type) []Difference {
	d := differ{}
	d.types(t, next)
	return d.found
}

// Apply returns the type that differs from t by this alone: t is the type whose
// Differences it is one of.
func (d Difference) Apply(t *Type) *Type { return rewritten(t, d.path, d.set) }

func rewritten(t *Type, path []part, set func(*Type)) *Type {
	c := *t
	c.Fields, c.index = slices.Clone(t.Fields), nil
	if len(path) == 0 {
		set(&c)
		return &c
	}
	first, rest := path[0], path[1:]
	switch {
	case !first.every:
		if i := t.fieldIndex(first.name); i >= 0 {
			c.Fields[i].Type = rewritten(t.Fields[i].Type, rest, set)
		}
	case t.Kind == List:
		c.Elem = rewritten(t.Element(), rest, set)
	case t.Additional != nil:
		c.Additional = rewritten(t.Additional, rest, set)
	}
	return &c
}

type differ struct {
	path  []part
	found []Difference
}

func (d *differ) inside(p part, look func()) {
	d.path = append(d.path, p)
	look()
	d.path = d.path[:len(d.path)-1]
}

// add notes a difference at the part at hand; set makes it in a copy of the first type.
func (d *differ) add(what string, gives, reads bool, text string, set func(*Type)) {
	names := make([]string, len(d.path))
	for i, p := range d.path {
		if names[i] = p.name; p.every {
			names[i] = "*"
		}
	}
	d.found = append(d.found, Difference{
		What: what, Pointer: diag.Pointer(names...), Text: text, Gives: gives, Reads: reads, path: slices.Clone(d.path), set: set,
	})
}

func (d *differ) types(t, next *Type) {
	if t.Kind != next.Kind || t.Blob != next.Blob || !slices.EqualFunc(t.Alternatives, next.Alternatives, (*Type).Equal) {
		gives, reads := true, true
		switch {
		case t.Kind == Int && next.Kind == Number, !next.Known():
			gives = false
		case t.Kind == Number && next.Kind == Int, !t.Known():
			reads = false
		}
		d.add(DiffType, gives, reads, fmt.Sprintf("is %s, was %s", next.Article(), t.Article()), func(at *Type) { *at = *next })
		return
	}
	if t.Secret != next.Secret {
		text := "is a secret now"
		if t.Secret {
			text = "is no secret any more"
		}
		d.add(DiffSecret, true, next.Secret, text, func(at *Type) { at.Secret = next.Secret })
	}
	if t.Nullable != next.Nullable {
		text := "may be null now"
		if t.Nullable {
			text = "may not be null any more"
		}
		d.add(DiffNull, t.Nullable, next.Nullable, text, func(at *Type) { at.Nullable = next.Nullable })
	}
	d.enums(t, next)
	d.bounds(t, next)
	if !bytes.Equal(t.Default, next.Default) {
		d.add(DiffDefault, false, false, fmt.Sprintf("has the default %s, had %s", orNone(next.Default), orNone(t.Default)),
			func(at *Type) { at.Default = next.Default })
	}
	switch t.Kind {
	case List:
		if t.Elem != nil || next.Elem != nil {
			d.inside(part{every: true}, func() { d.types(t.Element(), next.Element()) })
		}
	case Object:
		d.objects(t, next)
	}
}

func orNone(text []byte) string {
	if text == nil {
		return "none"
	}
	return string(text)
}

func (d *differ) enums(t, next *Type) {
	gone, came := without(t.Enum, next.Enum), without(next.Enum, t.Enum)
	set := func(at *Type) { at.Enum = next.Enum }
	switch {
	case t.Enum == nil && next.Enum == nil:
	case t.Enum == nil:
		d.add(DiffEnum, true, false, "must be one of "+showEnum(next.Enum)+" now", set)
	case next.Enum == nil:
		d.add(DiffEnum, false, true, "may be any "+t.String()+", was one of "+showEnum(t.Enum), set)
	default:
		if len(gone) > 0 {
			d.add(DiffEnum, true, false, "does not take "+showEnum(gone)+" any more", func(at *Type) {
				if at.Enum = without(at.Enum, gone); len(at.Enum) == 0 {
					at.Enum = next.Enum // one of nothing is no enum
				}
			})
		}
		if len(came) > 0 {
			d.add(DiffEnum, false, true, "may be "+showEnum(came)+" too", func(at *Type) {
				at.Enum = slices.Concat(at.Enum, without(came, at.Enum))
			})
		}
	}
}

// without returns the values that others lack; never nil.
func without(values, others []any) []any {
	left := []any{}
	for _, value := range values {
		if !slices.ContainsFunc(others, func(other any) bool { return sameScalar(value, other) }) {
			left = append(left, value)
		}
	}
	return left
}

func (d *differ) bounds(t, next *Type) {
	unit := "characters"
	if t.Kind == List {
		unit = "elements"
	}
	number := func(n *int) *float64 {
		if n == nil {
			return nil
		}
		f := float64(*n)
		return &f
	}
	d.bound(t.Min, next.Min, false, "minimum", func(at *Type) { at.Min = next.Min })
	d.bound(t.Max, next.Max, true, "maximum", func(at *Type) { at.Max = next.Max })
	d.bound(number(t.MinLength), number(next.MinLength), false, "least number of "+unit, func(at *Type) { at.MinLength = next.MinLength })
	d.bound(number(t.MaxLength), number(next.MaxLength), true, "largest number of "+unit, func(at *Type) { at.MaxLength = next.MaxLength })
	if t.Pattern != next.Pattern {
		text := "must match " + next.Pattern
		if next.Pattern == "" {
			text = "need not match " + t.Pattern + " any more"
		}
		d.add(DiffBound, next.Pattern != "", t.Pattern != "", text, func(at *Type) { at.Pattern, at.compiled = next.Pattern, next.compiled })
	}
}

// bound compares a bound, above or below.
func (d *differ) bound(was, is *float64, above bool, name string, set func(*Type)) {
	if samePointed(was, is) {
		return
	}
	show := func(f *float64) string {
		if f == nil {
			return "none"
		}
		return strconv.FormatFloat(*f, 'g', -1, 64)
	}
	narrower := was == nil || is != nil && (*is > *was) != above
	d.add(DiffBound, narrower, !narrower, fmt.Sprintf("has the %s %s, had %s", name, show(is), show(was)), set)
}

func (d *differ) objects(t, next *Type) {
	for _, field := range t.Fields {
		if _, there := next.declared(field.Name); !there {
			d.inside(part{name: field.Name}, func() {
				d.add(DiffField, true, true, "is gone", nil)
				d.onParent(func(at *Type) {
					at.Fields = slices.DeleteFunc(at.Fields, func(f Field) bool { return f.Name == field.Name })
				})
			})
		}
	}
	for _, field := range next.Fields {
		was, there := t.declared(field.Name)
		d.inside(part{name: field.Name}, func() {
			switch {
			case !there:
				d.came(t, field)
			case was.Required != field.Required:
				text := "must be given now"
				if was.Required {
					text = "may be missing now"
				}
				d.add(DiffRequired, field.Required, was.Required, text, nil)
				d.onParent(func(at *Type) { at.Fields[at.fieldIndex(field.Name)].Required = field.Required })
			}
			if there {
				d.types(was.Type, field.Type)
			}
		})
	}
	d.names(t, next)
}

// came notes a new field.
func (d *differ) came(t *Type, field Field) {
	text := "is new"
	if field.Required {
		text = "is new and must be given"
	}
	d.add(DiffField, field.Required || t.Additional != nil, t.Additional != nil, text, nil)
	d.onParent(func(at *Type) { at.Fields = append(at.Fields, field) })
}

// onParent makes the last difference one of the object around.
func (d *differ) onParent(set func(*Type)) {
	last := &d.found[len(d.found)-1]
	last.path, last.set = last.path[:len(last.path)-1], set
}

// names compares what is taken beyond the fields that are declared.
func (d *differ) names(t, next *Type) {
	set := func(at *Type) { at.Additional, at.Open = next.Additional, next.Open }
	switch {
	case t.Additional != nil && next.Additional != nil:
		d.inside(part{every: true}, func() { d.types(t.Additional, next.Additional) })
	case t.Additional != nil:
		d.add(DiffNames, true, true, "has no other names any more", set)
	case next.Additional != nil:
		d.add(DiffNames, false, true, "may have any names now", set)
	case t.Open != next.Open && next.Open:
		d.add(DiffNames, false, true, "may have other names now", set)
	case t.Open != next.Open:
		d.add(DiffNames, false, false, "has no names but its own", set)
	}
}
