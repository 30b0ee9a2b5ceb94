package openapi

import (
	"crypto/sha256"
	"encoding/hex"
	"net/url"
	"strings"
	"unicode"
)

// maxName is how long a name of an action may be, in bytes.
const maxName = 63

// unescape undoes percent-encoding where it is right.
func unescape(text string) string {
	if plain, err := url.PathUnescape(text); err == nil {
		return plain
	}
	return text
}

// nameOf makes the name of an action out of an operationId: words in lower case with _
// between them. "issues/list-for-repo" is issues_list_for_repo, "getHTTPInfo" is
// get_http_info. It is "" where no letter is left.
func nameOf(text string) string {
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

// nameOfPath makes the name of an operation without an operationId: GET /pets/{id} is
// get_pets_by_id.
func nameOfPath(method, path string) string {
	words := []string{strings.ToLower(method)}
	for segment := range strings.SplitSeq(path, "/") {
		if inner, ok := strings.CutPrefix(segment, "{"); ok {
			segment = "by_" + strings.TrimSuffix(inner, "}")
		}
		if segment != "" {
			words = append(words, segment)
		}
	}
	if len(words) == 1 {
		words = append(words, "root")
	}
	return nameOf(strings.Join(words, "_"))
}

// mark tells operations of one name apart, whatever else the document has.
func mark(method, path string) string {
	sum := sha256.Sum256([]byte(method + " " + path))
	return hex.EncodeToString(sum[:3])
}

// fitted cuts a name that is too long, with a mark of the operation.
func fitted(name, method, path string) string {
	if len(name) <= maxName {
		return name
	}
	return strings.TrimRight(name[:maxName-7], "_") + "_" + mark(method, path)
}

// matches reports whether a pattern takes a text; * stands for anything, a slash too.
func matches(pattern, text string) bool {
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
