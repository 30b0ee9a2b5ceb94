package plan

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
