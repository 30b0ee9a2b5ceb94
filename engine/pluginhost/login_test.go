package pluginhost

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/flowrun/flowrun/engine/plan"
)

// TestALoginsActionsHaveTheShapesThatAreCalled: each case is a description of which one
// action differs.
func TestALoginsActionsHaveTheShapesThatAreCalled(t *testing.T) {
	const flow, none, open = `"flow_id":{"type":"string"}`, ``, `additionalProperties`
	whole := Login{Start: "start", Wait: "wait", Status: "status", Revoke: "revoke", Scopes: []string{"a"}}
	least := Login{Start: "start", Wait: "wait"}
	for name, test := range map[string]struct {
		login               Login
		action, takes, says string // properties, all required
		want                string
	}{
		"all of it":             {login: whole},
		"the least":             {login: least},
		"no start":              {login: Login{Wait: "wait"}, want: "it names no action for start"},
		"no wait":               {login: Login{Start: "start"}, want: "it names no action for wait"},
		"a start that is lost":  {login: Login{Start: "strat", Wait: "wait"}, want: "its action \"strat\" for start does not exist"},
		"a revoke that is lost": {login: Login{Start: "start", Wait: "wait", Revoke: "end"}, want: "its action \"end\" for revoke does not exist"},
		"scopes as one text":    {login: least, action: "start", takes: `"scopes":{"type":"string"}`, says: flow, want: "the input of action start, its start: "},
		"a start that asks for more": {
			login: least, action: "start", takes: `"room":{"type":"string"}`, says: flow, want: "field `room` is missing",
		},
		"a start without a flow":     {login: least, action: "start", says: `"code":{"type":"string"}`, want: "it has no `flow_id`"},
		"a flow that is a number":    {login: least, action: "start", says: `"flow_id":{"type":"integer"}`, want: "`flow_id` expects text, got an integer"},
		"an end that is no time":     {login: least, action: "start", says: flow + `,"expires_at":{"type":"integer"}`, want: "`expires_at` expects"},
		"a wait without a flow":      {login: least, action: "wait", want: "unknown field `flow_id`"},
		"a status that asks":         {login: whole, action: "status", takes: flow, says: `"state":{"type":"string"}`, want: "field `flow_id` is missing"},
		"a status without a state":   {login: whole, action: "status", says: `"ok":{"type":"boolean"}`, want: "it has no `state`"},
		"a revoke that says nothing": {login: whole, action: "revoke", want: "it has no `revoked`"},
		"a status nobody declares":   {login: least, action: "status", takes: flow},
		"an output of any names":     {login: least, action: "start", says: open},
	} {
		t.Run(name, func(t *testing.T) {
			parts := map[string][2]string{
				"start": {`"scopes":{"type":"array","items":{"type":"string"}}`, flow + `,"user_code":{"type":"string"}`}, "wait": {flow, none},
				"status": {none, `"state":{"enum":["none","valid"]}`}, "revoke": {none, `"revoked":{"type":"boolean"}`},
			}
			if test.action != "" {
				parts[test.action] = [2]string{test.takes, test.says}
			}
			c := &contract{Description: &Description{Login: &test.login}, actions: map[string]*actionContract{}}
			for name, part := range parts {
				action, err := checkAction(&plan.Action{Name: name, Effect: plan.EffectRead, Input: document(part[0], true), Output: document(part[1], false)}, &Description{}, nil)
				if err != nil {
					t.Fatal(err)
				}
				c.actions[name] = action
			}
			switch err := c.checkLogin(); {
			case test.want == "" && err != nil:
				t.Error(err)
			case test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)):
				t.Errorf("%v, want %s", err, test.want)
			}
		})
	}
}

// document is the schema of an object with the properties, all of them required. A
// closed one, as inputs are, has no others.
func document(properties string, closed bool) json.RawMessage {
	if properties == "additionalProperties" {
		return json.RawMessage(`{"type":"object","additionalProperties":{"type":"string"},"required":["flow_id"]}`)
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal([]byte("{"+properties+"}"), &fields); err != nil {
		panic(err)
	}
	required := []string{}
	for name := range fields {
		required = append(required, name)
	}
	object := map[string]any{"type": "object", "properties": fields, "required": required}
	if closed {
		object["additionalProperties"] = false
	}
	text, err := json.Marshal(object)
	if err != nil {
		panic(err)
	}
	return text
}
