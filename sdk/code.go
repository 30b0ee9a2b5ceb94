package sdk

import (
	"strings"

	pluginv1 "github.com/flowrun/flowrun/sdk/proto/pluginv1"
)

// Code is the kind of a failure: what the engine decides by.
type Code int

// The codes of plugin.proto.
const (
	CodeInvalid            = Code(pluginv1.Code_CODE_INVALID)             // refused before sending, or by the service; never retried
	CodeUnauthorized       = Code(pluginv1.Code_CODE_UNAUTHORIZED)        // credential refused; with NotApplied the host renews a token and calls once more
	CodeAuthRequired       = Code(pluginv1.Code_CODE_AUTH_REQUIRED)       // a person has to log in: the run pauses
	CodeForbidden          = Code(pluginv1.Code_CODE_FORBIDDEN)           // the credential may not do this
	CodeNotFound           = Code(pluginv1.Code_CODE_NOT_FOUND)           // no such thing
	CodeConflict           = Code(pluginv1.Code_CODE_CONFLICT)            // against the present state of the service
	CodeRateLimited        = Code(pluginv1.Code_CODE_RATE_LIMITED)        // RetryAfter is honoured, the limiter of all runs is closed
	CodeQuotaExhausted     = Code(pluginv1.Code_CODE_QUOTA_EXHAUSTED)     // not soon again
	CodeUnavailable        = Code(pluginv1.Code_CODE_UNAVAILABLE)         // network, 5xx
	CodeTimeout            = Code(pluginv1.Code_CODE_TIMEOUT)             // no answer in time
	CodeCanceled           = Code(pluginv1.Code_CODE_CANCELED)            // the caller gave up
	CodeDenied             = Code(pluginv1.Code_CODE_DENIED)              // a person refused
	CodeExpired            = Code(pluginv1.Code_CODE_EXPIRED)             // a code or a deadline ran out
	CodeCursorExpired      = Code(pluginv1.Code_CODE_CURSOR_EXPIRED)      // pagination starts again from page 1, once
	CodeUnexpectedResponse = Code(pluginv1.Code_CODE_UNEXPECTED_RESPONSE) // not JSON, wrong shape, truncated
	CodeUnsupported        = Code(pluginv1.Code_CODE_UNSUPPORTED)         // the service or the host cannot do this
	CodeCrashed            = Code(pluginv1.Code_CODE_CRASHED)             // said by the host only
	CodeInternal           = Code(pluginv1.Code_CODE_INTERNAL)            // a bug of the plugin
	CodeUnknownOutcome     = Code(pluginv1.Code_CODE_UNKNOWN_OUTCOME)     // nobody can tell whether the effect happened
)

// String returns the code as the workflow language writes it: "not_found".
func (c Code) String() string {
	if name, ok := pluginv1.Code_name[int32(c)]; ok && c != 0 {
		return strings.ToLower(strings.TrimPrefix(name, "CODE_"))
	}
	return "unknown"
}

// Applied says whether the side effect of a failed call happened.
type Applied int

// The answers to "did the effect happen?".
const (
	AppliedUnknown = Applied(pluginv1.Error_APPLIED_UNSPECIFIED)
	NotApplied     = Applied(pluginv1.Error_APPLIED_NOT_APPLIED)
	AppliedFully   = Applied(pluginv1.Error_APPLIED_APPLIED)
	AppliedPartly  = Applied(pluginv1.Error_APPLIED_PARTLY)
)

// String returns the answer as events and views write it: "not_applied".
func (a Applied) String() string {
	switch a {
	case NotApplied:
		return "not_applied"
	case AppliedFully:
		return "applied"
	case AppliedPartly:
		return "partly"
	}
	return "unknown"
}
