package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"

	"github.com/flowrun/flowrun/engine"
	"github.com/flowrun/flowrun/engine/diag"
	"github.com/flowrun/flowrun/engine/fault"
	"github.com/flowrun/flowrun/engine/runquery"
	"github.com/flowrun/flowrun/engine/upkeep"
	"github.com/flowrun/flowrun/engine/workspace"
)

// Code names a kind of failure of the API. Codes are stable.
type Code string

// The codes.
const (
	CodeBadRequest      Code = "bad_request"
	CodeNotFound        Code = "not_found"
	CodeMethod          Code = "method_not_allowed"
	CodeMediaType       Code = "unsupported_media_type"
	CodeTooLarge        Code = "too_large"
	CodeConflict        Code = "conflict"
	CodeInvalidWorkflow Code = "invalid_workflow" // Problems is set
	CodeInvalidInput    Code = "invalid_input"    // Input names it
	CodePlugin          Code = "plugin_changed"   // a plugin is not the one any more that a run was accepted with
	CodeTooMany         Code = "too_many_requests"
	CodeReusedKey       Code = "idempotency_key_reused" // the key is of a request that asked for something else
	CodeUnauthorized    Code = "unauthorized"           // no token, or a wrong one; of a webhook its signature
	CodeForbidden       Code = "forbidden"              // a token of too small a scope
	CodeOrigin          Code = "origin_refused"         // a page of another site asks
	CodeHost            Code = "host_refused"           // the request was sent to a name that is not the server's
	CodeUnavailable     Code = "unavailable"            // nothing was done: it can't be taken now
	CodeClosing         Code = "closing"                // nothing was done: the owner is about to give the store back
	CodeStoreIO         Code = "store_io"
	CodeStoreFull       Code = "store_full"
	CodeStoreCorrupt    Code = "store_corrupt"
	CodeStoreNewer      Code = "store_newer"
	CodeInternal        Code = "internal"
)

// statusOf is the HTTP status of every code.
var statusOf = map[Code]int{
	CodeBadRequest:      http.StatusBadRequest,
	CodeNotFound:        http.StatusNotFound,
	CodeMethod:          http.StatusMethodNotAllowed,
	CodeMediaType:       http.StatusUnsupportedMediaType,
	CodeTooLarge:        http.StatusRequestEntityTooLarge,
	CodeConflict:        http.StatusConflict,
	CodeInvalidWorkflow: http.StatusUnprocessableEntity,
	CodeInvalidInput:    http.StatusUnprocessableEntity,
	CodePlugin:          http.StatusConflict,
	CodeTooMany:         http.StatusTooManyRequests,
	CodeReusedKey:       http.StatusUnprocessableEntity,
	CodeUnauthorized:    http.StatusUnauthorized,
	CodeForbidden:       http.StatusForbidden,
	CodeOrigin:          http.StatusForbidden,
	CodeHost:            http.StatusMisdirectedRequest,
	CodeUnavailable:     http.StatusServiceUnavailable,
	CodeClosing:         http.StatusServiceUnavailable,
	CodeStoreIO:         http.StatusInternalServerError,
	CodeStoreFull:       http.StatusInsufficientStorage,
	CodeStoreCorrupt:    http.StatusInternalServerError,
	CodeStoreNewer:      http.StatusInternalServerError,
	CodeInternal:        http.StatusInternalServerError,
}

// Problem is an error answer (RFC 9457, application/problem+json) and the error
// that the client returns for it.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
	Code   Code   `json:"code"`
	diag.Hint
	Input string `json:"input,omitempty"`
	// Problems are those of a workflow or a query, Faults those of the request: both
	// are sent as `problems`.
	Problems diag.List    `json:"-"`
	Faults   []InputFault `json:"-"`
}

// Error returns the detail.
func (p *Problem) Error() string { return p.Detail }

