package sdk

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Error is the failure of a call. Every field but Code and Message is
// optional. Message, Hint and Details must be safe to show and to store: no
// secrets, no URLs with queries (values of secret fields are masked anyhow).
type Error struct {
	Code       Code
	Message    string
	Reason     string         // the service's own word, such as "slow_down"
	HTTPStatus int            // of the answer, 0 = there was none
	RetryAfter time.Duration  // with CodeRateLimited and CodeUnavailable
	Applied    Applied        // did the side effect happen?
	Pointer    string         // JSON Pointer into the input: "/domain"
	Limiter    string         // with CodeRateLimited: which limiter is closed; empty = the action's only one
	Hint       string         // what to do about it, one sentence
	Details    map[string]any // JSON for people and for on_failure
	Err        error          // cause, for errors.Is; never sent
}

// Error returns code and message on one line.
func (e *Error) Error() string {
	if e == nil {
		return "no error"
	}
	return e.Code.String() + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.Err
}

// Errorf makes an error of a code. A %w keeps the cause for errors.Is.
func Errorf(code Code, format string, args ...any) *Error {
	err := fmt.Errorf(format, args...)
	return &Error{Code: code, Message: err.Error(), Err: errors.Unwrap(err)}
}

// Refused makes the error of a call that has done nothing: it was not sent, or the
// service did not take it.
func Refused(code Code, format string, args ...any) *Error {
	e := Errorf(code, format, args...)
	e.Applied = NotApplied
	return e
}

// Invalid makes the error of a wrong input found before anything was sent.
// pointer is a JSON Pointer into the input, "" for the input as a whole.
func Invalid(pointer, format string, args ...any) *Error {
	e := Refused(CodeInvalid, format, args...)
	e.Pointer = pointer
	return e
}

// NotFound makes the error of a thing that the service does not have.
func NotFound(format string, args ...any) *Error { return Refused(CodeNotFound, format, args...) }

// Forbidden makes the error of a credential that may not do this.
func Forbidden(format string, args ...any) *Error { return Refused(CodeForbidden, format, args...) }

// AuthRequired makes the error that pauses a run until a person has logged in.
func AuthRequired(format string, args ...any) *Error {
	return Refused(CodeAuthRequired, format, args...)
}

// RateLimited makes the error of a closed limiter. retryAfter 0 leaves the
// wait to the engine's backoff.
func RateLimited(retryAfter time.Duration, format string, args ...any) *Error {
	e := Refused(CodeRateLimited, format, args...)
	e.RetryAfter = retryAfter
	return e
}

// CursorExpired makes the error after which pagination starts again from page
// 1, once.
func CursorExpired(format string, args ...any) *Error {
	return Refused(CodeCursorExpired, format, args...)
}

// UnexpectedResponse makes the error of an answer that is not what the
// service's documents promise.
func UnexpectedResponse(format string, args ...any) *Error {
	return Errorf(CodeUnexpectedResponse, format, args...)
}

// WithHint sets the hint and returns e.
func (e *Error) WithHint(format string, args ...any) *Error {
	e.Hint = fmt.Sprintf(format, args...)
	return e
}

// WithReason sets the service's own word and returns e.
func (e *Error) WithReason(reason string) *Error {
	e.Reason = reason
	return e
}

// failed reports whether err is a failure. A nil *Error in an error value is
// none: it is what `return out, classify(r)` gives for a good answer.
func failed(err error) bool {
	if typed, ok := err.(*Error); ok { //nolint:errorlint // a nil *Error is looked for, not a wrapped one
		return typed != nil
	}
	return err != nil
}

// asError turns whatever an action returned into an Error: a bug of the plugin
// unless it says otherwise.
func asError(err error) *Error {
	var typed *Error
	switch {
	case errors.As(err, &typed):
		return typed
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: CodeTimeout, Message: "the call ran out of time", Err: err}
	case errors.Is(err, context.Canceled):
		return &Error{Code: CodeCanceled, Message: "the call was canceled", Err: err}
	}
	return &Error{Code: CodeInternal, Message: err.Error(), Err: err}
}
