package simkit

import (
	"maps"
	"net/http"
	"strings"
	"time"
)

// journalCap bounds the journal: the oldest requests are dropped, the counts stay.
const journalCap = 10_000

// Request is one entry of the journal.
type Request struct {
	Seq     int               `json:"seq"` // from 1
	At      time.Time         `json:"at"`
	Method  string            `json:"method"`
	Path    string            `json:"path"` // as sent, still escaped
	Query   string            `json:"query,omitempty"`
	Header  map[string]string `json:"header"` // names in lower case
	Length  int64             `json:"length,omitempty"`
	Status  int               `json:"status"`            // 0 = not answered, or not yet
	Outcome string            `json:"outcome,omitempty"` // what a fault did: fault, dropped, cut
}

// note writes r into the journal and returns its number.
func (k *Kit) note(r *http.Request) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.total++
	k.counts[r.URL.EscapedPath()]++
	k.journal = append(k.journal, Request{
		Seq: k.total, At: k.now().UTC(), Method: r.Method, Path: r.URL.EscapedPath(), Query: r.URL.RawQuery,
		Header: Headers(r), Length: max(r.ContentLength, 0),
	})
	if over := len(k.journal) - journalCap; over > 0 {
		k.journal = append([]Request(nil), k.journal[over:]...)
	}
	return k.total
}

// Headers are those of a request, with their names in lower case.
func Headers(r *http.Request) map[string]string {
	sent := make(map[string]string, len(r.Header))
	for name, values := range r.Header {
		sent[strings.ToLower(name)] = strings.Join(values, ", ")
	}
	return sent
}

// answered adds what became of request seq. The journal may have dropped it.
func (k *Kit) answered(seq, status int, outcome string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.journal) == 0 {
		return
	}
	at := seq - k.journal[0].Seq
	if at < 0 || at >= len(k.journal) || k.journal[at].Seq != seq {
		return
	}
	k.journal[at].Status, k.journal[at].Outcome = status, outcome
}

// Requests returns the requests so far, oldest first.
func (k *Kit) Requests() []Request {
	k.mu.Lock()
	defer k.mu.Unlock()
	return append([]Request{}, k.journal...)
}

// Counts returns how often each path was asked for.
func (k *Kit) Counts() map[string]int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return maps.Clone(k.counts)
}

// Count returns how often path was asked for; "" is every path.
func (k *Kit) Count(path string) int {
	k.mu.Lock()
	defer k.mu.Unlock()
	if path == "" {
		return k.total
	}
	return k.counts[path]
}
