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

// Meaning is what an error of the kind says, as the protocol defines its codes
// (proto/flowrun/plugin/v1): a sentence in Markdown, "" for a word that is no kind.
func (k ErrorKind) Meaning() string {
	switch k {
	case KindInvalid:
		return "The call, an expression or an assertion is wrong: refused before it was sent, or by the service."
	case KindUnauthorized:
		return "The service does not take the credential."
	case KindAuthRequired:
		return "A person has to log in: the run pauses and says how."
	case KindForbidden:
		return "The credential may not do this."
	case KindNotFound:
		return "There is no such thing."
	case KindConflict:
		return "The call is against the present state of the service, or a value of `state` that this run has read was changed by another."
	case KindRateLimited:
		return "The service wants fewer calls: they wait, those of all runs."
	case KindQuotaExhausted:
		return "What the service allows is used up, for longer than a wait."
	case KindUnavailable:
		return "The service is not reached, or has a fault of its own (5xx)."
	case KindTimeout:
		return "There was no answer within `timeout`."
	case KindDenied:
		return "A person refused: an approval, or a consent."
	case KindExpired:
		return "A code or a deadline ran out."
	case KindCursorExpired:
		return "The service has forgotten the place in a list; the engine reads its window anew, once."
	case KindUnexpectedResponse:
		return "The answer is not what the service's schema says, or is cut off."
	case KindUnsupported:
		return "The service or flowrun can't do this."
	case KindCrashed:
		return "The plugin's process ended in the middle of the call."
	case KindInternal:
		return "A fault of the plugin or of flowrun."
	case KindUnknownOutcome:
		return "Nobody can tell whether the effect happened; `on_unknown` decides."
	case KindCanceled:
		return "The call or the run was canceled."
	}
	return ""
}
