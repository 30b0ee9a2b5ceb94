package sdk

import "strings"

// nameLetters are the letters of names in a plugin. The names that projects give to plugins
// have "-" too.
const nameLetters = "abcdefghijklmnopqrstuvwxyz0123456789_"

// maxName is how many letters a name has at most.
const maxName = 63

// isName reports whether a text is a name of letters, a small letter first. Names are matched
// without an expression: to compile one takes longer than the few names of a plugin.
func isName(text, letters string) bool {
	return text != "" && len(text) <= maxName && 'a' <= text[0] && text[0] <= 'z' && strings.Trim(text, letters) == ""
}
