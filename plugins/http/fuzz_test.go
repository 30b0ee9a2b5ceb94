package http

import (
	"encoding/json"
	"net/url"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
)

// FuzzPath puts any value into a path: it stays one segment of it, and the host stays.
func FuzzPath(f *testing.F) {
	for _, value := range []string{"a", "a/b", "..", "%2e%2e", "a?b#c", "@evil.example", "\\..\\", "ü\x00\n"} {
		f.Add(value)
	}
	f.Fuzz(func(t *testing.T, value string) {
		path, err := fill("/a/{id}/b", map[string]string{"id": value}, func(string) string { return "/params/id" })
		if err != nil {
			return
		}
		u, err := url.Parse("https://example.com/root" + escaped(path))
		if err != nil || u.Host != "example.com" || u.RawQuery != "" || u.Fragment != "" {
			t.Fatalf("%q becomes %s (%v)", value, path, err)
		}
		segments := strings.Split(u.EscapedPath(), "/")
		if len(segments) != 5 || segments[1] != "root" || segments[2] != "a" || segments[4] != "b" {
			t.Fatalf("%q becomes %s", value, u.EscapedPath())
		}
		if back, err := url.PathUnescape(segments[3]); err != nil || back != value {
			t.Fatalf("%q arrives as %q (%v)", value, back, err)
		}
	})
}

// FuzzAnswer takes any schema that a step may give: what is read is read again in the
// narrowed one, and a document is judged without a panic.
func FuzzAnswer(f *testing.F) {
	f.Add(`{"type":"object","properties":{"a":{"$ref":"#/$defs/x"}},"$defs":{"x":{"type":["integer","null"]}}}`, `{"a":1}`)
	f.Add(`{"$ref":"#"}`, `[]`)
	f.Add(`{"anyOf":[{"type":"string"},{"items":{"$ref":"#/anyOf/0"}}]}`, `["a"]`)
	f.Fuzz(func(t *testing.T, answer, document string) {
		if !json.Valid([]byte(answer)) || !json.Valid([]byte(document)) {
			return
		}
		read := readShape(sdk.Value(answer))
		if read.problem != "" {
			return
		}
		narrowed := `{"properties":{"body":{"$ref":"` + answerAt + `"}},"$defs":{"answer":` + string(rooted(sdk.Value(answer))) + `}}`
		whole, err := sdk.ParseSchema(sdk.Value(narrowed))
		if err != nil {
			t.Fatalf("%s can be read, and not as a part: %v\n%s", answer, err, narrowed)
		}
		alone := read.CheckAnswer(sdk.Value(document))
		inside := whole.CheckAnswer(sdk.Value(`{"body":` + document + `}`))
		if (len(alone) == 0) != (len(inside) == 0) {
			t.Fatalf("%s of %s: %v alone, %v as a part", document, answer, alone, inside)
		}
	})
}
