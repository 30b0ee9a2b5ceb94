package interp

import (
	"encoding/json"
	"time"

	"github.com/flowrun/flowrun/engine/plan"
	"github.com/flowrun/flowrun/engine/quota"
	"github.com/flowrun/flowrun/engine/runs"
)

const noOutputs = `{"type":"object","properties":{},"additionalProperties":false}`

// Builtins returns the core actions that this version runs, in the order of the
// language's page. The result is the caller's own.
func Builtins() []*plan.Action {
	return withExamples([]*plan.Action{
		approveAction(), waitAction(),
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
		notifyAction(), readAction(),
	})
}

// approveAction has the form's fields as outputs: a step's form says which.
func approveAction() *plan.Action {
	action := builtin("approve", "Ask a person: the step waits for `flowrun runs approve` or `reject`.", `{
		"type": "object",
		"properties": {
			"message": {"type": "string", "description": "what is asked"},
			"form": {"type": "object", "description": "the fields that the person fills in, as schemas of inputs; they are the step's outputs", "additionalProperties": {}}
		},
		"required": ["message"],
		"additionalProperties": false
	}`)
	action.Faults = []plan.Fault{
		{Kind: plan.KindDenied, Reason: "rejected", Doc: "a person rejected it"},
		{Kind: plan.KindTimeout, Doc: "nobody decided in time"},
	}
	return action
}

func waitAction() *plan.Action {
	action := builtin("wait", "Wait for a signal; one that came at most 24 hours before counts.", `{
		"type": "object",
		"properties": {
			"signal": {"type": "string", "minLength": 1, "maxLength": 100, "description": "its name"},
			"schema": {"type": "object", "description": "the schema of its payload", "additionalProperties": {}},
			"match": {"type": "object", "description": "fields of the payload and the values that they must have", "additionalProperties": {}}
		},
		"required": ["signal"],
		"additionalProperties": false
	}`)
	action.Output = json.RawMessage(`{"type":"object","properties":{"payload":{}},"required":["payload"],"additionalProperties":false}`)
	action.Faults = []plan.Fault{{Kind: plan.KindTimeout, Doc: "the signal did not come in time"}}
	return action
}

// notifyTimeout bounds one attempt of core.notify.
const notifyTimeout = 30 * time.Second

// notifyAction leaves the engine: its calls are sent again with the same
// idempotency key, like those of a plugin's keyed action.
func notifyAction() *plan.Action {
	action := builtin("notify", "Send a message to a target of flowrun.yaml: a webhook or a command.", `{
		"type": "object",
		"properties": {
			"to": {"type": "string", "description": "a target under notify in flowrun.yaml"},
			"text": {"type": "string", "description": "the message"}
		},
		"required": ["to", "text"],
		"additionalProperties": false
	}`)
	action.Effect, action.DefaultTimeout = plan.EffectKeyed, notifyTimeout
	return action
}

// readTimeout bounds one page of core.read.
const readTimeout = 5 * time.Minute

// readAction reads the store: `as` and `answer` of a step say what it gives, which the
// checker narrows its outputs to.
func readAction() *plan.Action {
	action := builtin("read", "Read a large value as text, lines, JSON or typed rows: a small one as a whole, lists of any size page by page (`paginate`).", `{
		"type": "object",
		"properties": {
			"blob": {"type": "object", "x-flowrun-blob": true, "description": "the large value, as a step gave it"},
			"as": {"type": "string", "enum": ["text", "lines", "json", "json_lines", "csv"], "description": "what it is read as: text and json give one value, the others a list"},
			"answer": {"anyOf": [{"type": "object"}, {"type": "string", "format": "project-file"}], "description": "JSON Schema of the document, of one line of json_lines, or of a row of csv, or a file with it: types the output, and a value that breaks it fails"},
			"encoding": {"type": "string", "enum": ["utf-8", "utf-16", "latin-1", "windows-1252"], "default": "utf-8"},
			"max_bytes": {"type": "integer", "minimum": 1, "maximum": 4194304, "default": 1048576, "description": "how much is read at a time"},
			"columns": {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "names of the columns of csv; without them the first row has them"},
			"delimiter": {"type": "string", "minLength": 1, "maxLength": 1, "default": ",", "description": "of the cells of csv"}
		},
		"required": ["blob", "as"],
		"additionalProperties": false
	}`)
	action.Output = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"json":{},"items":{"type":"array"}},"additionalProperties":false}`)
	action.Paging = &plan.Paging{ItemsField: "items", Identity: plan.IdentityNone}
	action.DefaultTimeout = readTimeout
	action.Faults = []plan.Fault{
		{Kind: plan.KindInvalid, Reason: quota.ReasonLimit, Doc: "it is larger than what is read at a time"},
		{Kind: plan.KindUnexpectedResponse, Doc: "it is not what `as` and `answer` say"},
	}
	return action
}

func builtin(name, doc, input string) *plan.Action {
	return &plan.Action{
		Plugin: runs.CorePlugin,
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
