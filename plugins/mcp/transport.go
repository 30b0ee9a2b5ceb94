package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/flowrun/flowrun/sdk"
)

// exact is a transport that keeps the structured part of answers as it was written: read
// into Go's numbers, an integer above 2^53 would be another one. The part travels on as a
// text, which structured reads.
type exact struct{ mcp.Transport }

func (t exact) Connect(ctx context.Context) (mcp.Connection, error) {
	connection, err := t.Transport.Connect(ctx)
	if err != nil {
		return nil, err
	}
	return exactConnection{connection}, nil
}

type exactConnection struct{ mcp.Connection }

func (c exactConnection) Read(ctx context.Context) (jsonrpc.Message, error) {
	message, err := c.Connection.Read(ctx)
	response, ok := message.(*jsonrpc.Response)
	if err != nil || !ok || len(response.Result) == 0 {
		return message, err
	}
	var result map[string]json.RawMessage
	if json.Unmarshal(response.Result, &result) != nil || result["structuredContent"] == nil || string(result["structuredContent"]) == "null" {
		return message, nil
	}
	if result["structuredContent"], err = json.Marshal(string(result["structuredContent"])); err == nil {
		response.Result, err = json.Marshal(result)
	}
	if err != nil {
		return nil, fmt.Errorf("keep the structured content of an answer: %w", err)
	}
	return response, nil
}

// structured is the structured part of an answer that came by an exact transport.
func structured(result *mcp.CallToolResult) sdk.Value {
	text, ok := result.StructuredContent.(string)
	if !ok {
		return nil
	}
	return sdk.Value(text)
}

// bearer adds the credentials of a connection to the requests to its server, follows no
// redirect, and notes how the server refuses. Safe for concurrent use.
type bearer struct {
	origin  string
	headers map[string]string

	mu    sync.Mutex
	token string
}

// refusal is how the server refused the requests of one call: what the protocol's library
// makes of a status says less. Safe for concurrent use.
type refusal struct {
	mu   sync.Mutex
	last *sdk.Error
}

type refusalKey struct{}

// withRefusal returns a context whose requests note how they are refused.
func withRefusal(ctx context.Context) (context.Context, *refusal) {
	own := &refusal{}
	return context.WithValue(ctx, refusalKey{}, own), own
}

// get is how the last request was refused, nil where it was not.
func (r *refusal) get() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.last == nil {
		return nil
	}
	return r.last
}

// noteRefusal keeps it for the call that a request belongs to.
func noteRefusal(ctx context.Context, refused *sdk.Error) {
	if own, ok := ctx.Value(refusalKey{}).(*refusal); ok {
		own.mu.Lock()
		defer own.mu.Unlock()
		own.last = refused
	}
}

func newBearer(config Config, token string) *bearer {
	u, err := url.Parse(config.URL)
	if err != nil {
		u = &url.URL{} // checkConfig has read it
	}
	return &bearer{origin: u.Scheme + "://" + u.Host, headers: config.Headers, token: token}
}

func (b *bearer) client() *http.Client {
	return &http.Client{Transport: b, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (b *bearer) set(token string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.token = token
}

// RoundTrip sends a request with the credentials.
func (b *bearer) RoundTrip(request *http.Request) (*http.Response, error) {
	own := request.Clone(request.Context())
	if own.URL.Scheme+"://"+own.URL.Host != b.origin {
		return nil, errors.New("the request leads to another origin")
	}
	b.mu.Lock()
	token := b.token
	b.mu.Unlock()
	if token != "" {
		own.Header.Set("Authorization", "Bearer "+token)
	}
	for name, value := range b.headers {
		own.Header.Set(name, value)
	}
	response, err := http.DefaultTransport.RoundTrip(own)
	if err != nil {
		if !errors.Is(err, context.Canceled) {
			noteRefusal(request.Context(), notReached(err))
		}
		return nil, err
	}
	noteRefusal(request.Context(), refusedBy(response, request.Method))
	return response, nil
}

// withoutURL is the cause of an error of a request, without the address.
func withoutURL(err error) error {
	if at, ok := errors.AsType[*url.Error](err); ok {
		return at.Err
	}
	return err
}

// notReached is the failure of a request without an answer. Where no connection was made
// nothing was done; else that is not known.
func notReached(err error) *sdk.Error {
	failure := sdk.Errorf(sdk.CodeUnavailable, "reach the server: %s", sdk.Shown(withoutURL(err).Error(), 300))
	if dial, ok := errors.AsType[*net.OpError](err); ok && dial.Op == "dial" {
		failure.Applied = sdk.NotApplied
	}
	return failure
}

// refusedBy says what a status means; nil where it is an answer. Only a call can be refused:
// a GET or a DELETE of a session is no business of a step.
func refusedBy(response *http.Response, method string) *sdk.Error {
	status := response.StatusCode
	if status < 300 || method != http.MethodPost {
		return nil
	}
	code := map[int]sdk.Code{401: sdk.CodeUnauthorized, 403: sdk.CodeForbidden, 404: sdk.CodeNotFound, 405: sdk.CodeUnsupported, 429: sdk.CodeRateLimited}[status]
	failure := sdk.Refused(sdk.CodeUnavailable, "the server answers with status %d", status)
	switch {
	case status < 400:
		failure = sdk.Refused(sdk.CodeUnexpectedResponse, "the server answers with a redirect to %s", sdk.Shown(response.Header.Get("Location"), 200)).WithHint("write that address as url, if it is the server's own")
	case status < 500 && code == 0:
		code = sdk.CodeInvalid
	}
	if code != 0 {
		failure = sdk.Refused(code, "the server answers with status %d", status)
	}
	if status >= 500 {
		failure.Applied = sdk.AppliedUnknown
	}
	failure.HTTPStatus = status
	return failure
}
