package dictionary

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

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

// shapeProblem names the field and what it was, without Go's words.
func shapeProblem(err error) string {
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return fmt.Sprintf("`%s` is %s", mismatch.Field, mismatch.Value)
	}
	return strings.TrimPrefix(err.Error(), "json: ")
}
