package main_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
)

// Editors complete the inputs of an index: of a small one all, of a large one those of the
// actions that a workflow of the project uses, by the schema of now.
func TestTheSchemaHasTheInputsOfAnIndex(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	binary := experienced(t, dir)
	document := func(actions int) string {
		var text strings.Builder
		text.WriteString("api: 1\ntitle: Many\nbase_url: https://many.example.com\nactions:\n")
		for i := range actions {
			fmt.Fprintf(&text, "  op_%03d: {get: /op/%d, query: {size: optional integer}, answer: any}\n", i, i)
		}
		return text.String()
	}
	write(t, dir, "flowrun.yaml", "plugins: {many: {source: \"bundled:openapi\", with: {document: many.yaml}}}\nconnections: {many: {plugin: many}}\nworkflows: [use.yaml]\n")
	use := func(action string) {
		write(t, dir, "use.yaml", "flowrun: v1\nname: use\nsteps:\n  - uses: many."+action+"\n")
	}
	for _, test := range []struct {
		actions int
		uses    string
		has     map[string]bool
	}{
		{3, "op_001", map[string]bool{"op_001": true, "op_002": true}},
		{150, "op_001", map[string]bool{"op_001": true, "op_002": false}},
		{150, "op_002", map[string]bool{"op_001": false, "op_002": true}}, // not the schema that was kept
	} {
		write(t, dir, "many.yaml", document(test.actions))
		use(test.uses)
		output, code := flowrunIn(t, binary, dir, "schema")
		var schema struct {
			Definitions map[string]struct{ Properties map[string]any } `json:"definitions"`
		}
		if err := json.Unmarshal([]byte(output), &schema); err != nil || code != 0 {
			t.Fatalf("schema exits with %d: %v\n%s", code, err, output)
		}
		for name, want := range test.has {
			if _, has := schema.Definitions["with many."+name].Properties["size"]; has != want {
				t.Errorf("%d actions, %s used: the inputs of %s are there: %v", test.actions, test.uses, name, has)
			}
		}
	}
}
