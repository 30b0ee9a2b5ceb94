package secret

import (
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// MinRedacted is the least length in bytes of a text that is masked: shorter
// ones would mask half of all logs.
const MinRedacted = 6

// Redactor masks secrets in texts: as they are, in base64, URL, hex and JSON
// form, and each line of one with several lines. Safe for concurrent use; texts
// without a secret cost one pass.
type Redactor struct {
	current atomic.Pointer[matcher] // nil = to be built

	mu       sync.Mutex
	values   map[string]int // how often added
	patterns map[string]int // how many values have this form
}

// NewRedactor returns a Redactor that masks nothing yet.
func NewRedactor() *Redactor {
	return &Redactor{values: map[string]int{}, patterns: map[string]int{}}
}

// Add masks a secret from now on. Values that are too short are left out.
func (r *Redactor) Add(value string) {
	if len(value) < MinRedacted {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.values[value]++
	if r.values[value] > 1 {
		return
	}
	for _, form := range forms(value) {
		r.patterns[form]++
	}
	r.current.Store(nil)
}

// Remove takes one Add back: for tokens, which come and go, so that the set does
// not grow for ever.
func (r *Redactor) Remove(value string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	switch r.values[value] {
	case 0:
		return
	case 1:
		delete(r.values, value)
	default:
		r.values[value]--
		return
	}
	for _, form := range forms(value) {
		if r.patterns[form]--; r.patterns[form] == 0 {
			delete(r.patterns, form)
		}
	}
	r.current.Store(nil)
}

// matcher returns the automaton of all patterns and builds it when it is stale.
func (r *Redactor) matcher() *matcher {
	if m := r.current.Load(); m != nil {
		return m
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m := r.current.Load(); m != nil {
		return m
	}
	m := newMatcher(r.patterns)
	r.current.Store(m)
	return m
}

// Redact returns text with all secrets masked; the text itself when it has none.
func (r *Redactor) Redact(text string) string {
	m := r.matcher()
	if m.empty() || !matches(m, text) {
		return text
	}
	var out strings.Builder
	s := scanner{redactor: r, out: &out}
	_, _ = s.Write([]byte(text))
	_ = s.Flush()
	return out.String()
}

// RedactBytes is Redact for bytes. The result may share memory with data.
func (r *Redactor) RedactBytes(data []byte) []byte {
	m := r.matcher()
	if m.empty() || !matches(m, data) {
		return data
	}
	return []byte(r.Redact(string(data)))
}

// Writer returns a writer that masks a stream, over the borders of its chunks
// too: it keeps back the end of what was written as long as that may be the
// beginning of a secret. Flush at the end. Not safe for concurrent use.
func (r *Redactor) Writer(out io.Writer) *Writer {
	return &Writer{scanner{redactor: r, out: out}}
}

// Writer masks a stream.
type Writer struct{ scanner }
