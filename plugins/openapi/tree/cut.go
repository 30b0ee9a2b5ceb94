package tree

import (
	"bytes"
	"encoding/json"
)

// The functions here walk over JSON that is known to be valid: they look for ends, and
// check nothing.

// cutMembers cuts an object into its members. The values share its bytes.
func cutMembers(raw []byte) []Member {
	var members []Member
	var places map[string]int
	for at := blank(raw, 1); raw[at] != '}'; {
		end := valueEnd(raw, at)
		name := unquote(raw[at:end])
		at = blank(raw, blank(raw, end)+1) // behind the colon
		end = valueEnd(raw, at)
		value := &Node{raw: raw[at:end:end]}
		place, twice := -1, false
		if places == nil {
			for i := range members {
				if members[i].Name == name {
					place, twice = i, true
				}
			}
			if len(members) == indexFrom {
				places = make(map[string]int, 2*indexFrom)
				for i := range members {
					places[members[i].Name] = i
				}
			}
		} else {
			place, twice = places[name]
		}
		if twice {
			members[place].Value = value
		} else {
			if places != nil {
				places[name] = len(members)
			}
			members = append(members, Member{Name: name, Value: value})
		}
		if at = blank(raw, end); raw[at] == ',' {
			at = blank(raw, at+1)
		}
	}
	return members
}

// cutItems cuts a list into its elements.
func cutItems(raw []byte) []*Node {
	items := []*Node{}
	for at := blank(raw, 1); raw[at] != ']'; {
		end := valueEnd(raw, at)
		items = append(items, &Node{raw: raw[at:end:end]})
		if at = blank(raw, end); raw[at] == ',' {
			at = blank(raw, at+1)
		}
	}
	return items
}

// blank returns the place of the next sign that is no blank.
func blank(raw []byte, at int) int {
	for at < len(raw) {
		switch raw[at] {
		case ' ', '\t', '\n', '\r':
			at++
		default:
			return at
		}
	}
	return at
}

// valueEnd returns the place behind the value that begins at a place.
func valueEnd(raw []byte, at int) int {
	switch raw[at] {
	case '"':
		return textEnd(raw, at)
	case '{', '[':
	default:
		for at < len(raw) {
			switch raw[at] {
			case ',', '}', ']', ' ', '\t', '\n', '\r':
				return at
			}
			at++
		}
		return at
	}
	for depth := 0; ; {
		switch raw[at] {
		case '"':
			at = textEnd(raw, at)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return at + 1
			}
		}
		at++
	}
}

// textEnd returns the place behind the text that begins at a place.
func textEnd(raw []byte, at int) int {
	for at++; ; {
		end := bytes.IndexByte(raw[at:], '"')
		slashes := 0
		for i := at + end - 1; i >= at && raw[i] == '\\'; i-- {
			slashes++
		}
		at += end + 1
		if slashes%2 == 0 {
			return at
		}
	}
}

// unquote decodes a text: most are as they stand.
func unquote(quoted []byte) string {
	plain := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(plain, '\\') < 0 {
		return string(plain)
	}
	var text string
	_ = json.Unmarshal(quoted, &text) // it is valid
	return text
}
