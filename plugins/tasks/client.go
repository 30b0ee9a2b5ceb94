package tasks

import (
	"errors"
	"net/http"
	"net/url"

	"github.com/flowrun/flowrun/sdk"
)

// request is what an action sends.
type request struct {
	method string   // "" = GET
	path   []string // segments below /api/v1, escaped here
	query  url.Values
	body   sdk.Value // nil = none, and then no Content-Type either (T-16)
	use    credentialUse

	hints map[int]string // status -> what to do about it, where the document says it
}

// hint401 is what to do about a refused credential on every action.
const hint401 = "the service refused the credential: check token, and auth_header and auth_prefix, whose right values its document does not show"

// send sends the one request of an action. Only the statuses decide what a
// failure is; the error's text is read best effort by the SDK (T-17, T-68).
func send(c *sdk.Call[Config], r request) (*sdk.Response, error) {
	client, err := authorized(c, r.use)
	if err != nil {
		return nil, sdk.NotSent(err)
	}
	return sendWith(client, r)
}

func sendWith(client *sdk.HTTPClient, r request) (*sdk.Response, error) {
	path, err := sdk.Path(r.path...)
	if err != nil {
		return nil, err
	}
	outgoing := &sdk.Request{Method: r.method, Path: path, Query: r.query, SecretQuery: []string{"public_key"}}
	if r.body != nil {
		outgoing.Body, outgoing.ContentType = r.body, "application/json"
	}
	response, err := client.Do(outgoing)
	return response, withHints(err, r.hints)
}

// withHints adds what to do about a status to an error that says nothing else.
func withHints(err error, hints map[int]string) error {
	var failure *sdk.Error
	if !errors.As(err, &failure) || failure.Hint != "" {
		return err
	}
	failure.Hint = hints[failure.HTTPStatus]
	if failure.Hint == "" && failure.HTTPStatus == http.StatusUnauthorized {
		failure.Hint = hint401
	}
	return err
}

// read is a GET whose answer may be any JSON.
func read(c *sdk.Call[Config], query url.Values, path ...string) (sdk.Value, error) {
	response, err := send(c, request{path: path, query: query})
	if err != nil {
		return nil, err
	}
	return response.Document()
}

// post sends a body that the document does not show, unchanged (T-63).
func post(c *sdk.Call[Config], body sdk.Object, hints map[int]string, path ...string) (AnswerOutput, error) {
	response, err := send(c, request{method: http.MethodPost, path: path, body: sdk.Value(body), hints: hints})
	if err != nil {
		return AnswerOutput{}, err
	}
	answer, err := response.DocumentOrNull()
	return AnswerOutput{Response: answer}, err
}

// AnswerOutput is an answer whose shape the service's document does not show.
type AnswerOutput struct {
	Response sdk.Value `json:"response" doc:"The service's answer, unchanged; its shape is not documented."`
}
