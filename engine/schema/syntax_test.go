package schema

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestIssue12_16_WhyATextIsNoJSON: people type JSON, and read where it went wrong.
func TestIssue12_16_WhyATextIsNoJSON(t *testing.T) {
	for text, want := range map[string]string{
		``:                           "it is empty",
		" \n":                        "it is empty",
		`{`:                          "it ends too early: a bracket or a quote is not closed",
		`"abc`:                       "it ends too early: a bracket or a quote is not closed",
		`abc`:                        "line 1, column 1: found `a`, expected a value",
		`{"domain":"a.de",}`:         "line 1, column 18: found `}`, expected a name in double quotes",
		`{a: 1}`:                     "line 1, column 2: found `a`, expected a name in double quotes",
		`{'a': 1}`:                   "line 1, column 2: found a single quote, expected a name in double quotes",
		`{"a" 1}`:                    "line 1, column 6: found `1`, expected `:`",
		`{"a": 1 "b": 2}`:            "line 1, column 9: found `\"`, expected `,` or `}`",
		`[1 2]`:                      "line 1, column 4: found `2`, expected `,` or `]`",
		`[1,]`:                       "line 1, column 4: found `]`, expected a value",
		"{\n  \"a\": 1,\n  \"ü\": }": "line 3, column 8: found `}`, expected a value",
		`{} {}`:                      "line 1, column 4: found `{`, expected the end",
		`1,`:                         "line 1, column 2: found `,`, expected the end",
		`"a\q"`:                      "line 1, column 4: found `q`, expected one of \" \\ / b f n r t u",
		`"\u12x4"`:                   "line 1, column 6: found `x`, expected four hexadecimal digits",
		"\"a\nb\"":                   "line 1, column 3: found the end of the line, expected a character without an escape, or `\"`",
		"[\t\"a\tb\"]":               "line 1, column 5: found a tab, expected a character without an escape, or `\"`",
		`-x`:                         "line 1, column 2: found `x`, expected a digit",
		`1.x`:                        "line 1, column 3: found `x`, expected a digit",
		`1ex`:                        "line 1, column 3: found `x`, expected a digit",
		`trux`:                       "line 1, column 4: found `x`, expected `true`",
		`folse`:                      "line 1, column 2: found `o`, expected `false`",
		`nil`:                        "line 1, column 2: found `i`, expected `null`",
		`NaN`:                        "line 1, column 1: found `N`, expected a value",
		"\xff":                       "line 1, column 1: found the byte 0xff, expected a value",
		"\u2028":                     "line 1, column 1: found the character U+2028, expected a value",
		strings.Repeat("[", 20_000):  "its values lie too deep in one another",
		`{"a":[1,{"b":null}]}`:       "",
	} {
		if got := WhyNoJSON([]byte(text)); got != want {
			t.Errorf("%.40q: got %q, want %q", text, got, want)
		}
	}
}

// What is told of a text holds no word of the package that reads it, whatever it is.
func FuzzWhyNoJSON(f *testing.F) {
	for _, seed := range []string{`{"a":1}`, `{a}`, `[1,`, "\"\x01", `tru`, `1e`, "[\xc3", `{"a"`, `"\ud8`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got := WhyNoJSON(text)
		if (got == "") != json.Valid(text) {
			t.Fatalf("%q: %q", text, got)
		}
		if !utf8.ValidString(got) || strings.ContainsAny(got, "\n\x1b") || len(got) > 200 {
			t.Fatalf("%q: %q", text, got)
		}
		for _, word := range []string{"invalid character", "looking for", "unexpected", "literal", "JSON input"} {
			if strings.Contains(got, word) {
				t.Fatalf("%q: %q", text, got)
			}
		}
	})
}
