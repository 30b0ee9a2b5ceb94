package interp

import (
	"encoding/json"

	"github.com/flowrun/flowrun/engine/plan"
)

// corePlugin is the plugin name of the built-in actions.
const corePlugin = "core"

// The built-in actions that the Machine runs itself (LANGUAGE.md, rule 20).
const (
	actionLog    = "core.log"
	actionFail   = "core.fail"
	actionAssert = "core.assert"
	actionSleep  = "core.sleep"
)

const noOutputs = `{"type":"object","properties":{},"additionalProperties":false}`

// Builtins returns the core actions that this version runs, in the order of the
// language's page. The result is the caller's own.
func Builtins() []*plan.Action {
	return []*plan.Action{
		builtin("log", "Write a line into the run's log.", `{
			"type": "object",
			"properties": {
				"text": {"type": "string", "description": "what the line says"},
				"level": {"type": "string", "enum": ["debug", "info", "warn", "error"], "default": "info"}
			},
			"required": ["text"],
			"additionalProperties": false
		}`),
		builtin("sleep", "Wait for a duration or until a time; the wait is durable.", `{
			"type": "object",
			"properties": {
				"for": {"type": "string", "format": "duration", "description": "how long; either this or until"},
				"until": {"type": "string", "format": "date-time", "description": "when to go on; a past time goes on at once"}
			},
			"additionalProperties": false
		}`),
		builtin("fail", "Fail with an error of the given kind.", `{
			"type": "object",
			"properties": {
				"message": {"type": "string", "description": "what went wrong"},
				"kind": {"type": "string", "enum": `+kindList()+`, "default": "internal"}
			},
			"required": ["message"],
			"additionalProperties": false
		}`),
		builtin("assert", "Fail (kind invalid, reason assertion) unless a condition holds.", `{
			"type": "object",
			"properties": {
				"that": {"type": "boolean", "description": "the condition"},
				"message": {"type": "string", "description": "what it means when it does not hold"}
			},
			"required": ["that"],
			"additionalProperties": false
		}`),
	}
}

// ComingLater returns the full names of the core actions of the language that
// this version does not run: the checker refuses them with a hint.
func ComingLater() []string {
	return []string{"core.approve", "core.wait", "core.notify"}
}

func builtin(name, doc, input string) *plan.Action {
	return &plan.Action{
		Plugin: corePlugin,
		Name:   name,
		Doc:    doc,
		Effect: plan.EffectRead,
		Input:  json.RawMessage(input),
		Output: json.RawMessage(noOutputs),
	}
}

func kindList() string {
	data, err := json.Marshal(plan.ErrorKinds())
	if err != nil {
		return "[]" // a list of strings always encodes
	}
	return string(data)
}
