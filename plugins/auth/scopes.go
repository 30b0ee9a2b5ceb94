package auth

import (
	"slices"
	"strings"
)

// scopeProblem says what is wrong with one scope, or "". There is no list of
// allowed ones: a scope is any text without blanks and control characters.
func scopeProblem(scope string) string {
	switch {
	case scope == "":
		return "must not be empty"
	case strings.ContainsFunc(scope, func(r rune) bool { return r == ' ' }):
		return "must not hold a blank: write each scope as an item of its own"
	case strings.ContainsFunc(scope, func(r rune) bool { return r < ' ' || r >= 0x7f }):
		return "must be printable ASCII"
	}
	return ""
}

// splitScopes reads a `scope` text.
func splitScopes(text string) []string { return strings.Fields(text) }

// missingScopes returns what was asked for and not granted. Both are sets; case
// counts.
func missingScopes(asked, granted []string) []string {
	missing := []string{}
	for _, scope := range asked {
		if !slices.Contains(granted, scope) && !slices.Contains(missing, scope) {
			missing = append(missing, scope)
		}
	}
	return missing
}
