package sdk

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// HTTPClient sends requests to the connection's base_url and turns failures
// into Errors: by status, by what the network did, and by what a Classify hook
// reads from the body. It sends each write once, keeps no cookies, caps bodies
// and follows redirects of reads. Credentials go to the origin (scheme, host and
// port) of base_url and to those that Hosts and HostsFrom grant, and nowhere
// else: a request that would take one to another is refused, a redirect that
// would is not followed. The With methods return changed copies. Safe for
// concurrent use.
type HTTPClient struct {
	ctx      context.Context // a client lives no longer than its call
	core     *core
	settings HTTPSettings
	pool     *http.Client // nil: the settings are unusable, see err
	err      error
	prefix   string
	header   http.Header
	granted  origins // where credentials may go
	reach    *reach  // where requests may go; nil = anywhere
	classify func(*Response) error
	grant    Grant // where the tokens of its requests come from, nil = there are none
}

// Request is one request. Path is relative to base_url and escaped (see Path).
type Request struct {
	Method string // default GET, with a body POST
	Path   string
	Query  url.Values
	Header http.Header

	// URL is sent as it stands instead of Path, below no base_url; Query is added
	// to it. At an origin that is not granted the request is sent without the
	// headers of the client, and refused when it has another credential.
	URL string
	// SecretQuery names parameters of Query whose values are never shown: a token
	// that the service wants there.
	SecretQuery []string
	// Cookies are sent with this request alone; none is kept. They count as a credential.
	Cookies []*http.Cookie

	JSON        any        // body, encoded; nil = none
	Form        url.Values // body as a form (application/x-www-form-urlencoded), when JSON is nil
	Body        []byte     // body as it is, when JSON and Form are nil
	Upload      *Upload    // body that is read while it is sent, when there is no other
	ContentType string     // of Body and Upload

	// KeyHeader is the header that carries the idempotency key of a keyed action, for
	// services that want it elsewhere; "" = Idempotency-Key.
	KeyHeader string

	Accept   []int                 // statuses besides 2xx that are answers, not failures
	Classify func(*Response) error // asked before the status; replaces the client's
	MaxBody  int64                 // bytes, 0 = DefaultMaxBody, at most HardMaxBody
	Close    bool                  // use a network connection of its own, closed after
	Stay     bool                  // follow no redirect: the answer is the redirect itself
	Exact    bool                  // keep a byte order mark at the beginning of the answer's body
	// Take is given the body of a success as it comes, as it was sent (no compression is
	// asked for, and none undone); Response.Body is nil then. What fails to arrive is
	// unavailable. nil = the body is read, at most MaxBody.
	Take func(head *Response, body io.Reader) error

	ofToken bool // a request for a token: nothing of the call itself
}

// WithContext returns a client whose requests end with ctx, which should be
// derived from the call: context.WithTimeout(c, time.Second).
func (h *HTTPClient) WithContext(ctx context.Context) *HTTPClient {
	changed := *h
	changed.ctx = ctx
	return &changed
}

// WithBase returns a client of another root URL of the same service, such as its
// authorization server. It is checked as base_url is when a request is made.
// Credentials go there when Hosts or HostsFrom grant it.
func (h *HTTPClient) WithBase(root string) *HTTPClient {
	changed := *h
	changed.prefix = ""
	base, err := CheckBaseURL(root)
	if err != nil {
		changed.err = fmt.Errorf("the URL to send to %w", err)
	}
	changed.settings.BaseURL = base
	return &changed
}

// WithPath returns a client whose paths start with prefix, such as "/api/v1".
func (h *HTTPClient) WithPath(prefix string) *HTTPClient {
	changed := *h
	changed.prefix = h.prefix + strings.TrimRight(prefix, "/")
	return &changed
}

// WithHeader returns a client that sends a header with every request to the
// origins that are granted. An empty value sends no such header, so that a setting
// that may be absent needs no condition.
func (h *HTTPClient) WithHeader(name, value string) *HTTPClient {
	changed := *h
	changed.header = h.header.Clone()
	if changed.header == nil {
		changed.header = http.Header{}
	}
	if changed.header.Set(name, value); value == "" {
		changed.header.Del(name)
	}
	return &changed
}

// WithBearer returns a client that sends an access token; with an empty one it
// sends none.
func (h *HTTPClient) WithBearer(token string) *HTTPClient {
	if token == "" {
		return h.WithHeader("Authorization", "")
	}
	return h.WithHeader("Authorization", "Bearer "+token)
}

// WithClassifier returns a client that asks fn about every answer before it
// looks at the status: services that say in the body what happened. fn returns
// the failure, or nil to go on with the status.
func (h *HTTPClient) WithClassifier(fn func(*Response) error) *HTTPClient {
	changed := *h
	changed.classify = fn
	return &changed
}

// Get reads a path. query may be nil.
func (h *HTTPClient) Get(path string, query url.Values) (*Response, error) {
	return h.Do(&Request{Path: path, Query: query})
}

// GetJSON reads a path and decodes the answer into a pointer.
func (h *HTTPClient) GetJSON(path string, query url.Values, into any) error {
	response, err := h.Get(path, query)
	if err != nil {
		return err
	}
	return response.JSON(into)
}

