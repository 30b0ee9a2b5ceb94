package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/runs"
	"github.com/flowrun/flowrun/engine/workspace"
	"github.com/flowrun/flowrun/internal/web/wire"
)

// Client speaks the API. Its errors are *Problem (the owner refused),
// *DeniedError (a server on another machine did, for the token's sake) or *GoneError
// (the owner could not be asked). Safe for concurrent use.
type Client struct {
	http *http.Client
	base string // scheme and host; of a server on another machine its own
}

// localBase stands where the transport knows whom it talks to.
const localBase = "http://flowrun"

// NewClient returns a client over a transport: InProcess or a socket's.
func NewClient(transport http.RoundTripper) *Client {
	return &Client{http: &http.Client{Transport: transport}, base: localBase}
}

// GoneError says that the owner could not be asked, or went away before it
// answered. Unsent tells that the request certainly changed nothing.
type GoneError struct {
	Unsent bool
	Err    error
}

func (e *GoneError) Error() string { return fmt.Sprintf("the process that owns the store: %v", e.Err) }

// Unwrap returns the cause.
func (e *GoneError) Unwrap() error { return e.Err }

// Closing reports whether the owner still answers and is about to end: its store
// is free soon.
func (e *GoneError) Closing() bool {
	var problem *Problem
	return errors.As(e.Err, &problem) && problem.Code == wire.CodeClosing
}

// Owner asks who owns the store.
func (c *Client) Owner(ctx context.Context) (*Owner, error) {
	return fetch[Owner](ctx, c, "/local/owner")
}

