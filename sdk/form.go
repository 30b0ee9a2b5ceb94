package sdk

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// formType is the media type of Request.Form.
const formType = "application/x-www-form-urlencoded"

// PostForm sends a form to a path.
func (h *HTTPClient) PostForm(path string, form url.Values) (*Response, error) {
	return h.Do(&Request{Method: http.MethodPost, Path: path, Form: form})
}

// basicHeader is HTTP Basic as RFC 6749 2.3.1 wants it: both parts are form-encoded.
func basicHeader(id, secret string) http.Header {
	pair := url.QueryEscape(id) + ":" + url.QueryEscape(secret)
	return http.Header{"Authorization": {"Basic " + base64.StdEncoding.EncodeToString([]byte(pair))}}
}

// lenient is a number of seconds that some servers write as text. What is neither is 0.
type lenient float64

// UnmarshalJSON reads a number, or a text that is one.
func (l *lenient) UnmarshalJSON(raw []byte) error {
	var number json.Number
	if json.Unmarshal([]byte(strings.Trim(string(raw), `"`)), &number) == nil {
		f, err := strconv.ParseFloat(number.String(), 64)
		if err == nil {
			*l = lenient(f)
		}
	}
	return nil
}
