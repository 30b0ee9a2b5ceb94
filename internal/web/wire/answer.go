package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
)

// EncodeJSON encodes a value as answers hold it: text as it is, and a line feed.
func EncodeJSON(value any) ([]byte, error) {
	var buffer bytes.Buffer
	encoder := json.NewEncoder(&buffer)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(value)
	return buffer.Bytes(), err
}

// WriteJSON answers with one JSON value and a line feed.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	data, err := EncodeJSON(value)
	if err != nil {
		NewProblem(CodeInternal, "encode the answer: "+err.Error()).Write(w)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(data) // the client is gone: nobody is left to tell
}

// Contain lets answer write what a request hears whose handler panics, but for one
// that means to cut its answer off.
func Contain(next http.Handler, answer func(w http.ResponseWriter, r *http.Request, cause any, stack []byte)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			cause := recover()
			if err, ok := cause.(error); ok && errors.Is(err, http.ErrAbortHandler) {
				panic(cause)
			}
			if cause != nil {
				answer(w, r, cause, debug.Stack())
			}
		}()
		next.ServeHTTP(w, r)
	})
}

// NoRoute is the problem of a request for which a mux has no handler but its own
// refusal: the path has other methods, or there is none.
func NoRoute(w http.ResponseWriter, r *http.Request, refusal http.Handler) *Problem {
	answer := &discarded{header: http.Header{}}
	refusal.ServeHTTP(answer, r)
	if answer.status != http.StatusMethodNotAllowed {
		return NewProblem(CodeNotFound, "there is no such path")
	}
	allowed := answer.header.Get("Allow")
	w.Header().Set("Allow", allowed)
	return NewProblem(CodeMethod, fmt.Sprintf("%s is not allowed here; use %s", r.Method, allowed))
}

// discarded keeps the header of an answer that nobody gets.
type discarded struct {
	header http.Header
	status int
}

func (d *discarded) Header() http.Header            { return d.header }
func (d *discarded) WriteHeader(status int)         { d.status = status }
func (d *discarded) Write(data []byte) (int, error) { return len(data), nil }