func newProblem(code Code, detail string) *Problem {
	status := statusOf[code]
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail, Code: code}
}

// problemOf turns an error of the engine into its answer.
func problemOf(err error) *Problem {
	var (
		problem  *Problem
		conflict *fault.ConflictError
		input    *fault.InputError
		store    *fault.StoreError
		unknown  *fault.UnknownError
		plugin   *engine.PluginChangedError
		busy     *fault.BusyError
		query    *runquery.QueryError
		list     diag.List
		reused   *engine.ReusedKeyError
	)
	switch {
	case errors.As(err, &problem):
		return problem
	case errors.Is(err, engine.ErrClosing):
		return newProblem(CodeClosing, closingText)
	case errors.Is(err, fault.ErrRunNotFound):
		return newProblem(CodeNotFound, err.Error())
	case errors.Is(err, workspace.ErrUnknownPlugin):
		return newProblem(CodeNotFound, err.Error())
	case errors.As(err, &unknown):
		answer := newProblem(CodeNotFound, unknown.Error())
		answer.Hint = unknown.Hint
		return answer
	case errors.As(err, &conflict):
		answer := newProblem(CodeConflict, conflict.Message)
		answer.Hint = conflict.Hint
		return answer
	case errors.As(err, &plugin):
		answer := newProblem(CodePlugin, plugin.Message)
		answer.Hint = plugin.Hint
		return answer
	case errors.As(err, &input):
		return inputProblem(input)
	case errors.As(err, &reused):
		answer := newProblem(CodeReusedKey, reused.Error())
		answer.Hint = diag.Say("another request needs another key; the same one again is answered with its run")
		return answer
	case errors.As(err, &query):
		answer := newProblem(CodeBadRequest, query.Error())
		answer.Hint, answer.Problems = query.Hint(), query.Problems
		return answer
	case errors.As(err, &list):
		return invalidWorkflow(list)
	case errors.As(err, &busy):
		return newProblem(CodeTooMany, busy.Error())
	case errors.As(err, &store):
		answer := newProblem(storeCode(store.Fault), store.Error())
		answer.Hint = store.Hint
		return answer
	}
	return newProblem(CodeInternal, err.Error())
}

// runProblem is problemOf for a request about one run, which it names.
func runProblem(id string, err error) *Problem {
	if errors.Is(err, fault.ErrRunNotFound) {
		answer := noRun(id)
		var gone *upkeep.RunNotFoundError
		if errors.As(err, &gone) {
			answer.Hint = gone.Hint
		}
		return answer
	}
	return problemOf(err)
}

func noRun(id string) *Problem {
	return newProblem(CodeNotFound, fmt.Sprintf("there is no run %q", id))
}

func storeCode(cause fault.StoreFault) Code {
	switch cause {
	case fault.StoreFull:
		return CodeStoreFull
	case fault.StoreCorrupt:
		return CodeStoreCorrupt
	case fault.StoreNewer:
		return CodeStoreNewer
	}
	return CodeStoreIO
}

func invalidWorkflow(list diag.List) *Problem {
	answer := newProblem(CodeInvalidWorkflow, "the workflow has problems")
	answer.Problems = list
	return answer
}

// problemType is the media type of a problem.
const problemType = "application/problem+json"

// retryAfter is when a request that could not be taken may be sent again, in
// seconds.
const retryAfter = "5"

// GetHeaders returns what the answer has besides its body. huma asks for it too.
func (p *Problem) GetHeaders() http.Header {
	if p.Status != http.StatusTooManyRequests && p.Status != http.StatusServiceUnavailable {
		return nil
	}
	return http.Header{"Retry-After": {retryAfter}}
}

func writeProblem(w http.ResponseWriter, p *Problem) {
	maps.Copy(w.Header(), p.GetHeaders())
	w.Header().Set("Content-Type", problemType)
	w.WriteHeader(p.Status)
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(p) // the client is gone: nobody is left to tell
}
