package testrun_test

import (
	"context"
	"encoding/json"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/testrun"
)

// cardWorkflow is the workflow of the examples, card.yaml.
const cardWorkflow = `flowrun: v1
name: card
inputs: {domain: {type: string, default: example.com}}
steps:
  - id: whois
    uses: netinfo.whois
    with: {domain: "${{ inputs.domain }}"}
  - id: tell
    uses: core.log
    with: {text: done}
outputs: {found: "${{ steps.whois.outputs.found }}"}
`

// TestEveryCodeHasAWrongAndARightExample: the wrong one has that problem and no
// other, the right one has none. What an author sees is in testdata/codes.golden;
// UPDATE=1 writes it.
func TestEveryCodeHasAWrongAndARightExample(t *testing.T) {
	p := newProject()
	p.files["card.yaml"] = cardWorkflow
	p.actions["netinfo.whois"] = &plan.Action{
		Plugin: "netinfo", Name: "whois", Effect: plan.EffectRead,
		Input:  json.RawMessage(`{"type":"object","required":["domain"],"properties":{"domain":{"type":"string"}}}`),
		Output: json.RawMessage(`{"type":"object","required":["domain","found"],"properties":{"domain":{"type":"string"},"found":{"type":"boolean"}}}`),
	}
	var shown strings.Builder
	for _, page := range diag.Pages() {
		if !strings.HasPrefix(page.Code, "FR6") {
			continue
		}
		if page.Title == "" || page.Doc == "" {
			t.Errorf("%s: the page has the title %q and the text %q", page.Code, page.Title, page.Doc)
		}
		wrong := testrun.Run(context.Background(), p, "card.test.yaml", []byte(page.Wrong), nil)
		if len(wrong.Problems) != 1 || wrong.Problems[0].Code != page.Code {
			t.Errorf("%s: the wrong example says %v", page.Code, wrong.Problems)
		}
		right := testrun.Run(context.Background(), p, "card.test.yaml", []byte(page.Right), nil)
		if len(right.Problems) > 0 {
			t.Errorf("%s: the right example says %v", page.Code, right.Problems)
		}
		source := func(string) ([]byte, bool) { return []byte(page.Wrong), true }
		if err := (diag.Renderer{Source: source}).Write(&shown, wrong.Problems); err != nil {
			t.Fatal(err)
		}
		shown.WriteString("\n")
	}
	const golden = "testdata/codes.golden"
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(golden, []byte(shown.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), shown.String()); diff != "" {
		t.Errorf("%s is not current, UPDATE=1 writes it (-want +got)\n%s", golden, diff)
	}
}
