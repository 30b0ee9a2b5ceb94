package simkit

import (
	"cmp"
	"fmt"
	"net/http"
	"path"
	"strings"
)

// Drop says when a fault closes the connection without an answer.
type Drop string

// The places where a connection can break.
const (
	DropBefore Drop = "before" // the service never sees the request
	DropAfter  Drop = "after"  // the service has handled it, the answer is lost
)

// Forever as [Fault.Count] keeps a fault armed.
const Forever = -1

// Fault is one planned misbehaviour. The first fields say which requests it
// hits, the others what happens to them; several effects may be combined. The
// first fault that matches and is armed takes the request.
type Fault struct {
	Method string `json:"method,omitempty"` // "" = every method
	Path   string `json:"path,omitempty"`   // "" = every path; else a pattern of path.Match, or a prefix that ends in "/**"
	Nth    int    `json:"nth,omitempty"`    // the first matching request that is hit, from 1; 0 = 1
	Count  int    `json:"count,omitempty"`  // how many are hit; 0 = 1, Forever = all

	DelayMS     int               `json:"delay_ms,omitempty"`     // milliseconds before anything else happens
	Drop        Drop              `json:"drop,omitempty"`         // closes the connection
	Status      int               `json:"status,omitempty"`       // answers with it instead of the service
	RetryAfter  string            `json:"retry_after,omitempty"`  // header of the answer, as given
	Header      map[string]string `json:"header,omitempty"`       // more headers of the answer
	Body        string            `json:"body,omitempty"`         // answers with it instead of the service
	HTML        bool              `json:"html,omitempty"`         // answers with a page, as a proxy or captive portal does
	Empty       bool              `json:"empty,omitempty"`        // answers with no body at all
	ContentType string            `json:"content_type,omitempty"` // replaces that of the answer
	HugeBytes   int64             `json:"huge_bytes,omitempty"`   // answers with a JSON text of about this many bytes
	Truncate    int               `json:"truncate,omitempty"`     // keeps the first n bytes of the answer, with a length that fits them
	Cut         bool              `json:"cut,omitempty"`          // with Truncate: announces the whole length, then breaks the connection
}

const htmlPage = "<!DOCTYPE html>\n<html><head><title>Welcome</title></head><body><h1>Please sign in</h1></body></html>\n"

// check returns what is wrong with f, if anything.
func (f Fault) check() error {
	switch {
	case f.Drop != "" && f.Drop != DropBefore && f.Drop != DropAfter:
		return fmt.Errorf("fault: drop is %q, want %q or %q", f.Drop, DropBefore, DropAfter)
	case f.Status != 0 && (f.Status < 200 || f.Status > 599):
		return fmt.Errorf("fault: status %d is not within 200 and 599", f.Status)
	case f.Nth < 0:
		return fmt.Errorf("fault: nth %d is below 0", f.Nth)
	case f.Count < Forever:
		return fmt.Errorf("fault: count %d is below -1", f.Count)
	case f.DelayMS < 0 || f.HugeBytes < 0 || f.Truncate < 0:
		return fmt.Errorf("fault: delay_ms, huge_bytes and truncate may not be negative")
	case f.Cut && f.Truncate == 0:
		return fmt.Errorf("fault: cut needs truncate")
	case !f.acts():
		return fmt.Errorf("fault: says nothing that happens")
	}
	if _, err := path.Match(f.Path, "/"); err != nil {
		return fmt.Errorf("fault: path %q: %w", f.Path, err)
	}
	return nil
}

// acts reports whether f does anything.
func (f Fault) acts() bool {
	return f.DelayMS > 0 || f.Drop != "" || f.replaces() || f.RetryAfter != "" || len(f.Header) > 0 ||
		f.ContentType != "" || f.Truncate > 0
}

// replaces reports whether f answers in the place of the service.
func (f Fault) replaces() bool {
	return f.Status != 0 || f.Body != "" || f.HTML || f.Empty || f.HugeBytes > 0
}

// matches reports whether f is meant for this request. The path is the one
// that was sent, still escaped.
func (f Fault) matches(r *http.Request) bool {
	if f.Method != "" && !strings.EqualFold(f.Method, r.Method) {
		return false
	}
	if f.Path == "" {
		return true
	}
	sent := r.URL.EscapedPath()
	if prefix, ok := strings.CutSuffix(f.Path, "**"); ok {
		return strings.HasPrefix(sent, prefix)
	}
	ok, err := path.Match(f.Path, sent)
	return err == nil && ok
}

// armed is a fault with the number of requests that it has matched.
type armed struct {
	Fault
	seen int
}

// take counts a matching request and reports whether the fault hits it.
func (a *armed) take() bool {
	a.seen++
	first, count := max(a.Nth, 1), cmp.Or(a.Count, 1)
	return a.seen >= first && (count == Forever || a.seen < first+count)
}