// Post sends a JSON body to a path.
func (h *HTTPClient) Post(path string, body any) (*Response, error) {
	return h.Do(&Request{Method: http.MethodPost, Path: path, JSON: body})
}

// Do sends one request and reads the whole answer. Its error is an *Error.
func (h *HTTPClient) Do(request *Request) (*Response, error) {
	if h.err != nil {
		return nil, Errorf(CodeInvalid, "the connection's settings: %w", h.err)
	}
	if h.grant != nil {
		return h.doGranted(request)
	}
	target, err := h.target(request)
	if err == nil {
		err = h.within(target)
	}
	if err != nil {
		notSent := asError(err)
		notSent.Applied = NotApplied
		return nil, notSent
	}
	var sent atomic.Bool
	var outgoing *http.Request
	trace := &httptrace.ClientTrace{WroteHeaders: func() {
		sent.Store(true)
		if !isRead(outgoing.Method) && !request.ofToken {
			h.core.wrote.Store(true)
		}
	}}
	outgoing, err = h.outgoing(httptrace.WithClientTrace(h.ctx, trace), request, target)
	if err != nil {
		return nil, err
	}
	h.maskQuery(request)
	started := h.core.now()
	incoming, err := h.redirecting(outgoing, request).Do(outgoing)
	if err != nil {
		return nil, h.networkError(outgoing, err, sent.Load())
	}
	if taken(incoming, request) {
		response, err := h.take(incoming, request)
		if err == nil {
			response.addMeta(h.core, h.core.now().Sub(started))
		}
		return response, err
	}
	response, err := h.read(incoming, request)
	if err != nil {
		return nil, err
	}
	response.addMeta(h.core, h.core.now().Sub(started))
	return response, h.judge(response, request)
}

// target is where a request goes.
func (h *HTTPClient) target(request *Request) (*url.URL, error) {
	if request.URL == "" {
		return resolve(h.settings.BaseURL, h.prefix+request.Path, request.Query)
	}
	target, err := url.Parse(request.URL)
	if err != nil || target.Host == "" || target.User != nil || target.Scheme != "http" && target.Scheme != "https" {
		return nil, Errorf(CodeInvalid, "the URL must be absolute, http or https, without user and password")
	}
	target.Fragment, target.RawFragment = "", ""
	if len(request.Query) > 0 {
		target.RawQuery = strings.TrimPrefix(target.RawQuery+"&"+request.Query.Encode(), "&")
	}
	return target, nil
}

// within refuses a URL that requests of the connection may not go to.
func (h *HTTPClient) within(target *url.URL) error {
	refused := h.reach.check(target)
	if refused == nil {
		return nil
	}
	failure := Errorf(CodeForbidden, "%w", refused).WithHint("%s", refused.hint())
	failure.Err = refused
	return failure
}

// maskQuery makes the values of secret parameters unreadable in everything that
// the call says.
func (h *HTTPClient) maskQuery(request *Request) {
	for _, name := range request.SecretQuery {
		h.core.masks.add(request.Query[name]...)
	}
}

// outgoing builds the request. A header that would carry cookies is dropped: they are
// Request.Cookies.
func (h *HTTPClient) outgoing(ctx context.Context, request *Request, target *url.URL) (*http.Request, error) {
	body, contentType := request.Body, request.ContentType
	if request.Form != nil {
		body, contentType = []byte(request.Form.Encode()), formType
	}
	if request.JSON != nil {
		encoded, err := marshalJSON(request.JSON)
		if err != nil {
			return nil, &Error{Code: CodeInternal, Applied: NotApplied, Message: "encode the request's body: " + err.Error(), Err: err}
		}
		body, contentType = encoded, "application/json"
	}
	method := request.Method
	if method == "" {
		method = http.MethodGet
		if body != nil || request.Upload != nil {
			method = http.MethodPost
		}
	}
	var reader io.Reader
	if body != nil {
		reader = bytes.NewReader(body)
	}
	outgoing, err := http.NewRequestWithContext(ctx, method, target.String(), reader)
	if err != nil {
		return nil, &Error{Code: CodeInternal, Applied: NotApplied, Message: "build the request: " + stripURL(err).Error()}
	}
	outgoing.Close = request.Close
	h.setHeaders(outgoing, request, contentType)
	if err := h.confine(outgoing, request, body); err != nil {
		return nil, err
	}
	if request.Upload != nil && body == nil {
		return outgoing, uploading(outgoing, request.Upload)
	}
	return outgoing, nil
}

