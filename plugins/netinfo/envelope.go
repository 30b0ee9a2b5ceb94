package netinfo

import (
	"github.com/flowrun/flowrun/sdk"
)

// envelope is the shape of every answer: data on success (I-03), error on
// failure (I-04).
type envelope struct {
	Success *bool     `json:"success"`
	Data    sdk.Value `json:"data"`
	Error   any       `json:"error"`
}

// readEnvelope reads an answer as an envelope; its error says why it is none: a
// page of a proxy, a cut text, JSON of another shape.
func readEnvelope(r *sdk.Response) (envelope, error) {
	document, err := r.Document()
	if err != nil {
		return envelope{}, err
	}
	if fields, _ := sdk.ReadMembers(document); sdk.IsNull(fields.Get("success")) {
		return envelope{}, r.Fail(sdk.CodeUnexpectedResponse, "the answer has no `success`: it is not from this service").WithHint("check base_url")
	}
	var e envelope
	return e, r.JSON(&e)
}

// succeeded reports whether the envelope has what success promises: success is
// true and data is an object.
func (e envelope) succeeded() bool {
	_, isObject := sdk.ReadMembers(e.Data)
	return *e.Success && isObject
}

// text is the service's own text about a failure.
func (e envelope) text() string {
	text, _ := e.Error.(string)
	return text
}
