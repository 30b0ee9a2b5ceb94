package dictionary

import (
	"errors"
	"net/http"
	"net/url"
	"strconv"

	"github.com/flowrun/flowrun/sdk"
)

// maxMessage bounds the service's own text in an error, in bytes.
const maxMessage = 500

// service is what the actions share.
type service struct{ windows *windows }

// envelope is the shape of every answer (D-02).
type envelope struct {
	Code    *int      `json:"code"`
	Message any       `json:"message"`
	Data    sdk.Value `json:"data"`
}

// reply is a success of the service: the envelope's data, which is never null,
// and the response for errors about it.
type reply struct {
	data     sdk.Value
	response *sdk.Response
}

// get sends the one request of an action. The segments of path are escaped
// (D-06).
func (s *service) get(c *sdk.Call[Config], query url.Values, path ...string) (reply, error) {
	target, err := sdk.Path(path...)
	if err != nil {
		return reply{}, err
	}
	client := c.HTTP()
	for name, value := range c.Config.Headers {
		client = client.WithHeader(name, value)
	}
	var e envelope
	s.windows.sent(c.Config.BaseURL)
	response, err := client.Do(&sdk.Request{Path: target, Query: query, Classify: func(r *sdk.Response) error {
		failure := classify(r, &e)
		if failure != nil && failure.Code == sdk.CodeRateLimited && failure.RetryAfter == 0 {
			failure.RetryAfter = s.windows.rest(c.Config.BaseURL)
		}
		return failure
	}})
	return reply{e.Data, response}, err
}

// classify reads the envelope of an answer into e and returns the failure that
// it tells of, nil for success. The code decides before the HTTP status, so that
// servers that mirror the code and servers that always say 200 both work (D-02,
// D-03).
func classify(r *sdk.Response, e *envelope) *sdk.Error {
	fine := r.Status >= 200 && r.Status < 300
	err := r.Envelope(e, "code")
	var none *sdk.Error
	switch {
	case errors.As(err, &none) && fine:
		return none
	case err != nil:
		failure := r.StatusError()
		failure.Code = codeOf(r.Status)
		return failure
	case *e.Code != http.StatusOK:
		return refusal(r, codeOf(*e.Code), *e.Code, e.Message)
	case !fine:
		return refusal(r, codeOf(r.Status), r.Status, e.Message)
	case sdk.IsNull(e.Data):
		return r.Fail(sdk.CodeUnexpectedResponse, "the service says success, but `data` is empty") // D-05
	}
	return nil
}

// codeOf maps the documented codes (D-04), and what else may come by its class.
func codeOf(code int) sdk.Code {
	switch {
	case code == http.StatusMethodNotAllowed:
		return sdk.CodeInternal
	case code >= 400 && code < 600:
		return sdk.CodeOfStatus(code)
	}
	return sdk.CodeUnexpectedResponse
}

// refusal is an error with the service's own text and code.
func refusal(r *sdk.Response, kind sdk.Code, code int, said any) *sdk.Error {
	failure := r.Fail(kind, "the service answers with code %d and no message", code)
	text, _ := said.(string)
	if text = r.Shown(text, maxMessage); text != "" {
		failure.Message = text
	}
	failure.Reason = strconv.Itoa(code)
	if code >= 400 && code < 500 {
		failure.Applied = sdk.NotApplied // the HTTP status may say 200
	}
	return failure
}

// record decodes the data of a success into a T, whose fields say which JSON
// types the documents promise; the named fields must be there.
func record[T any](from reply, required ...string) (T, error) {
	return sdk.Record[T](from.response, from.data, required...)
}
