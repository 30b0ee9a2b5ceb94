package analytics

import (
	"strconv"
	"strings"
)

// unknowns are the JSON Pointers of inputs whose value is not known yet: their
// fields are zero values, and nothing may be said of them.
type unknowns []string

// covers reports whether nothing is known of the value at pointer.
func (u unknowns) covers(pointer string) bool {
	for _, p := range u {
		if !strings.HasPrefix(p, "/") {
			p = "/" + p
		}
		if pointer == p || strings.HasPrefix(pointer, p+"/") {
			return true
		}
	}
	return false
}

// touches reports whether the value at pointer, or a part of it, is not known.
func (u unknowns) touches(pointer string) bool {
	for _, p := range u {
		if strings.HasPrefix("/"+strings.TrimPrefix(p, "/"), pointer+"/") {
			return true
		}
	}
	return u.covers(pointer)
}

// given reports whether an input stands there, known or not.
func (u unknowns) given(pointer, text string) bool { return text != "" || u.covers(pointer) }

func at(pointer string, i int) string { return pointer + "/" + strconv.Itoa(i) }
