package engine

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/schema"
	"github.com/flowrun/flowrun/engine/workspace"
)

func TestAConfigIsShownWithoutSecretsInClear(t *testing.T) {
	configType, err := schema.FromJSON(json.RawMessage(`{"type":"object","properties":{
		"base_url":{"type":"string"},"proxy":{"type":"string"},"token":{"type":"string","writeOnly":true},"other":{"type":"string","writeOnly":true},
		"headers":{"type":"object","additionalProperties":{"type":"string","writeOnly":true}},
		"keys":{"type":"array","items":{"type":"string","writeOnly":true}},
		"box":{"type":"object","writeOnly":true,"properties":{"a":{"type":"string"}}},
		"token_from":{"type":"object","properties":{"connection":{"type":"string"}}},"n":{"type":"integer"}}}`))
	if err != nil {
		t.Fatal(err)
	}
	got := workspace.PublicConfig(json.RawMessage(`{"base_url":"https://x.example","proxy":"http://me:pass-word@proxy:1","token":"clear-1","other":{"$secret":"T"},
		"headers":{"X-Key":"clear-2","X-Ref":{"$secret":"U"}},"keys":["clear-3"],"box":{"a":"clear-4"},"token_from":{"connection":"login"},"n":3}`), configType)
	want := `{"base_url":"https://x.example","box":"[redacted]","headers":{"X-Key":"[redacted]","X-Ref":{"$secret":"U"}},"keys":["[redacted]"],"n":3,` +
		`"other":{"$secret":"T"},"proxy":"http://me:xxxxx@proxy:1","token":"[redacted]","token_from":{"connection":"login"}}`
	if string(got) != want {
		t.Errorf("%s", got)
	}
	if workspace.PublicConfig(json.RawMessage(`{`), configType) != nil {
		t.Error("what is no JSON is shown")
	}
}

func TestSecretsAreCheckedWithoutTellingThem(t *testing.T) {
	const canary = "canary-4711"
	for name, value := range map[string]string{"": canary, "1A": canary, "a.b": canary, "A": "", "B": strings.Repeat("x", MaxSecret+1), "C": canary + "\xff"} {
		var wrong *fault.InputError
		if err := checkSecret(name, value); !errors.As(err, &wrong) || strings.Contains(err.Error()+wrong.Hint.Text, canary) {
			t.Errorf("%q: %v", name, err)
		}
	}
	for _, name := range []string{"A", "_a1", "TASKS_TOKEN"} {
		if err := checkSecret(name, "a\nb\x00"); err != nil {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOutputsAreRenderedByTheirFormat(t *testing.T) {
	rows := `[{"n":9007199254740993,"a":"x,y"}]`
	tests := map[string]struct{ format, raw, want string }{
		"text":           {"", `"two\nlines"`, "two\nlines"},
		"markdown":       {workspace.FormatMarkdown, `"# A\n"`, "# A\n"},
		"rows as JSON":   {"", rows, rows + "\n"},
		"rows as CSV":    {workspace.FormatCSV, rows, "a,n\r\n\"x,y\",9007199254740993\r\n"},
		"CSV text":       {workspace.FormatCSV, `"a,b\n"`, "a,b\n"},
		"null":           {"", `null`, "null\n"},
		"no rows at all": {workspace.FormatCSV, `[]`, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			if got, err := workspace.RenderOutput(test.format, nil, json.RawMessage(test.raw)); err != nil || string(got) != test.want {
				t.Errorf("%q (%v), want %q", got, err, test.want)
			}
		})
	}
	if _, err := workspace.RenderOutput(workspace.FormatCSV, nil, json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("an object became CSV")
	}
}