func (h *HTTPClient) setHeaders(outgoing *http.Request, request *Request, contentType string) {
	header := outgoing.Header
	header.Set("Accept", "application/json")
	header.Set("User-Agent", h.userAgent())
	if request.Take != nil {
		header.Set("Accept", "*/*")
		header.Set("Accept-Encoding", "identity") // a part of what is compressed is no part
	}
	for _, more := range []http.Header{h.header, request.Header} {
		for name, values := range more {
			header[http.CanonicalHeaderKey(name)] = values
		}
	}
	if contentType != "" {
		header.Set("Content-Type", contentType)
	}
	header.Del("Cookie")
	for _, cookie := range request.Cookies {
		outgoing.AddCookie(cookie)
	}
	if trace := h.core.run.Traceparent; isTraceparent(trace) && header.Get("Traceparent") == "" {
		header.Set("Traceparent", trace)
	}
	key, keyHeader := h.core.run.IdempotencyKey, cmp.Or(request.KeyHeader, "Idempotency-Key")
	if !isRead(outgoing.Method) && key != "" && !request.ofToken && h.core.keyed() && header.Get(keyHeader) == "" {
		header.Set(keyHeader, key)
	}
	for _, name := range []string{"Idempotency-Key", "X-Idempotency-Key"} {
		if values, ok := header[name]; ok {
			// net/http sends a request again by itself when it sees one of these names in
			// its usual spelling; one Execute is one request
			delete(header, name)
			header[strings.ToLower(name)] = values
		}
	}
}

func (h *HTTPClient) userAgent() string {
	if h.settings.UserAgent != "" {
		return h.settings.UserAgent
	}
	return "flowrun-" + h.core.plugin.name + "/" + h.core.plugin.version
}

func isRead(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// read takes the whole body within its bound.
func (h *HTTPClient) read(incoming *http.Response, request *Request) (*Response, error) {
	defer incoming.Body.Close()
	limit := request.MaxBody
	if limit <= 0 {
		limit = DefaultMaxBody
	}
	limit = min(limit, HardMaxBody)
	body, err := io.ReadAll(io.LimitReader(incoming.Body, limit+1))
	response := &Response{
		Status: incoming.StatusCode, Header: incoming.Header, Body: bytes.TrimPrefix(body, byteOrderMark),
		core: h.core, method: incoming.Request.Method, url: incoming.Request.URL,
	}
	if request.Exact {
		response.Body = body
	}
	if int64(len(body)) > limit {
		response.Body = nil
		return nil, response.Fail(CodeUnexpectedResponse, "the answer is larger than %d bytes", limit)
	}
	if err == nil {
		return response, nil
	}
	if ctxErr := contextError(h.ctx, err); ctxErr != nil {
		return nil, response.Fail(ctxErr.Code, "%s while the answer was read", ctxErr.Message)
	}
	return nil, response.Fail(CodeUnexpectedResponse, "the answer was cut short after %d bytes%s", len(body), cutWords(stripURL(err)))
}

// judge decides whether an answer is a failure.
func (h *HTTPClient) judge(response *Response, request *Request) error {
	classify := request.Classify
	if classify == nil {
		classify = h.classify
	}
	if classify != nil {
		if err := classify(response); failed(err) {
			return err
		}
	}
	if response.Status >= 200 && response.Status < 300 {
		return nil
	}
	for _, accepted := range request.Accept {
		if response.Status == accepted {
			return nil
		}
	}
	return response.StatusError()
}

// networkError classifies a request without an answer. sent tells whether the
// service may have seen it.
func (h *HTTPClient) networkError(request *http.Request, err error, sent bool) *Error {
	cause := stripURL(err)
	failure := &Error{Code: CodeUnavailable, Err: cause, Details: map[string]any{
		"method": request.Method, "url": redactURL(request.URL),
	}}
	if !sent {
		failure.Applied = NotApplied
	}
	what := plain(cut(h.core.masks.now().text(networkWords(cause)), 300))
	if ctxErr := contextError(h.ctx, cause); ctxErr != nil {
		failure.Code, what = ctxErr.Code, ctxErr.Message
	}
	failure.Message = request.Method + " " + request.URL.Host + request.URL.EscapedPath() + ": " + what
	if refused, is := errors.AsType[*ReachError](cause); is {
		failure.Code, failure.Applied, failure.Hint = CodeForbidden, NotApplied, refused.hint()
	}
	if isTLS(cause) {
		failure.Hint = "check base_url and, for a private certificate authority, ca_file"
	}
	return failure
}

// contextError tells a timeout and a cancellation from other failures.
func contextError(ctx context.Context, err error) *Error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(ctx.Err(), context.Canceled):
		return &Error{Code: CodeCanceled, Message: "the call was canceled"}
	case errors.Is(err, context.DeadlineExceeded), ctx.Err() != nil, errors.As(err, &timeout) && timeout.Timeout():
		return &Error{Code: CodeTimeout, Message: "no answer in time"}
	}
	return nil
}

func (c *core) keyed() bool {
	return c.action != nil && c.action.effect == pluginv1.Effect_EFFECT_KEYED
}

// addMeta notes what people want to know about an answer.
func (r *Response) addMeta(c *core, took time.Duration) {
	c.setMeta("status", r.Status)
	c.setMeta("duration_ms", took.Milliseconds())
	for _, name := range []string{"X-Request-Id", "X-Correlation-Id"} {
		if id := r.Header.Get(name); id != "" {
			c.setMeta("request_id", r.Shown(id, 128))
			break
		}
	}
	if rate := r.rate(); rate != nil {
		c.setMeta("rate", rate)
	}
}
