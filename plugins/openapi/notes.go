package openapi

import (
	"fmt"
	"slices"
	"strings"
)

// Note is something that a document says and an action can't express, or that is wrong
// in it: by its place, a JSON Pointer into the document.
type Note struct {
	Place string
	Text  string
}

// String is the note for people.
func (n Note) String() string {
	if n.Place == "" {
		return n.Text
	}
	return n.Place + ": " + n.Text
}

// notes collects notes, each once.
type notes struct {
	list []Note
	seen map[Note]bool
}

func (n *notes) add(place, format string, args ...any) {
	note := Note{Place: place, Text: fmt.Sprintf(format, args...)}
	if n.seen[note] {
		return
	}
	if n.seen == nil {
		n.seen = map[Note]bool{}
	}
	n.seen[note] = true
	n.list = append(n.list, note)
}

// sorted returns the notes by place.
func (n *notes) sorted() []Note {
	list := slices.Clone(n.list)
	slices.SortStableFunc(list, func(a, b Note) int { return strings.Compare(a.Place, b.Place) })
	return list
}
