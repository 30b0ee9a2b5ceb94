package workspace

import (
	"encoding/json"
	"testing"
)

func TestReadableJSON(t *testing.T) {
	tests := map[string]struct{ raw, want string }{
		"text with marks":                {`"a \u0026 b \u003c c \u003e d"`, `"a & b < c > d"`},
		"an escaped backslash stays":     {`"\\u0026"`, `"\\u0026"`},
		"a backslash before an escape":   {`"\\\u0026"`, `"\\&"`},
		"other escapes stay":             {`"\u0001\u0022"`, `"\u0001\u0022"`},
		"objects are indented":           {`{"a":[1]}`, "{\n  \"a\": [\n    1\n  ]\n}"},
		"what is no JSON stays as it is": {`\u0026 {`, `\u0026 {`},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := ReadableJSON(json.RawMessage(tt.raw))
			if got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
			var before, after any
			if json.Unmarshal([]byte(tt.raw), &before) == nil && json.Unmarshal([]byte(got), &after) != nil {
				t.Errorf("%s is no JSON any more", got)
			}
		})
	}
}
