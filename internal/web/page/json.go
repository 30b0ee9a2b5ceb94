package page

import (
	"html/template"
	"regexp"
	"strings"
	"sync"
)

// secretRef is a reference to a secret in JSON that is indented.
var secretRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{\s*"\$secret":\s*"([^"]*)"\s*\}`) })

// maskRefs writes references to secrets as what they are: hidden values.
func maskRefs(text string) string {
	return secretRef().ReplaceAllString(text, `"•••••• (secret $1)"`)
}

// colourJSON marks the names and the kinds of values of JSON that is indented.
// What is cut in the middle or is no JSON at all comes out whole, too. A
// reference to a secret is shown as one.
func colourJSON(text string) template.HTML {
	var out strings.Builder
	for len(text) > 0 {
		switch c := text[0]; {
		case c == '"':
			end := stringEnd(text)
			class := "js"
			if rest := strings.TrimLeft(text[end:], " "); strings.HasPrefix(rest, ":") {
				class = "jk"
			}
			mark(&out, class, text[:end])
			text = text[end:]
		case c == '-' || c >= '0' && c <= '9':
			end := len(text) - len(strings.TrimLeft(text, "-+.eE0123456789"))
			mark(&out, "jn", text[:end])
			text = text[end:]
		case strings.HasPrefix(text, "true"), strings.HasPrefix(text, "null"):
			mark(&out, "jn", text[:4])
			text = text[4:]
		case strings.HasPrefix(text, "false"):
			mark(&out, "jn", text[:5])
			text = text[5:]
		default:
			end := len(text) - len(strings.TrimLeft(text, " \n\t,:[]{}"))
			out.WriteString(escapeText(text[:max(end, 1)]))
			text = text[max(end, 1):]
		}
	}
	return template.HTML(out.String()) //nolint:gosec // all parts are escaped
}

func mark(out *strings.Builder, class, text string) {
	out.WriteString(`<span class="` + class + `">` + escapeText(text) + `</span>`)
}

// stringEnd is the place behind a JSON string at the beginning of a text.
func stringEnd(text string) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// escapeText writes a text that stands between tags, where quotes mean nothing.
func escapeText(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", "\x00", "\uFFFD").Replace(text)
}