// Ready is an error while the owner takes nothing new: it ends, its store has failed, or
// there is no room for a run.
func (c *Client) Ready(ctx context.Context) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, c.base+"/readyz", nil)
	if err != nil {
		return fmt.Errorf("build request for /readyz: %w", err)
	}
	response, err := c.exchange(ctx, request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// Start starts a run of a workflow's bytes. A workflow with errors is a *Problem
// with the code wire.CodeInvalidWorkflow; the list returned holds warnings.
func (c *Client) Start(ctx context.Context, r engine.StartRequest) (*runs.Run, diag.List, error) {
	answer, err := post[RunAnswer](ctx, c, "/local/runs", r)
	return answer.Run, answer.Problems, err
}

// Result returns a run with its steps and outputs.
func (c *Client) Result(ctx context.Context, id string) (*runs.Result, error) {
	return fetch[runs.Result](ctx, c, runPath(id, ""))
}

// ResultInShort is Result without the long outputs of steps: Step.OutputsBytes says so.
func (c *Client) ResultInShort(ctx context.Context, id string) (*runs.Result, error) {
	return fetch[runs.Result](ctx, c, runPath(id, "?short=true"))
}

// ResultOpen is ResultInShort with those steps alone that have not ended.
func (c *Client) ResultOpen(ctx context.Context, id string) (*runs.Result, error) {
	return fetch[runs.Result](ctx, c, runPath(id, "?open=true"))
}

// Runs returns one page of runs, the newest first.
func (c *Client) Runs(ctx context.Context, f runs.Filter) (*Page[runs.Run], error) {
	query := wire.Query("workflow", f.Workflow, "status", string(f.Status), "query", f.Query, "cursor", f.Cursor, "limit", number(f.Limit),
		"since", moment(f.Since, time.RFC3339), "id_prefix", f.IDPrefix, "id_suffix", f.IDSuffix)
	if f.Attention {
		query.Set("attention", "true")
	}
	for name, value := range f.Labels {
		query.Add("label", name+"="+value)
	}
	return fetch[Page[runs.Run]](ctx, c, wire.WithQuery("/runs", query))
}

// number and moment are a number and a time in a query; "" stands for the zero value.
func number(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func moment(at time.Time, layout string) string {
	if at.IsZero() {
		return ""
	}
	return at.Format(layout)
}

// Events returns stored records from sequence number from on, at most limit.
func (c *Client) Events(ctx context.Context, id string, from uint64, limit int) (*Page[workspace.Event], error) {
	query := wire.Query("cursor", strconv.FormatUint(from, 10), "limit", strconv.Itoa(limit))
	return fetch[Page[workspace.Event]](ctx, c, wire.WithQuery(runPath(id, "/events"), query))
}

// Cancel asks a run to end; its `finally` runs.
func (c *Client) Cancel(ctx context.Context, id, by string) (*runs.Run, error) {
	answer, err := post[RunAnswer](ctx, c, runPath(id, "/cancel"), CancelBody{By: by})
	return answer.Run, err
}

// Resume goes on with a run where it stopped.
func (c *Client) Resume(ctx context.Context, id string, r engine.ResumeRequest) (*runs.Run, error) {
	answer, err := post[RunAnswer](ctx, c, runPath(id, "/resume"), r)
	return answer.Run, err
}

// Rerun starts a new run that is linked to id.
func (c *Client) Rerun(ctx context.Context, id string, r engine.RerunRequest) (*runs.Run, diag.List, error) {
	body := RerunBody{From: r.From, By: r.By}
	body.Inputs, body.Texts = splitInputs(r.Inputs)
	answer, err := post[RunAnswer](ctx, c, runPath(id, "/rerun"), body)
	return answer.Run, answer.Problems, err
}

func runPath(id, rest string) string { return "/runs/" + url.PathEscape(id) + rest }

// fetch asks for what lies at a path.
func fetch[T any](ctx context.Context, c *Client, path string) (*T, error) {
	return ask[T](ctx, c, http.MethodGet, path, nil, nil)
}

// fetchAll asks for a list that has one page.
func fetchAll[T any](ctx context.Context, c *Client, path string) ([]T, error) {
	page, err := fetch[Page[T]](ctx, c, path)
	return page.Items, err
}

// post sends a body and returns what comes back.
func post[T any](ctx context.Context, c *Client, path string, body any) (*T, error) {
	return ask[T](ctx, c, http.MethodPost, path, body, nil)
}

// ask sends a request and returns what comes back; never nil.
func ask[T any](ctx context.Context, c *Client, method, path string, body any, header http.Header) (*T, error) {
	value := new(T)
	response, err := c.send(ctx, method, path, body, header)
	if err != nil {
		return value, err
	}
	defer response.Body.Close()
	if err := json.NewDecoder(response.Body).Decode(value); err != nil {
		return value, &GoneError{Err: fmt.Errorf("read its answer: %w", err)}
	}
	return value, nil
}

// send returns a 2xx answer whose body is open, or an error.
func (c *Client) send(ctx context.Context, method, path string, body any, header http.Header) (*http.Response, error) {
	var reader io.Reader
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("encode request for %s: %w", path, err)
		}
		reader = bytes.NewReader(data)
	}
	request, err := http.NewRequestWithContext(ctx, method, c.base+Prefix+path, reader)
	if err != nil {
		return nil, fmt.Errorf("build request for %s: %w", path, err)
	}
	for name, values := range header {
		request.Header[name] = values
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	return c.exchange(ctx, request)
}

// exchange sends a request that is whole.
func (c *Client) exchange(ctx context.Context, request *http.Request) (*http.Response, error) {
	response, err := c.http.Do(request)
	if err != nil {
		return nil, goneError(ctx, err)
	}
	if response.StatusCode/100 != 2 {
		if c.base != localBase && isProxys(response) {
			_ = response.Body.Close()
			return nil, &GoneError{Err: fmt.Errorf("what stands before it says %s", response.Status)}
		}
		err := readProblem(response)
		if c.base != localBase {
			err = denied(err)
		}
		return nil, err
	}
	return response, nil
}

// isProxys reports whether an answer is a proxy's, which does not reach the server: that
// one says what is wrong in its own form.
func isProxys(response *http.Response) bool {
	switch response.StatusCode {
	case http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return !strings.HasPrefix(response.Header.Get("Content-Type"), wire.ProblemType)
	}
	return false
}

// goneError tells a canceled request from an owner that is gone.
func goneError(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	var urlError *url.Error
	if errors.As(err, &urlError) {
		err = urlError.Err
	}
	var dial *dialError
	return &GoneError{Unsent: errors.As(err, &dial), Err: err}
}

// readProblem returns the refusal as a *Problem; an owner that is ending is a
// *GoneError, since another one can be asked.
func readProblem(response *http.Response) error {
	defer response.Body.Close()
	problem := new(Problem)
	if !strings.HasPrefix(response.Header.Get("Content-Type"), wire.ProblemType) ||
		json.NewDecoder(io.LimitReader(response.Body, localBodyCap)).Decode(problem) != nil {
		return wire.NewProblem(wire.CodeInternal, "unexpected answer of the process that owns the store: "+response.Status)
	}
	if problem.Code == wire.CodeClosing {
		return &GoneError{Unsent: true, Err: problem}
	}
	return problem
}
