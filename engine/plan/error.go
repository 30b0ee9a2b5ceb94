package plan

import (
	"encoding/json"
	"fmt"
)

// ErrorKind is one of the closed set of error kinds (docs/language.md, rule 9).
type ErrorKind string

// The error kinds, the lower-case names of the protocol's codes.
const (
	KindInvalid            ErrorKind = "invalid"
	KindUnauthorized       ErrorKind = "unauthorized"
	KindAuthRequired       ErrorKind = "auth_required"
	KindForbidden          ErrorKind = "forbidden"
	KindNotFound           ErrorKind = "not_found"
	KindConflict           ErrorKind = "conflict"
	KindRateLimited        ErrorKind = "rate_limited"
	KindQuotaExhausted     ErrorKind = "quota_exhausted"
	KindUnavailable        ErrorKind = "unavailable"
	KindTimeout            ErrorKind = "timeout"
	KindDenied             ErrorKind = "denied"
	KindExpired            ErrorKind = "expired"
	KindCursorExpired      ErrorKind = "cursor_expired"
	KindUnexpectedResponse ErrorKind = "unexpected_response"
	KindUnsupported        ErrorKind = "unsupported"
	KindCrashed            ErrorKind = "crashed"
	KindInternal           ErrorKind = "internal"
	KindUnknownOutcome     ErrorKind = "unknown_outcome"
	KindCanceled           ErrorKind = "canceled"
)

// ErrorKinds returns every kind in the order of the language's page.
func ErrorKinds() []ErrorKind {
	return []ErrorKind{
		KindInvalid, KindUnauthorized, KindAuthRequired, KindForbidden, KindNotFound, KindConflict,
		KindRateLimited, KindQuotaExhausted, KindUnavailable, KindTimeout, KindDenied, KindExpired,
		KindCursorExpired, KindUnexpectedResponse, KindUnsupported, KindCrashed, KindInternal,
		KindUnknownOutcome, KindCanceled,
	}
}

// DefaultRetryKinds returns the kinds that a step retries unless it says
// otherwise (docs/language.md, rule 10).
func DefaultRetryKinds() []ErrorKind {
	return []ErrorKind{KindRateLimited, KindUnavailable, KindTimeout, KindCrashed, KindUnexpectedResponse}
}

// Applied tells whether the effect of a failed call happened.
type Applied string

// The answers to "did the effect happen?"; the empty one means unknown.
const (
	AppliedUnknown Applied = "unknown"
	NotApplied     Applied = "not_applied"
	AppliedFully   Applied = "applied"
	AppliedPartly  Applied = "partly"
)

// Error is the failure of a call, a step or a run. Message is safe to show and
// store. Pointer is a JSON Pointer into the step's `with`.
type Error struct {
	Kind        ErrorKind       `json:"kind"`
	Action      string          `json:"action,omitempty"`
	Step        string          `json:"step,omitempty"`
	Attempt     int             `json:"attempt,omitempty"`
	Message     string          `json:"message"`
	Reason      string          `json:"reason,omitempty"`
	HTTPStatus  int             `json:"http_status,omitempty"`
	Applied     Applied         `json:"applied,omitempty"`
	Pointer     string          `json:"pointer,omitempty"`
	RetryAfterS float64         `json:"retry_after_s,omitempty"` // seconds
	Hint        string          `json:"hint,omitempty"`
	Limiter     string          `json:"limiter,omitempty"` // with rate_limited: the limiter that is closed
	Details     json.RawMessage `json:"details,omitempty"`
}

// Error returns kind and message on one line.
func (e *Error) Error() string {
	if e.Action != "" {
		return fmt.Sprintf("%s: %s: %s", e.Action, e.Kind, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}
