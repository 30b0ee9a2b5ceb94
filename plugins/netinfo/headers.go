package netinfo

import "github.com/flowrun/flowrun/sdk"

// headersAnswer is the data of /headers (I-16).
type headersAnswer struct {
	Method  string             `json:"method"`
	URL     string             `json:"url"`
	Headers map[string]*string `json:"headers"`
	IP      string             `json:"ip"`
}

// headers is action netinfo.headers: what the service saw of this request.
func headers(c *sdk.Call[Config], _ NoInput) (sdk.Value, error) {
	found, err := get(c, "", nil, "headers")
	if err != nil {
		return nil, err
	}
	_, err = decodeRecord[headersAnswer](found, "method", "url", "headers", "ip")
	return found.data, err
}
