package wire

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
)

// Code names a kind of failure of the server. Codes are stable.
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

// Status is the HTTP status of the code.
func (c Code) Status() int { return statusOf[c] }

// Codes are all codes in the order of their status.
func Codes() []Code {
	codes := slices.Collect(maps.Keys(statusOf))
	slices.SortFunc(codes, func(a, b Code) int { return cmp.Or(cmp.Compare(a.Status(), b.Status()), cmp.Compare(a, b)) })
	return codes
}
