package sdk

import (
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// CodeOfStatus maps an HTTP status to a code: for plugins whose service sends
// a status inside the body too.
func CodeOfStatus(status int) Code {
	switch status {
	case http.StatusUnauthorized:
		return CodeUnauthorized
	case http.StatusForbidden:
		return CodeForbidden
	case http.StatusNotFound, http.StatusGone:
		return CodeNotFound
	case http.StatusConflict, http.StatusPreconditionFailed:
		return CodeConflict
	case http.StatusRequestTimeout:
		return CodeTimeout
	case http.StatusTooManyRequests:
		return CodeRateLimited
	case http.StatusPaymentRequired:
		return CodeQuotaExhausted
	case http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return CodeUnsupported
	case http.StatusTooEarly, http.StatusProxyAuthRequired:
		return CodeUnavailable
	}
	switch {
	case status >= 400 && status < 500:
		return CodeInvalid
	case status >= 500 && status < 600:
		return CodeUnavailable
	}
	return CodeUnexpectedResponse
}

// appliedOf says what a status alone tells about the effect: a refusal did
// nothing; a timeout of the service, an error of it and a success whose body
// cannot be read leave it open.
func appliedOf(status int) Applied {
	if status >= 400 && status < 500 && status != http.StatusRequestTimeout {
		return NotApplied
	}
	return AppliedUnknown
}

// maxRetryAfter bounds what a service may ask for; longer waits are cut.
const maxRetryAfter = 24 * time.Hour

// retryAfter reads Retry-After as seconds or as an HTTP date, which is compared
// with the answer's own Date so that a wrong clock does not matter. 0 = absent
// or not readable.
func retryAfter(header http.Header, now time.Time) time.Duration {
	text := strings.TrimSpace(header.Get("Retry-After"))
	if text == "" {
		return 0
	}
	if seconds, err := strconv.ParseFloat(text, 64); err == nil {
		if math.IsNaN(seconds) || seconds <= 0 {
			return 0
		}
		return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0
	}
	if date, err := http.ParseTime(header.Get("Date")); err == nil {
		now = date
	}
	return min(max(at.Sub(now), 0), maxRetryAfter)
}

// rate collects the X-RateLimit headers as received: numbers where they are
// numbers. nil = there are none.
func (r *Response) rate() map[string]any {
	var rate map[string]any
	for _, name := range []string{"Limit", "Remaining", "Window", "Reset"} {
		text := strings.TrimSpace(r.Header.Get("X-RateLimit-" + name))
		if text == "" {
			continue
		}
		if rate == nil {
			rate = map[string]any{}
		}
		key := strings.ToLower(name)
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			rate[key] = n
		} else {
			rate[key] = r.Shown(text, 64)
		}
	}
	return rate
}
