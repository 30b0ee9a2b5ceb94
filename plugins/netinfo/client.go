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
	target, err := sdk.Path(append([]string{"api", "v1"}, path...)...)
	if err != nil {
		return reply{}, err
	}
	var e envelope
	response, err := c.HTTP().Do(&sdk.Request{Path: target, Query: query, Classify: func(r *sdk.Response) error {
		failure := classify(r, &e)
		if failure == nil {
			return nil
		}
		if failure.Code == sdk.CodeInvalid {
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
	read, err := readEnvelope(r)
	var none *sdk.Error
	*e = read
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
		return refusal(r, sdk.CodeUnexpectedResponse, e.text()).
			WithHint("the answer came with status %d, which is documented for success only", r.Status)
	}
	return refusal(r, sdk.CodeOfStatus(r.Status), e.text())
}

// record decodes the data of a success into a T, whose fields say which JSON
// types the documents promise; the named fields must be there.
func record[T any](from reply, required ...string) (T, error) {
	return sdk.Record[T](from.response, from.data, required...)
}

// refusal is an error whose message is the service's own text (I-04).
func refusal(r *sdk.Response, code sdk.Code, text string) *sdk.Error {
	failure := r.Fail(code, "the service gives no reason (%d %s)", r.Status, http.StatusText(r.Status))
	failure.Err = errRefused
	if text = r.Shown(text, maxMessage); text != "" {
		failure.Message = text
	}
	return failure
}
