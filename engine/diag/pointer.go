package diag

import "strings"

// Pointer is the JSON Pointer (RFC 6901) of a part of a part: /a/b~1c.
func Pointer(parts ...string) string {
	var b strings.Builder
	for _, part := range parts {
		b.WriteString("/" + strings.ReplaceAll(strings.ReplaceAll(part, "~", "~0"), "/", "~1"))
	}
	return b.String()
}

// PointerParts are the names that a JSON Pointer is made of.
func PointerParts(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(part, "~1", "/"), "~0", "~")
	}
	return parts
}
