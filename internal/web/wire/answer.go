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

// WriteJSON answers with one JSON value and a line feed. A long one is held once while
// it is written.
func WriteJSON(w http.ResponseWriter, status int, value any) {
	answer := &jsonAnswer{w: w, status: status}
	encoder := json.NewEncoder(answer)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil && !answer.begun { // else the client is gone: nobody is left to tell
		NewProblem(CodeInternal, "encode the answer: "+err.Error()).Write(w)
	}
}

// jsonAnswer begins the answer with its first write: the value was encoded then.
type jsonAnswer struct {
	w      http.ResponseWriter
	status int
	begun  bool
}

func (a *jsonAnswer) Write(data []byte) (int, error) {
	if !a.begun {
		a.begun = true
		a.w.Header().Set("Content-Type", "application/json")
		a.w.WriteHeader(a.status)
	}
	return a.w.Write(data)
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
