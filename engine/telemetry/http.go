package telemetry

import (
	"cmp"
	"net/http"
	"strconv"
	"strings"
)

// HTTP counts the requests of one route, which is named by its pattern. Answers
// that are streams count while they are open, and not in the times. A route that
// nobody asks for has no lines on the page.
func (m *Metrics) HTTP(route string, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		open, took := m.open.WithLabelValues(route), m.requestTime.WithLabelValues(route)
		open.Inc()
		defer open.Dec()
		began, answer := m.options.Now(), &countedAnswer{ResponseWriter: w}
		defer func() {
			m.requests.WithLabelValues(route, answer.code()).Inc()
			if !answer.isStream() {
				took.Observe(m.options.Now().Sub(began).Seconds())
			}
		}()
		next.ServeHTTP(answer, r)
	})
}

// countedAnswer notes the status of an answer.
type countedAnswer struct {
	http.ResponseWriter
	status int
}

// WriteHeader sends the header.
func (a *countedAnswer) WriteHeader(status int) {
	if a.status == 0 || a.status < http.StatusOK { // informational ones may come before
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write sends a part of the body.
func (a *countedAnswer) Write(data []byte) (int, error) {
	a.status = cmp.Or(a.status, http.StatusOK)
	return a.ResponseWriter.Write(data)
}

// Flush sends what is held back.
func (a *countedAnswer) Flush() {
	a.status = cmp.Or(a.status, http.StatusOK)
	if flusher, ok := a.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
}

// Unwrap lets http.ResponseController reach the answer itself.
func (a *countedAnswer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// code is the status, 200 for an answer without a word.
func (a *countedAnswer) code() string {
	return strconv.Itoa(cmp.Or(a.status, http.StatusOK))
}

func (a *countedAnswer) isStream() bool {
	return strings.HasPrefix(a.Header().Get("Content-Type"), "text/event-stream")
}
