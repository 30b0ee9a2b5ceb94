package sdk_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/sdk"
	"github.com/flowrun/flowrun/sdk/sdktest"
)

type shelf struct {
	Boxes map[string]json.RawMessage `json:"boxes"`
	Key   string                     `json:"key" secret:"true"`
}

type boxInput struct {
	Box string `json:"box"`
}

type boxOutput struct {
	Held json.RawMessage `json:"held"`
}

// boxes is a plugin whose connections declare what an action gives.
func boxes() *sdk.Plugin {
	return sdk.New("boxes", "1.0.0", "Boxes.",
		sdk.ValidateConfig(func(c shelf) []sdk.Problem {
			if c.Key == "bad" {
				return []sdk.Problem{sdk.Problemf("/key", "is bad")}
			}
			return nil
		}),
		sdk.Read("look", "Looks into a box.",
			func(c *sdk.Call[shelf], in boxInput) (boxOutput, error) {
				return boxOutput{Held: c.Config.Boxes[in.Box]}, nil
			},
			sdk.ValidateOn(func(c shelf, in boxInput, unknown []string) []sdk.Problem {
				if sdk.IsUnknown(unknown, "/box") || c.Boxes[in.Box] != nil {
					return nil
				}
				return []sdk.Problem{sdk.Problemf("/box", "there is no box `%s`", in.Box)}
			}),
			sdk.NarrowOn(func(_ shelf, in boxInput, _ []string) json.RawMessage {
				return json.RawMessage(`{"type":"object","required":["held"],"properties":{"held":{"const":"` + in.Box + `"}}}`)
			})))
}

func TestAnInputIsHeldAgainstTheConfigOfItsConnection(t *testing.T) {
	config := map[string]any{"boxes": map[string]any{"red": 1}}
	p := sdktest.Open(t, boxes(), map[string]any{"boxes": map[string]any{"red": 1}, "key": "good"})
	if got := strings.Join(p.Describe().Features, " "); got != "validate_config execute_stream" {
		t.Errorf("features %q", got)
	}
	for _, c := range []struct {
		name    string
		input   map[string]any
		unknown []string
		config  map[string]any
		want    string // "" = no problem
		schema  bool
	}{
		{name: "a good one", input: map[string]any{"box": "red"}, config: config, schema: true},
		{name: "a wrong one", input: map[string]any{"box": "blue"}, config: config, want: "/box there is no box `blue`"},
		{name: "an expression", input: map[string]any{}, unknown: []string{"/box"}, config: config, schema: true},
		{name: "a wrong config", input: map[string]any{"box": "red"}, config: map[string]any{"boxes": 1}, want: "its config is wrong: /boxes must be an object"},
	} {
		problems, narrowed := p.ValidateOn("look", c.config, []string{"/key"}, c.input, c.unknown...)
		got := ""
		for _, problem := range problems {
			got += problem.Pointer + " " + problem.Summary
		}
		if c.want == "" && got != "" || !strings.Contains(got, c.want) || (narrowed != nil) != c.schema {
			t.Errorf("%s: %q, narrowed to %s", c.name, got, narrowed)
		}
	}
	if problems := p.Validate("look", map[string]any{"box": "blue"}); len(problems) > 0 {
		t.Errorf("without a config: %v", problems)
	}
	if problems, _ := p.ValidateOn("look", map[string]any{"boxes": map[string]any{"red": 1}, "key": "bad"}, nil, map[string]any{"box": "red"}); len(problems) != 1 {
		t.Errorf("a rule of the config: %v", problems)
	}
	if failed := p.Call("look", map[string]any{"box": "blue"}).Err; failed == nil || failed.Pointer != "/box" || failed.Applied != sdk.NotApplied {
		t.Errorf("before a call: %+v", failed)
	}
	if failed := p.Call("look", map[string]any{"box": "red"}).Err; failed != nil {
		t.Error(failed)
	}
}

func TestASchemaOfAConfig(t *testing.T) {
	s, err := sdk.ParseSchema(sdk.Value(`{"type":"object","required":["n"],"additionalProperties":false,"properties":{
		"n":{"type":"integer","minimum":1},"list":{"type":"array","items":{"$ref":"#/$defs/pair"}},"word":{"type":"string","default":"x"}},
		"$defs":{"pair":{"type":"object","properties":{"a":{"type":"number","default":1.50}}}}}`))
	if err != nil {
		t.Fatal(err)
	}
	if got, err := s.Complete(sdk.Value(`{"n":2,"list":[{},{"a":3}]}`)); err != nil || string(got) != `{"list":[{"a":1.50},{"a":3}],"n":2,"word":"x"}` {
		t.Errorf("completed to %s, %v", got, err)
	}
	if got := s.Check(sdk.Value(`{"n":0,"m":1}`)); len(got) != 2 || got[0].Pointer != "/n" || got[1].Pointer != "/m" {
		t.Errorf("problems %+v", got)
	}
	if got := s.Check(sdk.Value(`{"n":0}`), "/n"); len(got) != 0 {
		t.Errorf("of what is not known: %+v", got)
	}
	if !s.Property("list").Items().Property("a").Takes("integer") || s.Property("n").Takes("number") || !s.Required("n") || s.Required("word") || !s.Closed() {
		t.Error("what is asked of its parts")
	}
	for _, wrong := range []string{``, `{`, `{"type":"text"}`, `{"$ref":"other.json"}`, `{"properties":{"a":false}}`} {
		if _, err := sdk.ParseSchema(sdk.Value(wrong)); err == nil {
			t.Errorf("%s is taken", wrong)
		}
	}
}
