package editor_test

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/flowrun/flowrun/engine/editor"
	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/spec"
)

func action(input string) *plan.Action {
	return &plan.Action{Plugin: "svc", Name: "do", Doc: "Does it.", Effect: plan.EffectKeyed, Input: json.RawMessage(input), Output: json.RawMessage(`{"type":"object"}`)}
}

// accepts says whether the schema takes a step that uses svc.do with this.
func accepts(t *testing.T, input, with string) bool {
	t.Helper()
	return takes(t, resolved(t, action(input)), `{"flowrun":"v1","steps":[{"uses":"svc.do","with":`+with+`}]}`)
}

// resolved is the schema with these actions.
func resolved(t *testing.T, actions ...*plan.Action) *jsonschema.Resolved {
	t.Helper()
	text, err := editor.Schema(spec.V1(), actions, nil)
	if err != nil {
		t.Fatal(err)
	}
	schema := new(jsonschema.Schema)
	if err := json.Unmarshal(text, schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	return resolved
}

func takes(t *testing.T, schema *jsonschema.Resolved, text string) bool {
	t.Helper()
	var workflow any
	if err := json.Unmarshal([]byte(text), &workflow); err != nil {
		t.Fatal(err)
	}
	return schema.Validate(workflow) == nil
}

func TestFieldsTakeTheirTypeOrAnExpression(t *testing.T) {
	const input = `{"type":"object","properties":{
		"count":{"type":"integer","minimum":1},"share":{"type":"number"},"on":{"type":"boolean"},"text":{"type":"string"},
		"short":{"type":"string","maxLength":3},"kind":{"type":"string","enum":["a","b"]},"at":{"type":"string","format":"date-time"},
		"for":{"type":"string","format":"duration"},"key":{"type":"string","writeOnly":true},"list":{"type":"array","items":{"type":"integer"}},
		"body":{"type":"object","properties":{"x":{"type":"integer"}},"required":["x"],"additionalProperties":false},
		"maybe":{"type":["integer","null"]},"free":{}}}`
	for with, want := range map[string]bool{
		`{"count":1}`: true, `{"count":0}`: false, `{"count":"1"}`: false, `{"count":"${{ 1 }}"}`: true,
		`{"share":1.5}`: true, `{"share":"a"}`: false,
		`{"on":true}`: true, `{"on":"yes"}`: false,
		`{"text":"x"}`: true, `{"text":404}`: true, `{"text":["x"]}`: false,
		`{"short":"abc"}`: true, `{"short":"abcd"}`: false, `{"short":"${{ inputs.long }}"}`: true,
		`{"kind":"a"}`: true, `{"kind":"c"}`: false, `{"kind":"${{ x }}"}`: true,
		`{"for":"30s"}`: true, `{"for":"PT20M"}`: true, `{"for":"30"}`: false, `{"for":30}`: false,
		`{"key":"${{ secrets.K }}"}`: true, `{"key":"clear"}`: false,
		`{"list":[1,"${{ 2 }}"]}`: true, `{"list":["a"]}`: false, `{"list":"${{ x }}"}`: true,
		`{"body":{"x":1}}`: true, `{"body":{}}`: false, `{"body":{"x":1,"y":2}}`: false, `{"body":"${{ x }}"}`: true,
		`{"maybe":null}`: true, `{"count":null}`: false, `{"free":{"a":[null]}}`: true, `{"more":1}`: false,
	} {
		if got := accepts(t, input, with); got != want {
			t.Errorf("%s: accepted %t", with, got)
		}
	}
}

func TestSameSchemaWhateverTheOrder(t *testing.T) {
	first, second := action(`{"type":"object"}`), action(`{"type":"object"}`)
	second.Name = "other"
	a, err := editor.Schema(spec.V1(), []*plan.Action{first, second}, []string{"work"})
	if err != nil {
		t.Fatal(err)
	}
	b, err := editor.Schema(spec.V1(), []*plan.Action{second, first}, []string{"work"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(a), string(b)); diff != "" {
		t.Error(diff)
	}
}

func TestHoverTexts(t *testing.T) {
	text, err := editor.Schema(spec.V1(), []*plan.Action{action(`{"type":"object","properties":{"a":{"type":"integer","description":"How many.","default":3}}}`)}, nil)
	if err != nil {
		t.Fatal(err)
	}
	var schema struct {
		Definitions map[string]struct {
			Description string
			Properties  map[string]struct {
				Description string
				Default     any
			}
		}
	}
	if err := json.Unmarshal(text, &schema); err != nil {
		t.Fatal(err)
	}
	with := schema.Definitions["with svc.do"]
	if with.Description != "Does it.\n\nEffect: keyed" || with.Properties["a"].Description != "How many." || with.Properties["a"].Default != 3.0 {
		t.Errorf("got %+v", with)
	}
}

// TestSecretsInsideOfASecretObject takes references as leaves of an object that is secret as a whole, beside clear values.
func TestSecretsInsideOfASecretObject(t *testing.T) {
	const input = `{"type":"object","properties":{"body":{"type":"object","writeOnly":true,"required":["user"],"properties":{
		"user":{"type":"string"},"password":{"type":"string","writeOnly":true},"tries":{"type":"integer","maximum":3}},"additionalProperties":false},
		"headers":{"type":"object","writeOnly":true,"additionalProperties":{"type":"string"}},"plain":{"type":"object","properties":{"key":{"type":"string","writeOnly":true}}},
		"count":{"type":"integer","default":3}}}`
	for with, want := range map[string]bool{
		`{"body":{"user":"a","password":"${{ secrets.P }}"}}`: true, `{"body":{"user":"${{ secrets.U }}","password":"clear"}}`: true, `{"body":"${{ inputs.body }}"}`: true,
		`{"body":{"password":"${{ secrets.P }}"}}`: false, `{"body":{"user":"a","tries":4}}`: false, `{"body":{"user":"a","more":1}}`: false, `{"body":[1]}`: false,
		`{"headers":{"Authorization":"${{ secrets.P }}","Accept":"text/plain"}}`: true, `{"headers":{"a":[1]}}`: false,
		`{"plain":{"key":"${{ secrets.P }}"}}`: true, `{"plain":{"key":"clear"}}`: false, `{}`: true,
	} {
		if got := accepts(t, input, with); got != want {
			t.Errorf("%s: accepted %t", with, got)
		}
	}
}

// ADR 44: what a plugin calls required is written, though it has a default, as the checker and the engine say.
func TestARequiredInputWithADefaultIsWritten(t *testing.T) {
	const input = `{"type":"object","required":["count"],"properties":{"count":{"type":"integer","default":3}}}`
	for with, want := range map[string]bool{`{"count":1}`: true, `{}`: false} {
		if got := accepts(t, input, with); got != want {
			t.Errorf("%s: accepted %t", with, got)
		}
	}
}

// TestWordsAndBoundsOfTheLanguage holds what an editor once took, and the checker never.
func TestWordsAndBoundsOfTheLanguage(t *testing.T) {
	schema := resolved(t)
	for part, want := range map[string]bool{
		`"inputs":{"a":{"type":"null"}}`: false, `"inputs":{"a":{"type":"string"}}`: true, `"inputs":{"a":{"type":"string","minimum":1}}`: false,
		`"concurrency":{"limit":100000000}`: false, `"concurrency":{"limit":10000}`: true, `"concurrency":"one"`: true, `"concurrency":{"queue_max":0}`: false,
		`"defaults":{"retry":{"attempts":100000}}`: false, `"defaults":{"retry":{"attempts":1000}}`: true, `"defaults":{"retry":{"factor":0.5}}`: false, `"defaults":{"retry":{"on":"timeout"}}`: true,
		`"triggers":{"t":{"webhook":{"auth":{"nonsense":true}}}}`: false, `"triggers":{"t":{"webhook":{"auth":{"token":"${{ secrets.T }}"}}}}`: true, `"triggers":{"t":{"webhook":{"auth":{}}}}`: false,
		`"triggers":{"t":{"every":"500ms"}}`: false, `"triggers":{"t":{"every":"1500ms"}}`: true, `"triggers":{"t":{"cron":"@daily","every":"1h"}}`: false, `"triggers":{"manual":{"every":"1h"}}`: false,
		`"timeout":"PT1.0000000001S"`: false, `"timeout":"PT1.5S"`: true, `"timeout":"${{ inputs.t }}"`: false, `"timeout":"0s"`: false, `"name":"${{ inputs.t }}"`: false, `"name":404`: true,
		`"outputs":{"a":{"value":1,"format":"csv"}}`: true, `"outputs":{"a":{"value":1,"colour":"red"}}`: false, `"outputs":{"a":{"colour":"red"}}`: true,
	} {
		if got := takes(t, schema, `{"flowrun":"v1","steps":[{"let":{"x":1}}],`+part+`}`); got != want {
			t.Errorf("%s: accepted %t", part, got)
		}
	}
}

func TestIssue16_3_ALargeValueIsAnExpression(t *testing.T) {
	const input = `{"type":"object","properties":{"file":{"type":"object","x-flowrun-blob":true},"body":{"anyOf":[{"type":"string"},{"type":"object","x-flowrun-blob":true}]}}}`
	for with, want := range map[string]bool{
		`{"file":"${{ steps.a.outputs.body }}"}`: true, `{"file":"a.csv"}`: false, `{"file":{"digest":"x","size":1,"media_type":"","name":""}}`: false,
		`{"body":"text"}`: true, `{"body":{"digest":"x"}}`: false,
	} {
		if got := accepts(t, input, with); got != want {
			t.Errorf("%s: %t, want %t", with, got, want)
		}
	}
}
