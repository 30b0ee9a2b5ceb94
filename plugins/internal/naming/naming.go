// Package naming makes names of actions out of the names that a service has, and matches
// them against patterns.
package naming

import (
	"strings"
	"unicode"
)

// Max is how long the name of an action may be, in bytes.
const Max = 63

// Action makes the name of an action out of the name of an operation or a tool: words in lower case with _
// between them. "issues/list-for-repo" is issues_list_for_repo, "getHTTPInfo" is
// get_http_info. It is "" where no letter is left.
func Action(text string) string {
	var out strings.Builder
	runes := []rune(text)
	for i, r := range runes {
		switch {
		case r > unicode.MaxASCII || !unicode.IsLetter(r) && !unicode.IsDigit(r):
			r = '_'
		case unicode.IsUpper(r) && i > 0 && beginsWord(runes, i):
			out.WriteByte('_')
		}
		if r == '_' && strings.HasSuffix(out.String(), "_") {
			continue
		}
		out.WriteRune(unicode.ToLower(r))
	}
	name := strings.Trim(out.String(), "_")
	if name != "" && (name[0] < 'a' || name[0] > 'z') {
		name = "op_" + name
	}
	return name
}

// beginsWord reports whether a capital begins a word: behind a small letter or a digit,
// or before a small letter in a row of capitals.
func beginsWord(runes []rune, i int) bool {
	before := runes[i-1]
	if unicode.IsLower(before) || unicode.IsDigit(before) {
		return true
	}
	return unicode.IsUpper(before) && i+1 < len(runes) && unicode.IsLower(runes[i+1])
}

// Matches reports whether a pattern takes a text; * stands for anything, a slash too.
func Matches(pattern, text string) bool {
	head, rest, star := strings.Cut(pattern, "*")
	if !star {
		return pattern == text
	}
	text, ok := strings.CutPrefix(text, head)
	if !ok {
		return false
	}
	for {
		part, more, again := strings.Cut(rest, "*")
		if !again {
			return strings.HasSuffix(text, part)
		}
		i := strings.Index(text, part)
		if i < 0 {
			return false
		}
		text, rest = text[i+len(part):], more
	}
}
