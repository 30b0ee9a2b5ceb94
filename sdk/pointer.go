package sdk

import (
	"strconv"
	"strings"
)

// nameToken returns "/name" escaped as RFC 6901 says.
func nameToken(name string) string {
	if !strings.ContainsAny(name, "~/") {
		return "/" + name // nearly all are so, and this is done for each field of each input
	}
	return "/" + strings.NewReplacer("~", "~0", "/", "~1").Replace(name)
}

func indexToken(i int) string { return "/" + strconv.Itoa(i) }

// unknownSet holds the JSON Pointers whose values are not known yet.
type unknownSet []string

// newUnknownSet also takes plain names of inputs.
func newUnknownSet(pointers []string) unknownSet {
	set := make(unknownSet, 0, len(pointers))
	for _, p := range pointers {
		if p != "" && !strings.HasPrefix(p, "/") {
			p = nameToken(p)
		}
		set = append(set, p)
	}
	return set
}

// covers reports whether the value at pointer is not known.
func (u unknownSet) covers(pointer string) bool {
	for _, p := range u {
		if pointer == p || strings.HasPrefix(pointer, p+"/") {
			return true
		}
	}
	return false
}

// touches reports whether the value at pointer, or a part of it, is not known.
func (u unknownSet) touches(pointer string) bool {
	for _, p := range u {
		if strings.HasPrefix(p, pointer+"/") {
			return true
		}
	}
	return u.covers(pointer)
}

// without returns the document with its unknown parts taken out: a member is
// deleted, an element of a list becomes null so that the others keep their
// place.
func (u unknownSet) without(v any, pointer string) any {
	switch typed := v.(type) {
	case map[string]any:
		kept := make(map[string]any, len(typed))
		for name, member := range typed {
			if at := pointer + nameToken(name); !u.covers(at) {
				kept[name] = u.without(member, at)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(typed))
		for i, item := range typed {
			if at := pointer + indexToken(i); !u.covers(at) {
				kept[i] = u.without(item, at)
			}
		}
		return kept
	}
	return v
}
