package recipe

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// shaped puts in what the service leaves out, joins what it may give as lists, and leaves
// out what the output has not. All else stays as the service wrote it. What is no object
// is left to the schema of the output.
func (r *Recipe) shaped(response *sdk.Response, data sdk.Value) (sdk.Value, error) {
	if len(r.Fill) == 0 && len(r.Join) == 0 && len(r.Only) == 0 {
		return data, nil
	}
	fields, isObject := sdk.ReadMembers(data)
	if !isObject {
		return data, nil
	}
	changed := false
	for _, fill := range r.Fill {
		value := fields.Get(fill.Member)
		if value == nil && fill.Absent || value != nil && sdk.IsNull(value) {
			fields, changed = fields.With(fill.Member, fill.Value), true
		}
	}
	for _, name := range r.Join {
		joined, done, err := join(response, name, fields.Get(name))
		if err != nil {
			return nil, err
		}
		if done {
			fields, changed = fields.With(name, joined), true
		}
	}
	if len(r.Only) > 0 {
		kept := sdk.Members{}
		for _, name := range r.Only {
			value := fields.Get(name)
			if value == nil {
				return nil, response.Fail(sdk.CodeUnexpectedResponse, "the record has no `%s`", name)
			}
			kept = append(kept, sdk.Member{Name: name, Value: value})
		}
		return kept.JSON(), nil
	}
	if !changed {
		return data, nil
	}
	return fields.JSON(), nil
}

// join makes texts of the members of an object that are lists of them, as RFC 9110, 5.3,
// puts several values of a header into one.
func join(response *sdk.Response, name string, object sdk.Value) (joined sdk.Value, done bool, err error) {
	fields, _ := sdk.ReadMembers(object)
	for _, field := range fields {
		var values []string
		switch {
		case json.Unmarshal(field.Value, new(*string)) == nil:
		case json.Unmarshal(field.Value, &values) == nil:
			fields, done = fields.With(field.Name, sdk.Text(strings.Join(values, ", "))), true
		default:
			return nil, false, response.Fail(sdk.CodeUnexpectedResponse,
				"the record has another shape: `%s.%s` is neither text nor a list of texts", name, sdk.Shown(field.Name, 64))
		}
	}
	return fields.JSON(), done, nil
}
