package simkit

import (
	"bytes"
	"cmp"
	"io"
	"net/http"
	"strconv"
)

// Outcomes that the journal shows for requests that a fault hit.
const (
	outcomeFault   = "fault"
	outcomeDropped = "dropped"
	outcomeCut     = "cut"
)

// answer is an answer that is held back until the fault has spoiled it.
type answer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (a *answer) Header() http.Header { return a.header }

func (a *answer) WriteHeader(status int) {
	if a.status == 0 {
		a.status = status
	}
}

func (a *answer) Write(p []byte) (int, error) {
	a.WriteHeader(http.StatusOK)
	return a.body.Write(p)
}

// play answers r as the fault says. The caller must break the connection when
// the outcome is outcomeDropped or outcomeCut.
func (f *Fault) play(w http.ResponseWriter, r *http.Request, service http.Handler) (status int, outcome string) {
	if f.Drop == DropBefore {
		return 0, outcomeDropped
	}
	if f.HugeBytes > 0 && f.Drop == "" {
		f.decorate(w.Header())
		return f.huge(w), outcomeFault
	}
	a := f.answer(r, service)
	if f.Drop == DropAfter {
		return a.status, outcomeDropped
	}
	return f.send(w, a)
}

// answer makes the answer that goes out, the fault's own or the service's.
func (f *Fault) answer(r *http.Request, service http.Handler) *answer {
	a := &answer{header: http.Header{}}
	if !f.replaces() || f.Drop == DropAfter {
		service.ServeHTTP(a, r)
		a.WriteHeader(http.StatusOK) // unless it has a status
		f.decorate(a.header)
		return a
	}
	a.status = cmp.Or(f.Status, http.StatusOK)
	a.header.Set("Content-Type", "application/json")
	switch {
	case f.HTML:
		a.header.Set("Content-Type", "text/html; charset=utf-8")
		a.body.WriteString(htmlPage)
	case f.Body != "":
		a.body.WriteString(f.Body)
	}
	f.decorate(a.header)
	return a
}

// decorate sets the headers that the fault asks for.
func (f *Fault) decorate(h http.Header) {
	for name, value := range f.Header {
		h.Set(name, value)
	}
	if f.RetryAfter != "" {
		h.Set("Retry-After", f.RetryAfter)
	}
	if f.ContentType != "" {
		h.Set("Content-Type", f.ContentType)
	}
}

// send writes the answer, cut short where the fault says so.
func (f *Fault) send(w http.ResponseWriter, a *answer) (int, string) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	body := a.body.Bytes()
	whole := len(body)
	if f.Truncate > 0 && f.Truncate < whole {
		body = body[:f.Truncate]
	}
	announced := len(body)
	if f.Cut {
		announced = max(whole, len(body)+1)
	}
	w.Header().Set("Content-Length", strconv.Itoa(announced))
	w.WriteHeader(a.status)
	_, _ = w.Write(body) // a client that went away is no trouble of a simulator
	if !f.Cut {
		return a.status, outcomeFault
	}
	_ = http.NewResponseController(w).Flush()
	return a.status, outcomeCut
}

// huge streams a JSON text of about HugeBytes bytes without holding it.
func (f *Fault) huge(w http.ResponseWriter) int {
	status := cmp.Or(f.Status, http.StatusOK)
	if w.Header().Get("Content-Type") == "" {
		w.Header().Set("Content-Type", "application/json")
	}
	w.WriteHeader(status)
	chunk := bytes.Repeat([]byte("x"), 32<<10)
	_, _ = io.WriteString(w, `{"filler":"`)
	for left := f.HugeBytes; left > 0; left -= int64(len(chunk)) {
		if _, err := w.Write(chunk[:min(left, int64(len(chunk)))]); err != nil {
			return status
		}
	}
	_, _ = io.WriteString(w, `"}`)
	return status
}
