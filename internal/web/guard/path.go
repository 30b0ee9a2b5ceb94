package guard

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// fits reports whether an escaped path is that of the route in its one plain
// form: literal segments byte for byte, wildcards with a name in them.
func (b *bound) fits(escaped string) bool {
	parts := strings.Split(escaped, "/")
	if len(parts) != len(b.segments) {
		return false
	}
	for i, part := range parts {
		if !strings.HasPrefix(b.segments[i], "{") {
			if part != b.segments[i] {
				return false
			}
			continue
		}
		if name, err := url.PathUnescape(part); err != nil || !isName(name) {
			return false
		}
	}
	return true
}

// isName reports whether text may name something in a path: it is no step in the
// path, and a file or a log may hold it.
func isName(text string) bool {
	if text == "" || text == "." || text == ".." || !utf8.ValidString(text) {
		return false
	}
	return strings.IndexFunc(text, unicode.IsControl) < 0
}
