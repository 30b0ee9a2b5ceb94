package workspace

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestAFormHasAControlForEachType(t *testing.T) {
	tests := map[string]struct {
		schema string
		kind   FieldKind
		item   FieldKind
	}{
		"text":                        {`{"type":"string"}`, FieldText, ""},
		"text or null":                {`{"type":["string","null"]}`, FieldText, ""},
		"integer":                     {`{"type":"integer"}`, FieldInteger, ""},
		"number":                      {`{"type":"number"}`, FieldNumber, ""},
		"boolean":                     {`{"type":"boolean"}`, FieldBoolean, ""},
		"words of an enum":            {`{"type":"string","enum":["a","b"]}`, FieldChoice, ""},
		"numbers of an enum":          {`{"enum":[1,2]}`, FieldChoice, ""},
		"one constant":                {`{"const":"x"}`, FieldChoice, ""},
		"time":                        {`{"type":"string","format":"date-time"}`, FieldTime, ""},
		"duration":                    {`{"type":"string","format":"duration"}`, FieldDuration, ""},
		"list of text":                {`{"type":"array","items":{"type":"string"}}`, FieldList, FieldText},
		"list of numbers":             {`{"type":"array","items":{"type":"number"}}`, FieldList, FieldNumber},
		"list of choices":             {`{"type":"array","items":{"enum":["a"]}}`, FieldList, FieldChoice},
		"list of times":               {`{"type":"array","items":{"type":"string","format":"date-time"}}`, FieldList, FieldTime},
		"list of text or null":        {`{"type":"array","items":{"type":["string","null"]}}`, FieldJSON, ""},
		"list of lists":               {`{"type":"array","items":{"type":"array","items":{"type":"string"}}}`, FieldJSON, ""},
		"list of objects":             {`{"type":"array","items":{"type":"object","properties":{"a":{"type":"string"}}}}`, FieldJSON, ""},
		"list of anything":            {`{"type":"array"}`, FieldJSON, ""},
		"object":                      {`{"type":"object","properties":{"a":{"type":"string"}}}`, FieldJSON, ""},
		"anything":                    {`{}`, FieldJSON, ""},
		"one of two that differ":      {`{"anyOf":[{"type":"string"},{"type":"integer"}]}`, FieldJSON, ""},
		"secret":                      {`{"type":"string","writeOnly":true}`, FieldSecret, ""},
		"what is defined elsewhere":   {`{"$ref":"#/$defs/n"}`, FieldInteger, ""},
		"text with bounds, described": {`{"type":"string","minLength":1,"maxLength":9,"pattern":"^a","description":"d"}`, FieldText, ""},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			fields, err := FormOf(json.RawMessage(`{"type":"object","properties":{"x":` + test.schema + `},"required":["x"],"$defs":{"n":{"type":"integer"}}}`))
			if err != nil || len(fields) != 1 {
				t.Fatalf("%v (%v)", fields, err)
			}
			if fields[0].Kind != test.kind || fields[0].Item != test.item || fields[0].Name != "x" {
				t.Errorf("%+v", fields[0])
			}
		})
	}
}

func TestAFormSaysWhatAFieldTakes(t *testing.T) {
	fields, err := FormOf(json.RawMessage(`{"type":"object","required":["n","s"],"properties":{
		"s":{"type":["string","null"],"default":null,"description":"a name"},
		"n":{"type":"integer","minimum":1,"maximum":9},
		"o":{"type":"object","required":["a"],"properties":{"a":{"type":"string"},"b":{"type":"integer"}}},
		"c":{"enum":["x",2,null]}}}`))
	if err != nil {
		t.Fatal(err)
	}
	s, n, o, c := fields[0], fields[1], fields[2], fields[3]
	if s.Required || !s.Nullable || string(s.Default) != "null" || s.Doc != "a name" || s.Type != "text or null" {
		t.Errorf("s: %+v", s)
	}
	if !n.Required || n.Nullable || *n.Min != 1 || *n.Max != 9 || n.Type != "an integer" {
		t.Errorf("n: %+v", n)
	}
	if o.Required || len(o.Fields) != 2 || o.Fields[0].Name != "a" || !o.Fields[0].Required {
		t.Errorf("o: %+v", o)
	}
	if !c.Nullable || len(c.Choices) != 2 || string(c.Choices[0]) != `"x"` || string(c.Choices[1]) != "2" {
		t.Errorf("c: %+v", c)
	}
}

func TestASchemaWithoutNamesIsOneField(t *testing.T) {
	for name, document := range map[string]string{"any value": `{}`, "a list": `{"type":"array","items":{"type":"string"}}`, "an open object": `{"type":"object"}`} {
		t.Run(name, func(t *testing.T) {
			fields, err := FormOf(json.RawMessage(document))
			if err != nil || len(fields) != 1 || fields[0].Name != "" {
				t.Fatalf("%+v (%v)", fields, err)
			}
		})
	}
	for _, document := range []string{"", `{"type":"object","properties":{},"additionalProperties":false}`} {
		if fields, err := FormOf(json.RawMessage(document)); err != nil || len(fields) != 0 {
			t.Errorf("%q: %+v (%v)", document, fields, err)
		}
	}
	if _, err := FormOf(json.RawMessage(`{"type":7}`)); err == nil {
		t.Error("what is no schema makes a form")
	}
}

func TestEveryWrongFieldIsToldAtOnce(t *testing.T) {
	document := json.RawMessage(`{"type":"object","additionalProperties":false,"required":["a","b","c","d","e","f"],"properties":{
		"a":{"type":"integer","minimum":3},"b":{"type":"string","minLength":2},"c":{"enum":["x","y"]},
		"d":{"type":"array","items":{"type":"integer"}},"e":{"type":"string","format":"date-time"},"f":{"type":"string"},"g":{"type":"integer","default":4}}}`)
	wrong, err := CheckForm(document, map[string]Input{
		"a": {Text: "1"}, "b": {JSON: json.RawMessage(`"x"`)}, "c": {JSON: json.RawMessage(`"z"`)}, "d": {JSON: json.RawMessage(`[1,"two"]`)},
		"e": {Text: "tomorrow"}, "g": {JSON: json.RawMessage(`null`)}, "gg": {Text: "1"},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, part := range map[string]string{
		"a": "3", "b": "at least 2", "c": "x", "d": "/1", "e": "is not a time", "f": "is missing: it takes text", "g": "null", "gg": "there is no such field",
	} {
		if wrong[name] == nil || !strings.Contains(wrong[name].Message, part) || strings.HasPrefix(wrong[name].Message, "input `") {
			t.Errorf("%s: %+v", name, wrong[name])
		}
	}
	if len(wrong) != 8 {
		t.Errorf("%d fields are wrong", len(wrong))
	}
	wrong, err = CheckForm(document, map[string]Input{
		"a": {Text: "3"}, "b": {JSON: json.RawMessage(`"xx"`)}, "c": {JSON: json.RawMessage(`"y"`)}, "d": {JSON: json.RawMessage(`[]`)},
		"e": {Text: "2026-01-02T03:04:05Z"}, "f": {JSON: json.RawMessage(`""`)},
	})
	if err != nil || wrong != nil {
		t.Errorf("%+v (%v)", wrong, err)
	}
	if wrong, err := CheckForm(json.RawMessage(`{"type":"array","items":{"type":"integer"}}`), map[string]Input{"": {JSON: json.RawMessage(`[1,"x"]`)}}); err != nil || wrong[""] == nil {
		t.Errorf("%+v (%v)", wrong, err)
	}
}
