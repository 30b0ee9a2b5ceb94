// Package http is the plugin for any service that speaks HTTP: requests that a workflow
// writes out, answers whose shape it declares.
//
// It is a plugin like every other, on the public SDK alone. docs/services/http.md says
// what it does, and ADR 59 why it does it so.
package http

import (
	"time"

	"github.com/flowrun/flowrun/sdk"
)

// Version is the version of the plugin.
const Version = "1.0.0"

// limiter is the name of the one limiter. It has no rate of its own: the connection's
// `rate` gives it one, and a 429 closes it for all runs.
const limiter = "requests"

// mostOpen is how many requests of one connection may be open at a time.
const mostOpen = 64

// plugin is what the actions share. Safe for concurrent use.
type plugin struct{ shapes shapes }

// New returns the plugin.
func New() *sdk.Plugin {
	p := &plugin{}
	return sdk.New("http", Version, "Requests to any HTTP service, with typed answers.",
		sdk.ValidateConfig(checkConfig),
		sdk.CheckConnection(checkConnection),
		sdk.Limit(limiter, 0, 0, sdk.FixedWindow(), sdk.MaxConcurrent(mostOpen), sdk.Scope("base_url", "hosts")),
		sdk.Read("get", "Read something. `pages` says how a list is read page by page.", p.get,
			options(append(p.readOptions(getSchema()), sdk.Paged("cursor", "items", "next_cursor"),
				sdk.Fault(sdk.CodeCursorExpired, "", "The service does not take the cursor of a later page (400); the reading starts again, once."),
				sdk.Example("a typed answer", given(`{"path":"/things/{id}","params":{"id":1},"answer":{"type":"object","properties":{"id":{"type":"integer"},"name":{"type":"string"}},"required":["id","name"]}}`), answered(`{"id":1,"name":"thing 1"}`)),
				sdk.Example("a page of a list", given(`{"path":"/things","query":{"limit":2},"as":"json","pages":{"by":"cursor","items":"/things","next":"/next","query":"after"}}`), sdk.Value(pageOutput)))...)...),
		sdk.Read("head", "Ask for status and headers alone.", head,
			options(sdk.Input(headSchema()), sdk.Output(outputSchema()), sdk.ValidateWith(checkHead), sdk.NarrowWith(narrowHead),
				sdk.Example("is it there", given(`{"path":"/things/1"}`), answeredNothing()))...),
		sdk.Idempotent("put", "Put something at its address. A second call leaves the same.", p.put,
			options(append(p.writeOptions(writeSchema()),
				sdk.Example("a whole thing", given(`{"path":"/things/{id}","params":{"id":7},"json":{"name":"seven"},"as":"json"}`), answered(`{"id":7,"name":"seven"}`)))...)...),
		sdk.Idempotent("delete", "Delete something. A second call leaves the same; `expect: [404]` takes its answer.", p.remove,
			options(append(p.writeOptions(writeSchema()),
				sdk.Example("gone, or gone before", given(`{"path":"/things/{id}","params":{"id":7},"expect":[404],"as":"none"}`), answeredNothing()))...)...),
		sdk.Once("post", "Send something that must not be sent twice: when the answer is lost, the run waits for a person.", p.post,
			options(append(p.writeOptions(writeSchema()),
				sdk.Example("an order", given(`{"path":"/orders","json":{"amount":3},"as":"json"}`), answered(`{"id":1,"amount":3}`)))...)...),
		sdk.Once("patch", "Change a part of something. What a second call would do is not known, so there is none.", p.patch,
			options(append(p.writeOptions(writeSchema()),
				sdk.Example("another name", given(`{"path":"/things/{id}","params":{"id":1},"json":{"name":"one"},"as":"json"}`), answered(`{"id":1,"name":"one"}`)))...)...),
		sdk.Keyed("post_keyed", "Send something with an idempotency key, to a service that takes a second request with the same key for the first.", p.postKeyed,
			options(append(p.keyedOptions(keyedSchema()),
				sdk.Example("an order, once however often it is sent", given(`{"path":"/orders","json":{"amount":3},"as":"json"}`), answered(`{"id":1,"amount":3}`)))...)...),
	)
}

// options adds to an action's options what all of them have.
func options(own ...sdk.ActionOption) []sdk.ActionOption {
	return append(own,
		sdk.Limits(limiter),
		sdk.Timeout(time.Minute),
		sdk.Fault(sdk.CodeInvalid, "", "The input is wrong, found before anything is sent; or the service says 400 or 422."),
		sdk.Fault(sdk.CodeForbidden, "", "The request leads where the connection may not go, and was not sent; or the service says 403."),
		sdk.Fault(sdk.CodeUnauthorized, "", "The service refuses the credential (401)."),
		sdk.Fault(sdk.CodeNotFound, "", "There is no such thing (404, 410)."),
		sdk.Fault(sdk.CodeConflict, "", "The service says 409 or 412."),
		sdk.Fault(sdk.CodeRateLimited, "", "Too many requests (429, or 403 with no requests left); Retry-After and the RateLimit headers say how long."),
		sdk.Fault(sdk.CodeUnavailable, "", "No connection, or the service failed (5xx)."),
		sdk.Fault(sdk.CodeUnexpectedResponse, "", "The answer can't be read as it should be, is cut short or too large, or breaks `answer`; a status that nobody expects."),
	)
}

func (p *plugin) readOptions(input sdk.Value) []sdk.ActionOption {
	return []sdk.ActionOption{sdk.Input(input), sdk.Output(pagedOutputSchema()), sdk.ValidateWith(p.checkGet), sdk.NarrowWith(p.narrowGet), sdk.NarrowItems(namedBy)}
}

func (p *plugin) writeOptions(input sdk.Value) []sdk.ActionOption {
	return []sdk.ActionOption{sdk.Input(input), sdk.Output(outputSchema()), sdk.ValidateWith(p.checkWrite), sdk.NarrowWith(p.narrowWrite)}
}

func (p *plugin) keyedOptions(input sdk.Value) []sdk.ActionOption {
	return []sdk.ActionOption{sdk.Input(input), sdk.Output(outputSchema()), sdk.ValidateWith(p.checkKeyed), sdk.NarrowWith(p.narrowKeyed)}
}

// given is the input of an example.
func given(text string) sdk.Value { return sdk.Value(text) }
