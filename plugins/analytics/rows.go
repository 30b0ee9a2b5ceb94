package analytics

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/flowrun/flowrun/sdk"
)

// plainNumber is text that is a number of JSON without an exponent. Other texts,
// such as "", "n/a", "007" and "+5", stay text (N-37).
var plainNumber = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?$`) })

// maxNumber is the longest text that becomes a number: longer ones are none that
// every reader of JSON takes.
const maxNumber = 300

// rowReader turns the answer of /v1/aggregations into the rows of the output.
type rowReader struct {
	required []string        // keys that each row has: what was asked for
	numeric  map[string]bool // keys whose text becomes a number
}

func newRowReader(in AggregateInput) rowReader {
	r := rowReader{required: slices.Concat(in.Aggregates, in.FieldGrouping), numeric: map[string]bool{}}
	if in.Numeric {
		for _, name := range in.Aggregates {
			r.numeric[name] = true
		}
	}
	return r
}

// rows reads the whole answer: an array of objects (N-36).
func (r rowReader) rows(response *sdk.Response) ([]json.RawMessage, error) {
	var raw []json.RawMessage
	if err := response.JSON(&raw); err != nil {
		return nil, err
	}
	if raw == nil {
		return nil, response.Fail(sdk.CodeUnexpectedResponse, "the answer is null where an array of rows is due")
	}
	rows := make([]json.RawMessage, 0, len(raw))
	for i, text := range raw {
		row, err := r.row(text)
		if err != nil {
			failure := response.Fail(sdk.CodeUnexpectedResponse, "row %d %v", i, err)
			if _, ok := errors.AsType[missingKeyError](err); ok && len(r.required) > 1 {
				failure.Hint = "how several aggregates and groupings are combined is not documented; they are sent joined by commas: try with one"
			}
			return nil, failure
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// errNoObject is what is wrong with an element of a list that is no object.
var errNoObject = errors.New("is no object")

// missingKeyError says that a row lacks something that was asked for.
type missingKeyError string

func (e missingKeyError) Error() string {
	return "lacks `" + string(e) + "`, which was asked for"
}

// row reads one row. Its names stay in their order, names that were not asked for
// stay too. Values are text as the service promises: a number or a boolean that
// is none becomes its text, null the empty text. Of the numeric names text that
// is a number becomes that number, digit by digit.
func (r rowReader) row(raw json.RawMessage) (json.RawMessage, error) {
	fields, isObject := sdk.ReadMembers(raw)
	if !isObject {
		return nil, errNoObject
	}
	for _, name := range r.required {
		if fields.Get(name) == nil {
			return nil, missingKeyError(name)
		}
	}
	for i, field := range fields {
		value, err := fieldValue(field.Value, r.numeric[field.Name])
		if err != nil {
			return nil, fmt.Errorf("has %w as `%s`", err, sdk.Shown(field.Name, 64))
		}
		fields[i].Value = value
	}
	return fields.JSON(), nil
}

// fieldValue returns a value as text or, where numeric says so and it is one, as
// a number.
func fieldValue(raw json.RawMessage, numeric bool) (json.RawMessage, error) {
	switch raw[0] {
	case '"':
		var text string
		if err := json.Unmarshal(raw, &text); err != nil {
			return nil, err
		}
		if numeric && len(text) <= maxNumber && plainNumber().MatchString(text) {
			return json.RawMessage(text), nil
		}
		return raw, nil
	case '{':
		return nil, errors.New("an object")
	case '[':
		return nil, errors.New("a list")
	case 'n':
		return json.RawMessage(`""`), nil
	}
	if numeric && plainNumber().Match(raw) {
		return raw, nil
	}
	return sdk.Text(string(raw)), nil
}
