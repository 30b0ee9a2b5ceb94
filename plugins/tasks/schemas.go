package tasks

import "encoding/json"

// The inputs with a body that the service's document does not show: an object
// of any fields, which tags can't say of a value that keeps its bytes.
var (
	bodyInput = json.RawMessage(`{
	"type": "object",
	"properties": {
		"body": {"type": "object", "description": "JSON object that is sent as it is; the service's document does not show its fields."}
	},
	"required": ["body"],
	"additionalProperties": false
}`)

	inviteInput = json.RawMessage(`{
	"type": "object",
	"properties": {
		"workspace_id": {"type": "integer", "description": "Workspace to invite to, above 0.", "minimum": 1, "examples": [40317]},
		"body": {"type": "object", "description": "JSON object that is sent as it is; the service's document does not show its fields."}
	},
	"required": ["workspace_id", "body"],
	"additionalProperties": false
}`)

	migrateInput = json.RawMessage(`{
	"type": "object",
	"properties": {
		"body": {"type": "object", "description": "JSON object that is sent as it is; the service's document does not show its fields.", "writeOnly": true},
		"store_as": {"type": "string", "description": "Name under which the new token is stored; the connection's setting stored_token uses it.", "pattern": "^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$", "examples": ["main"]}
	},
	"required": ["body", "store_as"],
	"additionalProperties": false
}`)

	topUpInput = json.RawMessage(`{
	"type": "object",
	"properties": {
		"confirm": {"type": "boolean", "enum": [true], "description": "Must be true: this starts a payment."},
		"body": {"type": ["object", "null"], "description": "JSON object that is sent as it is; the service's document does not show whether there is one."}
	},
	"required": ["confirm"],
	"additionalProperties": false
}`)
)
