package netinfo

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// envelope is the shape of every answer: data on success (I-03), error on
// failure (I-04).
type envelope struct {
	Success *bool           `json:"success"`
	Data    json.RawMessage `json:"data"`
	Error   string          `json:"error"`
}

// readEnvelope reads body as an envelope; false when it is none: a page of a
// proxy, a cut text, JSON of another shape.
func readEnvelope(body []byte) (envelope, bool) {
	var e envelope
	if err := json.Unmarshal(body, &e); err != nil || e.Success == nil {
		return envelope{}, false
	}
	return e, true
}

// succeeded reports whether the envelope has what success promises: success is
// true and data is an object.
func (e envelope) succeeded() bool {
	return *e.Success && bytes.HasPrefix(bytes.TrimSpace(e.Data), []byte("{"))
}

// decodeRecord checks the data of a reply against T, whose fields say which JSON
// types the documents promise, and that the named fields are there.
func decodeRecord[T any](from reply, required ...string) (T, error) {
	var record T
	if err := json.Unmarshal(from.data, &record); err != nil {
		return record, from.response.Fail(sdk.CodeUnexpectedResponse, "the record is not of the documented shape: %s", shapeProblem(err))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(from.data, &fields); err != nil {
		return record, from.response.Fail(sdk.CodeUnexpectedResponse, "the record is no object")
	}
	for _, name := range required {
		if isNull(fields[name]) {
			return record, from.response.Fail(sdk.CodeUnexpectedResponse, "the record has no `%s`", name)
		}
	}
	return record, nil
}

// isNull reports whether a field is null or missing.
func isNull(value json.RawMessage) bool {
	text := string(bytes.TrimSpace(value))
	return text == "" || text == "null"
}

// shapeProblem names the field and what it was, without Go's words.
func shapeProblem(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("`%s` is %s", mismatch.Field, mismatch.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
