package sdk

import (
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Response is a whole answer. Its body is already read, at most MaxBody.
type Response struct {
	Status int
	Header http.Header
	Body   []byte

	core   *core
	method string
	url    *url.URL
}

// URL is where the answer came from, after redirects, as messages show it: without user
// and fragment, and without the values of parameters that may be secret.
func (r *Response) URL() string {
	if r.url == nil {
		return ""
	}
	shown := redactURL(r.url)
	if r.core != nil {
		shown = r.core.masks.now().text(shown)
	}
	return shown
}

func (r *Response) kindOfBody() string {
	mediaType, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	switch {
	case err == nil && mediaType != "application/json":
		return " but " + r.Shown(mediaType, 64)
	case err == nil:
		return ", perhaps cut short"
	}
	return ""
}

// Fail makes an error about this answer: with its status, what Retry-After
// says, and an excerpt of the body. Applied is NotApplied when the status
// alone says that the service refused.
func (r *Response) Fail(code Code, format string, args ...any) *Error {
	failure := Errorf(code, format, args...)
	failure.Message = fmt.Sprintf("%s %s%s: %s", r.method, r.url.Host, r.url.EscapedPath(), failure.Message)
	failure.HTTPStatus = r.Status
	failure.RetryAfter = retryAfter(r.Header, r.now())
	failure.Applied = appliedOf(r.Status)
	failure.Details = map[string]any{"method": r.method, "url": redactURL(r.url)}
	if excerpt := r.Excerpt(); excerpt != "" {
		failure.Details["body"] = excerpt
	}
	return failure
}

// Excerpt returns the start of the body for a message: at most 512 bytes, on
// one line, without control characters, values of secret fields masked.
func (r *Response) Excerpt() string {
	return cut(plain(r.core.masks.now().start(string(r.Body), 4*maxExcerpt)), maxExcerpt)
}

// Shown makes a text of the service fit for an error: on one line, without
// control characters, secrets of this call masked, at most limit bytes. Secrets
// are masked before the text is cut: one that lies across the end would keep its
// head otherwise.
func (r *Response) Shown(text string, limit int) string {
	if r.core != nil {
		text = r.core.masks.now().text(text)
	}
	return strings.TrimSpace(cut(plain(text), limit))
}

// StatusError classifies the answer by its status alone. The message shows the
// error text of the body where it has one of the usual forms.
func (r *Response) StatusError() *Error {
	words := r.words()
	text := strconv.Itoa(r.Status)
	if name := http.StatusText(r.Status); name != "" {
		text += " " + name
	}
	if words.message != "" {
		text += ": " + words.message
	}
	failure := r.Fail(CodeOfStatus(r.Status), "%s", text)
	failure.Reason = words.reason
	if r.Status >= 300 && r.Status < 400 {
		failure.Hint = r.redirectHint()
	}
	return failure
}

func (r *Response) redirectHint() string {
	location, err := url.Parse(r.Header.Get("Location"))
	if err != nil || location.Host == "" {
		return "the service redirects and the redirect was not followed"
	}
	where := location.Host
	if o, ok := originOf(location); ok {
		where = o.String()
	}
	return "the service redirects to " + r.Shown(where, 128) + ", which is not followed: credentials stay at their origin; check base_url"
}

func (r *Response) now() time.Time {
	if r.core == nil || r.core.now == nil {
		return time.Time{}
	}
	return r.core.now()
}
