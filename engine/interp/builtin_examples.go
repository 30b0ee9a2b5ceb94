package interp

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/plan"
)

// builtinExamples are inputs of the core actions and what they give, by name.
func builtinExamples() map[string]plan.Example {
	example := func(name, input, output string) plan.Example {
		return plan.Example{Name: name, Input: json.RawMessage(input), Output: json.RawMessage(output)}
	}
	return map[string]plan.Example{
		"approve": example("a question with a field",
			`{"message":"Send 12 invitations?","form":{"note":{"type":"string"}}}`, `{"note":"go ahead"}`),
		"wait":   example("a payment", `{"signal":"paid","match":{"order":17}}`, `{"payload":{"order":17,"cents":4900}}`),
		"log":    example("a warning", `{"text":"3 domains end this month","level":"warn"}`, `{}`),
		"sleep":  example("ten minutes", `{"for":"10m"}`, `{}`),
		"fail":   example("a figure that can't be", `{"message":"the total is below 0","kind":"unexpected_response"}`, `{}`),
		"assert": example("a bound", `{"that":true,"message":"at most 100 users are invited at once"}`, `{}`),
		"read": example("rows of an export",
			`{"blob":{"digest":"sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03","size":52428800,"media_type":"text/csv","name":"orders.csv"},"as":"csv","answer":{"type":"object","required":["id"],"properties":{"id":{"type":"integer"}}}}`,
			`{"items":[{"id":17}]}`),
		"notify": example("the people on duty", `{"to":"ops","text":"3 domains end this month"}`, `{}`),
	}
}

// withExamples adds to each action its example.
func withExamples(actions []*plan.Action) []*plan.Action {
	examples := builtinExamples()
	for _, action := range actions {
		if example, there := examples[action.Name]; there {
			action.Examples = []plan.Example{example}
		}
	}
	return actions
}
