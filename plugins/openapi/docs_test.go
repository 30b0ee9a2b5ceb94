package openapi_test

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"github.com/flowrun/flowrun/plugins/openapi"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```$")

// payments is a document that has what the page names.
const payments = `openapi: 3.0.3
info: {title: Pay, version: "1"}
servers: [{url: "https://pay.example.com"}]
paths:
  /payments:
    get:
      operationId: payments/list
      parameters: [{name: after, in: query, schema: {type: string}}]
      responses: {"200": {description: ok, content: {application/json: {schema: {type: object, properties: {data: {type: array, items: {$ref: "#/components/schemas/Card"}}}}}}}}
    post:
      operationId: payments/create
      requestBody: {content: {application/json: {schema: {$ref: "#/components/schemas/Card"}}}}
      responses: {"201": {description: done}}
    delete: {operationId: payments/forget, deprecated: true, responses: {"204": {description: gone}}}
components:
  schemas: {Card: {type: object, properties: {number: {type: string}}}}
`

// TestThePageShowsWhatIsTaken: the settings and the overlay that the page shows are those
// of this plugin. Its files and commands are run by a test of the program.
func TestThePageShowsWhatIsTaken(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/services/openapi.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := 0
	for _, block := range yamlBlock.FindAllStringSubmatch(string(page), -1) {
		switch text := block[1]; {
		case strings.HasPrefix(text, "overlay: "):
			seen++
			s, err := openapi.Read(openapi.Settings{Document: "d", Overlay: "o"}, openapi.Files{Document: []byte(payments), Overlay: []byte(text)})
			if err != nil {
				t.Fatal(err)
			}
			action, err := s.Action("payments_create")
			if err != nil {
				t.Fatal(err)
			}
			if action.EffectWord() != "keyed" || s.Operation("payments_forget") != nil || !strings.Contains(string(action.Input), `"writeOnly":true`) {
				t.Errorf("the overlay gives %s, %s", action.EffectWord(), action.Input)
			}
		case strings.Contains(text, "document: pay.json"):
			seen++
			var project struct {
				Plugins map[string]struct{ With map[string]any }
			}
			if err := yaml.Unmarshal([]byte(text), &project); err != nil {
				t.Fatal(err)
			}
			settings, err := json.Marshal(project.Plugins["pay"].With)
			if err != nil {
				t.Fatal(err)
			}
			p := sdktest.Tell(t, openapi.New(), sdktest.Told{Name: "pay", Settings: json.RawMessage(settings), Files: map[string]string{"/document": payments}})
			d := p.Describe()
			for _, problem := range d.Problems {
				if !problem.Warning {
					t.Errorf("the settings of the page: %s %s", problem.Pointer, problem.Summary)
				}
			}
			if create, list := p.Action("payments_create"), p.Action("payments_list"); create.Effect != "keyed" || list.Paging == nil || list.Paging.Items != "data" || len(list.Limiters) != 1 {
				t.Errorf("the rules of the page give %+v and %+v", create, list)
			}
		}
	}
	if seen != 2 {
		t.Errorf("the page shows %d of them", seen)
	}
}
