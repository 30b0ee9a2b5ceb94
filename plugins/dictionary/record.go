package dictionary

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// decodeRecord checks a record against T, whose fields say which JSON types the
// documents promise, and that the named fields are there. The record itself is
// passed on as the service wrote it.
func decodeRecord[T any](data json.RawMessage, required ...string) (T, error) {
	var record T
	if err := json.Unmarshal(data, &record); err != nil {
		return record, sdk.UnexpectedResponse("the record is not of the documented shape: %s", shapeProblem(err))
	}
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(data, &fields); err != nil {
		return record, sdk.UnexpectedResponse("the record is no object")
	}
	for _, name := range required {
		if isNull(fields[name]) {
			return record, sdk.UnexpectedResponse("the record has no `%s`", name)
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
