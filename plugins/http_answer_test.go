package plugins

import (
	"encoding/json"
	"testing"

	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/plugins/http"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

// FuzzHTTPAnswer: a schema that http takes as an answer is one that the engine can read,
// in all the places where it types an output.
func FuzzHTTPAnswer(f *testing.F) {
	for _, answer := range []string{
		`{"type":"object","properties":{"a":{"$ref":"#/$defs/x%20y"}},"$defs":{"x y":{"type":["integer","null"],"minimum":1}}}`,
		`{"type":"array","items":{"oneOf":[{"type":"string","pattern":"^a"},{"$ref":"#"}]}}`,
		`{"allOf":[{"required":["a"]},{"properties":{"a":{"enum":["b",1]}}}],"additionalProperties":false}`,
		`{"type":"object","properties":{"items":{"type":"array","items":{"format":"date-time","type":"string"}}}}`,
		`{"const":null}`, `{"items":[{"type":"string"}]}`, `{"properties":{"$ref":{"type":"string","writeOnly":true}}}`, `{"minLength":-1}`, `{"required":"a"}`,
	} {
		f.Add(answer, "/items")
	}
	f.Fuzz(func(t *testing.T, answer, items string) {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(answer), &object) != nil || object == nil {
			return
		}
		p := sdktest.Serve(t, http.New())
		for _, input := range []map[string]any{
			{"path": "/a", "answer": json.RawMessage(answer)},
			{"path": "/a", "answer": json.RawMessage(answer), "expect": []int{404}, "pages": map[string]any{"by": "link", "items": items}},
			{"path": "/a", "answer": json.RawMessage(answer), "as": "csv"},
		} {
			problems, narrowed := p.ValidateNarrow("get", input)
			if len(problems) > 0 || narrowed == nil {
				continue
			}
			if _, err := schema.FromJSON(narrowed); err != nil {
				t.Fatalf("%s is taken as an answer, and the engine can't read %s: %v", answer, narrowed, err)
			}
		}
	})
}
