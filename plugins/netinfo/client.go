package netinfo

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// maxMessage bounds the service's own text in an error, in bytes.
const maxMessage = 500

// errRefused is the cause of errors that the service said in its own envelope:
// it tells them from those of a proxy or of a wrong base_url.
var errRefused = errors.New("refused by the service")

// envelope is the shape of every answer: data on success (I-03), error on
// failure (I-04).
type envelope struct {
	Success *bool     `json:"success"`
	Data    sdk.Value `json:"data"`
	Error   any       `json:"error"`
}

// succeeded reports whether the envelope has what success promises: success is
// true and data is an object.
func (e envelope) succeeded() bool {
	_, isObject := sdk.ReadMembers(e.Data)
	return *e.Success && isObject
}

// reply is a success of the service: the envelope's data, and the response for
// errors about it.
type reply struct {
	data     sdk.Value
	response *sdk.Response
}

// get sends the one request of an action. The segments of path are escaped
// (I-24). pointer is the input that a 400 is about, "" for none. No header that
// carries a credential is ever set (I-02).
func get(c *sdk.Call[Config], pointer string, query url.Values, path ...string) (reply, error) {
	target, err := sdk.Path(path...)
	if err != nil {
		return reply{}, err
	}
	var e envelope
	response, err := c.HTTP().Do(&sdk.Request{Path: target, Query: query, Classify: func(r *sdk.Response) error {
		failure := classify(r, &e)
		if failure != nil && failure.Code == sdk.CodeInvalid {
			failure.Pointer = pointer
		}
		return failure
	}})
	return reply{e.Data, response}, err
}

// classify reads the envelope of an answer into e. It returns nil for success,
// and for an answer without an envelope whose status already says that it failed
// (I-23).
func classify(r *sdk.Response, e *envelope) *sdk.Error {
	fine := r.Status >= 200 && r.Status < 300
	err := r.Envelope(e, "success")
	var none *sdk.Error
	switch {
	case errors.As(err, &none) && fine:
		return none
	case err != nil:
		return r.StatusError()
	case fine && e.succeeded():
		return nil
	case fine && *e.Success:
		return r.Fail(sdk.CodeUnexpectedResponse, "`success` is true, but `data` is no object")
	case fine:
		return refusal(r, sdk.CodeUnexpectedResponse, e.Error).
			WithHint("the answer came with status %d, which is documented for success only", r.Status)
	}
	return refusal(r, sdk.CodeOfStatus(r.Status), e.Error)
}

// record decodes the data of a success into a T, whose fields say which JSON
// types the documents promise; the named fields must be there.
func record[T any](from reply, required ...string) (T, error) {
	return sdk.Record[T](from.response, from.data, required...)
}

// refusal is an error whose message is the service's own text (I-04).
func refusal(r *sdk.Response, code sdk.Code, said any) *sdk.Error {
	failure := r.Fail(code, "the service gives no reason (%d %s)", r.Status, http.StatusText(r.Status))
	failure.Err = errRefused
	text, _ := said.(string)
	if text = r.Shown(text, maxMessage); text != "" {
		failure.Message = text
	}
	return failure
}
