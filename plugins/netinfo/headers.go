package netinfo

import (
	"encoding/json"
	"strings"

	"github.com/flowrun/flowrun/sdk"
)

// headersAnswer is the data of /headers (I-16). A header that was sent several
// times may come as a list of its values.
type headersAnswer struct {
	Method  string               `json:"method"`
	URL     string               `json:"url"`
	Headers map[string]sdk.Value `json:"headers"`
	IP      string               `json:"ip"`
}

// headers is action netinfo.headers: what the service saw of this request.
func headers(c *sdk.Call[Config], _ sdk.NoInput) (sdk.Value, error) {
	found, err := get(c, "", nil, "headers")
	if err != nil {
		return nil, err
	}
	if _, err := record[headersAnswer](found, "method", "url", "headers", "ip"); err != nil {
		return nil, err
	}
	fields, _ := sdk.ReadMembers(found.data)
	sent, _ := sdk.ReadMembers(fields.Get("headers"))
	joined := false
	for _, header := range sent {
		var values []string
		switch {
		case json.Unmarshal(header.Value, new(*string)) == nil:
		case json.Unmarshal(header.Value, &values) == nil:
			// as RFC 9110, 5.3, puts several into one
			sent, joined = sent.With(header.Name, sdk.Text(strings.Join(values, ", "))), true
		default:
			return nil, found.response.Fail(sdk.CodeUnexpectedResponse,
				"the record has another shape: `headers.%s` is neither text nor a list of texts", sdk.Shown(header.Name, 64))
		}
	}
	if !joined {
		return found.data, nil
	}
	return fields.With("headers", sent.JSON()).JSON(), nil
}
