package testrun

import (
	"fmt"
	"regexp"
	"strings"
	"sync"

	"github.com/flowrun/flowrun/engine/schema"
)

// plainText are texts that YAML readers take for nothing but text, and that this
// language does too.
var plainText = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_./@+\[\]-]*( [A-Za-z0-9_./@+\[\]-]+)*$`)
})

// wordsOfYAML are plain texts that some reader takes for something else.
var wordsOfYAML = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(?i)^(yes|no|on|off|true|false|null)$`) })

// writeYAML writes a value in block style, keys sorted: the same value gives the
// same text.
func writeYAML(out *strings.Builder, value any, indent int) {
	switch v := value.(type) {
	case map[string]any:
		for _, key := range sortedKeys(v) {
			writePair(out, key, v[key], indent)
		}
	case []any:
		for _, item := range v {
			out.WriteString(strings.Repeat(" ", indent) + "-")
			writeItem(out, item, indent)
		}
	default:
		out.WriteString(strings.Repeat(" ", indent) + scalarYAML(v) + "\n")
	}
}

func writePair(out *strings.Builder, key string, value any, indent int) {
	out.WriteString(strings.Repeat(" ", indent) + scalarYAML(key) + ":")
	if flow, ok := emptyYAML(value); ok {
		out.WriteString(" " + flow + "\n")
		return
	}
	out.WriteString("\n")
	writeYAML(out, value, indent+2)
}

// writeItem writes what stands behind the dash of an element.
func writeItem(out *strings.Builder, item any, indent int) {
	if flow, ok := emptyYAML(item); ok {
		out.WriteString(" " + flow + "\n")
		return
	}
	var inner strings.Builder
	writeYAML(&inner, item, indent+2)
	out.WriteString(" " + strings.TrimLeft(inner.String(), " "))
}

// emptyYAML returns what fits on the key's line.
func emptyYAML(value any) (string, bool) {
	switch v := value.(type) {
	case map[string]any:
		return "{}", len(v) == 0
	case []any:
		return "[]", len(v) == 0
	}
	return scalarYAML(value), true
}

func scalarYAML(value any) string {
	text, isText := value.(string)
	if !isText {
		raw, err := schema.Encode(value)
		if err != nil {
			return fmt.Sprintf("%q", fmt.Sprint(value))
		}
		return string(raw)
	}
	if plainText().MatchString(text) && !wordsOfYAML().MatchString(text) {
		return text
	}
	raw, err := schema.Encode(text)
	if err != nil {
		return `""` // a text always encodes
	}
	// JSON's escapes are those of YAML's double quotes; what JSON leaves as it is
	// and YAML does not take is escaped too.
	var out strings.Builder
	for _, r := range string(raw) {
		if r == 0x7f || r >= 0x80 && r < 0xa0 || r == 0xfeff || r == 0x2028 || r == 0x2029 {
			fmt.Fprintf(&out, "\\u%04x", r)
			continue
		}
		out.WriteRune(r)
	}
	return out.String()
}
