package check

import "encoding/json"

// The fake project has two other workflows; what `broken` gives is not known.
func (f *fakeCatalog) WorkflowNames() []string { return []string{"broken", "report"} }

func (f *fakeCatalog) WorkflowOutputs(name string) json.RawMessage {
	if name != "report" {
		return nil
	}
	return json.RawMessage(`{"type":"object","required":["total","rows"],"additionalProperties":false,"properties":{
		"total":{"type":"integer"},"rows":{"type":"array","items":{"type":"object","required":["id"],"properties":{"id":{"type":"string"}}}},
		"note":{"type":["string","null"]}}}`)
}
